// SPDX-License-Identifier: MIT

//go:build !linux

package nic

// Deferred exists on Linux only.
type Deferred struct{}

// DeferNAPI returns errors.ErrUnsupported.
func (n *NIC) DeferNAPI(queues []int, d Deferral) (*Deferred, error) { return nil, errOther }

// RestoreNAPI returns errors.ErrUnsupported.
func (n *NIC) RestoreNAPI() error { return errOther }

// Info returns nil.
func (d *Deferred) Info() []Setting { return nil }

// Restore does nothing.
func (d *Deferred) Restore() error { return nil }
