// SPDX-License-Identifier: MIT

//go:build !linux

package lane

import (
	"errors"
	"fmt"
	"net/netip"
)

// Lane exists on Linux only.
type Lane struct{}

// errOther is what all calls return.
func errOther() error {
	return fmt.Errorf("lane: batches of datagrams are read and written by Linux system calls: %w", errors.ErrUnsupported)
}

// Open returns errors.ErrUnsupported, as all other methods do that return an error.
func Open(Config) (*Lane, error) { return nil, errOther() }

// FD returns -1.
func (l *Lane) FD() int { return -1 }

// LocalAddr returns an address that is not valid.
func (l *Lane) LocalAddr() netip.AddrPort { return netip.AddrPort{} }

// Info returns nothing.
func (l *Lane) Info() Info { return Info{} }

// Stats returns zeros.
func (l *Lane) Stats() Stats { return Stats{} }

// Pending returns 0.
func (l *Lane) Pending() int { return 0 }

// Release does nothing.
func (l *Lane) Release([]Message) {}

// Close does nothing.
func (l *Lane) Close() error { return nil }

// Receive is unsupported.
func (l *Lane) Receive([]Message) (int, error) { return 0, errOther() }

// Send is unsupported.
func (l *Lane) Send([]Outgoing) (int, error) { return 0, errOther() }

// SendSegments is unsupported.
func (l *Lane) SendSegments(Outgoing, int) (int, error) { return 0, errOther() }

// Unsent is unsupported.
func (l *Lane) Unsent() (int, error) { return 0, errOther() }

// Errors is unsupported.
func (l *Lane) Errors() error { return errOther() }

// SetReceiveBuffer is unsupported.
func (l *Lane) SetReceiveBuffer(int) error { return errOther() }

// SetSendBuffer is unsupported.
func (l *Lane) SetSendBuffer(int) error { return errOther() }

// JoinGroup is unsupported.
func (l *Lane) JoinGroup(netip.Addr, int) error { return errOther() }

// LeaveGroup is unsupported.
func (l *Lane) LeaveGroup(netip.Addr, int) error { return errOther() }

// SetMulticastTTL is unsupported.
func (l *Lane) SetMulticastTTL(int) error { return errOther() }

// SetMulticastLoop is unsupported.
func (l *Lane) SetMulticastLoop(bool) error { return errOther() }

// SetMulticastInterface is unsupported.
func (l *Lane) SetMulticastInterface(int) error { return errOther() }

// SetDontFragment is unsupported.
func (l *Lane) SetDontFragment(DontFragment) error { return errOther() }
