// SPDX-License-Identifier: MIT

package bpf

import (
	"errors"
	"fmt"
)

// FDs are the descriptors of a Program, for a broker that has the capabilities
// and a worker that has none: the broker attaches and hands these over a UNIX
// socket, the worker calls Adopt. A process without capabilities may use all of
// them (the tables from Linux 5.19 on where unprivileged BPF is disabled).
type FDs struct {
	Link     int // keeps the program on the interface as long as any process holds it
	Queues   int // the XSKMAP
	Filters  int
	MAC      int // and the stamp of metadata
	Counters int
}

// FDs gives the descriptors. They stay the Program's own and die with its Close,
// and Close takes the program off even if others hold the link: a broker hands
// them on and exits, or keeps the Program open. A program attached by netlink
// has no link to hand on.
func (p *Program) FDs() (FDs, error) {
	var fds FDs
	err := p.use("hand on descriptors", func() error {
		if p.tie.linkFD() < 0 {
			return fmt.Errorf("bpf: hand on descriptors: %s is attached by netlink, without a BPF link (Linux 5.9): %w",
				p.info.Interface, errors.ErrUnsupported)
		}
		fds = FDs{
			Link:     p.tie.linkFD(),
			Queues:   p.maps.queues.FD(),
			Filters:  p.maps.filters.FD(),
			MAC:      p.maps.own.FD(),
			Counters: p.maps.counters.FD(),
		}
		return nil
	})
	return fds, err
}
