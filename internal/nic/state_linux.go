// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"slices"
)

// state is what a watcher knows of its interface. It belongs to Watcher.run.
type state struct {
	now     Link
	gone    bool
	pending pending
}

// ended tells that the last event has been received.
func (s *state) ended() bool { return s.gone && len(s.pending) == 0 }

// become takes the next state of the interface and notes what it changes.
func (s *state) become(next Link) {
	s.pending.add(diff(s.now, next), next)
	s.now = next
}

// end notes the end of the interface. What came before it is still told.
func (s *state) end() {
	s.gone = true
	s.pending.add([]Kind{Gone}, s.now)
}

// apply takes one note. After the end nothing counts any more: an interface that
// has come back, even with the same index, is another one.
func (w *Watcher) apply(s *state, n note) {
	if s.gone {
		return
	}
	switch n.what {
	case linkGone:
		s.end()
	case linkIs:
		s.become(complete(n.link, s.now))
	case queuesAre:
		next := s.now
		n.channels.queues(&next)
		s.become(next)
	case addrRemoved:
		if i := slices.Index(s.now.Addrs, n.addr); i >= 0 {
			// Told even if the address is back when the facts are read.
			without := s.now
			without.Addrs = slices.Delete(slices.Clone(s.now.Addrs), i, i+1)
			s.become(without)
		}
		w.readAgain(s)
	case factsUnknown:
		w.readAgain(s)
	}
}

// readAgain asks for all facts. If that does not work for the moment, the next
// tick tries again.
func (w *Watcher) readAgain(s *state) {
	w.nic.mu.RLock()
	next, err := w.nic.link()
	w.nic.mu.RUnlock()
	switch {
	case err == nil:
		s.become(next)
	case errors.Is(err, ErrNoInterface):
		s.end()
	}
}

// complete adds to the facts of a link message those that it does not hold.
func complete(l, known Link) Link {
	l.Driver, l.Addrs, l.XDP = known.Driver, known.Addrs, known.XDP
	l.RxQueues, l.TxQueues = known.RxQueues, known.TxQueues
	l.MaxRxQueues, l.MaxTxQueues = known.MaxRxQueues, known.MaxTxQueues
	namePrograms(l.Programs, known.Programs)
	return l
}
