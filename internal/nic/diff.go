// SPDX-License-Identifier: MIT

package nic

import (
	"bytes"
	"slices"
)

// diff lists what changed between two states of one interface. What an interface
// is comes before whether it runs.
func diff(before, after Link) []Kind {
	var kinds []Kind
	add := func(changed bool, k Kind) {
		if changed {
			kinds = append(kinds, k)
		}
	}
	add(before.Name != after.Name, NameChanged)
	add(!bytes.Equal(before.MAC, after.MAC), MACChanged)
	add(before.MTU != after.MTU, MTUChanged)
	add(before.RxQueues != after.RxQueues || before.TxQueues != after.TxQueues, QueuesChanged)
	add(!samePrograms(before.Programs, after.Programs), ProgramChanged)
	add(!slices.Equal(before.Addrs, after.Addrs), AddrChanged)
	add(before.Running() && !after.Running(), Down)
	add(!before.Running() && after.Running(), Up)
	return kinds
}

// samePrograms ignores names: they are known or not known for reasons of rights.
func samePrograms(a, b []Program) bool {
	return slices.EqualFunc(a, b, func(x, y Program) bool { return x.ID == y.ID && x.Mode == y.Mode })
}

// pending is the events that the receiver has not taken yet, oldest first. It holds
// at most one of each kind: of two, only the later one is news. That keeps it short
// however long the receiver stays away, and the last of Down and Up true.
type pending []Event

func (p *pending) add(kinds []Kind, l Link) {
	for _, k := range kinds {
		*p = slices.DeleteFunc(*p, func(e Event) bool { return e.Kind == k })
		*p = append(*p, Event{Kind: k, Link: l})
	}
}
