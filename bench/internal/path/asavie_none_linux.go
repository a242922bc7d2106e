// SPDX-License-Identifier: MIT

//go:build linux && 386

package path

import (
	"errors"
	"fmt"
)

// errAsavie is why there is no such path here: the library uses numbers of
// system calls that package syscall lacks for this architecture.
var errAsavie = fmt.Errorf("github.com/asavie/xdp does not build for 386: %w", errors.ErrUnsupported)

// asaviePath stands in the table with the reason.
func asaviePath() Path {
	return Path{
		Name:     "asavie",
		Sender:   func(Config) (Sender, error) { return nil, errAsavie },
		Receiver: func(Config) (Receiver, error) { return nil, errAsavie },
		Peer:     func(Config) (Peer, error) { return nil, errAsavie },
	}
}
