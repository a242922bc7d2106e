// SPDX-License-Identifier: MIT

//go:build !linux

package nic

import (
	"errors"
	"fmt"
)

// NIC exists on Linux only.
type NIC struct{}

// Watcher exists on Linux only.
type Watcher struct{}

var errOther = fmt.Errorf("nic: link facts come from Linux netlink: %w", errors.ErrUnsupported)

// Open returns errors.ErrUnsupported.
func Open(name string) (*NIC, error) { return nil, errOther }

// OpenIndex returns errors.ErrUnsupported.
func OpenIndex(index int) (*NIC, error) { return nil, errOther }

// Index returns 0.
func (n *NIC) Index() int { return 0 }

// Link returns errors.ErrUnsupported.
func (n *NIC) Link() (Link, error) { return Link{}, errOther }

// Watch returns errors.ErrUnsupported.
func (n *NIC) Watch() (*Watcher, error) { return nil, errOther }

// Close does nothing.
func (n *NIC) Close() error { return nil }

// Events returns nil.
func (w *Watcher) Events() <-chan Event { return nil }

// Close does nothing.
func (w *Watcher) Close() {}
