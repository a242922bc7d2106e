// SPDX-License-Identifier: MIT

package referee

import (
	"context"
	"errors"
	"fmt"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/cpu"
	"github.com/xdpath/xdpath/bench/internal/spawn"
	"github.com/xdpath/xdpath/internal/testnet"
)

// Local is a Link inside this machine: two processes in two network namespaces
// without names, joined by a veth pair. All of it ends with this process, in
// whatever way that ends.
type Local struct {
	crew
	pair *testnet.Pair
	mtu  int // of the pair
}

// A crew is the two workers of a link inside this machine.
type crew struct {
	command []string
	cpus    [2]int // of the sender and of the receiver
	workers [2]*spawn.Process
	ends    [2]*End
}

// man starts workers in the namespaces of two interfaces, where none is alive.
func (c *crew) man(ctx context.Context, a, b testnet.End) error {
	for i, end := range []testnet.End{a, b} {
		if c.ends[i] != nil && !c.ends[i].Broken() {
			continue
		}
		c.workers[i].Stop()
		w, err := spawn.Start(ctx, spawn.Config{Command: c.command, Processor: c.cpus[i], In: end.NS.Do})
		if err != nil {
			return fmt.Errorf("start worker in namespace of %s: %w", end.Name, err)
		}
		c.workers[i], c.ends[i] = w, NewEnd(w.Conn, end.Name, end.IP4, end.MAC)
		if err := c.ends[i].Greet(); err != nil {
			return fmt.Errorf("greet worker in namespace of %s: %w", end.Name, err)
		}
	}
	return nil
}

// dismiss ends the workers.
func (c *crew) dismiss() {
	for _, w := range c.workers {
		w.Stop()
	}
}

// usualMTU is that of a link until a row wants another.
const usualMTU = 1500

// NewLocal makes the namespaces and the veth, of the kernel's usual MTU. Workers are
// started by command, whose first word is the path of the program.
func NewLocal(command ...string) (*Local, error) {
	allowed, err := cpu.Allowed()
	if err != nil {
		return nil, err
	}
	pair, err := testnet.NewPair(testnet.Config{MTU: usualMTU})
	if err != nil {
		return nil, err
	}
	l := &Local{crew: crew{command: command, cpus: [2]int{allowed[0], allowed[min(1, len(allowed)-1)]}}, pair: pair, mtu: usualMTU}
	// Without ARP, which an AF_XDP program may swallow.
	if err := errors.Join(pair.A.AddNeigh(pair.B.IP4, pair.B.MAC), pair.B.AddNeigh(pair.A.IP4, pair.A.MAC)); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Ends implements Link.
func (l *Local) Ends(ctx context.Context) (tx, rx *End, err error) {
	if err := l.man(ctx, l.pair.A, l.pair.B); err != nil {
		return nil, nil, err
	}
	return l.ends[0], l.ends[1], nil
}

// Ready implements Link.
func (l *Local) Ready(row control.Row) error {
	if mtu := row.MTU; mtu != l.mtu {
		l.mtu = 0 // neither, if only one of two changes
		if err := errors.Join(l.pair.A.SetMTU(mtu), l.pair.B.SetMTU(mtu)); err != nil {
			return err
		}
		l.mtu = mtu
	}
	n := max(1, row.Queues)
	if err := errors.Join(l.pair.A.SetQueues(n), l.pair.B.SetQueues(n)); err != nil {
		return err
	}
	return nil
}

// Close ends the workers and gives up the namespaces.
func (l *Local) Close() error {
	l.dismiss()
	return l.pair.Close()
}
