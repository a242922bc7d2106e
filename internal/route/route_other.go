// SPDX-License-Identifier: MIT

//go:build !linux

package route

import (
	"errors"
	"fmt"
)

// Table exists on Linux only.
type Table struct{ gen generation }

var errOther = fmt.Errorf("route: the tables come from Linux netlink: %w", errors.ErrUnsupported)

// Open returns errors.ErrUnsupported.
func Open(cfg Config) (*Table, error) { return nil, errOther }

// Resolve returns errors.ErrUnsupported.
func (t *Table) Resolve(q Query) (Answer, error) { return Answer{}, errOther }

// Solicit returns errors.ErrUnsupported.
func (t *Table) Solicit(h Hop) error { return errOther }

// Keep returns errors.ErrUnsupported.
func (t *Table) Keep(h Hop) error { return errOther }

// Forget does nothing.
func (t *Table) Forget(h Hop) {}

// Stats returns zeros.
func (t *Table) Stats() Stats { return Stats{} }

// Close does nothing.
func (t *Table) Close() error { return nil }
