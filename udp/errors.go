// SPDX-License-Identifier: MIT

package udp

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"

	"github.com/xdpath/xdpath/internal/nic"
	"github.com/xdpath/xdpath/internal/packet"
	"github.com/xdpath/xdpath/umem"
	"github.com/xdpath/xdpath/xsk"
)

// Errors that callers branch on, with errors.Is.
var (
	// ErrNoInterface is an interface that does not exist, or no longer: it was
	// deleted, or moved to another network namespace. It ends a Conn.
	ErrNoInterface = nic.ErrNoInterface
	// ErrDetached is what a Conn ends with when somebody took its XDP program
	// off the interface.
	ErrDetached = errors.New("the XDP program was detached by somebody else")
	// ErrChecksumRequired is a datagram to an IPv6 address with TxNone.
	ErrChecksumRequired = packet.ErrChecksumRequired
	// ErrLinkDown is an interface that is down.
	ErrLinkDown = xsk.ErrLinkDown
	// ErrLost is a send during which the device refused datagrams that it had
	// taken: they are gone, and counted.
	ErrLost = xsk.ErrLost
	// ErrNoFrames is a send for which every frame is in use: flush, or wait.
	ErrNoFrames = errors.New("no free frame")
)

// SendError says what became of one datagram of a batch that was refused. It is
// still the caller's.
type SendError struct {
	Index int            // in the batch
	Dst   netip.AddrPort // where it should have gone
	Err   error
}

func (e *SendError) Error() string {
	return fmt.Sprintf("udp: send datagram %d to %v: %v", e.Index, e.Dst, e.Err)
}

// Unwrap gives the cause: EMSGSIZE, ENETUNREACH, EHOSTUNREACH, EACCES and so on.
func (e *SendError) Unwrap() error { return e.Err }

// The kernel's errnos, where we find out before it would.
var (
	errMTU          = error(syscall.EMSGSIZE)
	errNotAvailable = error(syscall.EADDRNOTAVAIL)
	errUnsupported  = error(syscall.EOPNOTSUPP)
	errInvalid      = error(syscall.EINVAL)
	errUnreachable  = error(syscall.ENETUNREACH)
	errAgain        = error(syscall.EAGAIN)
	errNotHeld      = umem.ErrFrame
	errMissing      = errors.New("missing address") // as package net says
)

// again tells whether a send by the kernel lane is worth another try.
func again(err error) bool {
	return errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.ENOBUFS) || errors.Is(err, syscall.EINTR)
}
