// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"sync"
	"time"

	"github.com/xdpath/xdpath/examples/internal/iperf"
)

const (
	// quiet is how long a sender may send nothing before its test counts as over.
	quiet = 10 * time.Second
	// remembered is how long a test that is over is kept, for senders that did
	// not get the report and ask again. Iperf does for some three seconds.
	remembered = 5 * time.Second
	// maxStreams bounds what forged addresses can make of the table, and
	// maxLines what waits to be printed.
	maxStreams = 1024
	maxLines   = 4096
	// look is how often the table is looked through for what is due.
	look = 100 * time.Millisecond
)

// peers is who sends to whom.
type peers struct{ from, to netip.AddrPort }

// table has the accounts of all senders.
type table struct {
	interval time.Duration // from report to report, 0: none
	mu       sync.Mutex    // held for add and tick; guards what follows
	streams  map[peers]*stream
	lastID   int
	others   int      // datagrams that belong to no test
	lines    []string // to be printed
	unsaid   int      // lines that were too many
}

func newTable(interval time.Duration) *table {
	return &table{interval: interval, streams: map[peers]*stream{}}
}

// add takes a datagram of length bytes, which begins with payload, into account. If
// the sender says that it is its last, add returns what to report to it. The lock is
// held.
func (t *table) add(p peers, payload []byte, length int, now time.Time) (r iperf.Report, last bool) {
	h, ok := iperf.ParseHeader(payload)
	s := t.streams[p]
	full := s == nil && len(t.streams) >= maxStreams
	if s != nil && s.ended && h.Sent.After(s.lastSent) {
		s = nil // that one is over, this is the sender's next
	}
	switch {
	case !ok, full, s == nil && h.Last(): // the last of a test that is forgotten
		t.others++
		return r, false
	case s == nil:
		t.lastID++
		s = newStream(t.lastID, now)
		t.streams[p] = s
		t.say(fmt.Sprintf("[%3d] local %v port %d connected with %v port %d",
			s.id, p.to.Addr(), p.to.Port(), p.from.Addr(), p.from.Port()))
	case s.ended: // late, or asks again
		return s.counter.Report(), h.Last()
	}
	s.counter.Add(h, length, now)
	s.heard = now
	if h.Last() {
		s.ended, s.lastSent = true, h.Sent
		t.say(s.total()...)
	}
	return s.counter.Report(), h.Last()
}

// say has lines printed. The lock is held.
func (t *table) say(lines ...string) {
	if len(t.lines)+len(lines) > maxLines {
		t.unsaid += len(lines)
		return
	}
	t.lines = append(t.lines, lines...)
}

// tick does what is due, and returns what is to be printed.
func (t *table) tick(now time.Time) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	for p, s := range t.streams {
		silence := now.Sub(s.heard)
		switch {
		case s.ended && silence > remembered:
			delete(t.streams, p)
		case !s.ended && silence > quiet:
			t.say(fmt.Sprintf("[%3d] nothing came for %v, and no last datagram", s.id, quiet))
			t.say(s.total()...)
			delete(t.streams, p)
		case !s.ended && t.interval > 0 && now.Sub(s.printed) >= t.interval:
			t.say(s.part(now)...)
		}
	}
	return t.taken()
}

// taken returns what is to be printed, once. The lock is held.
func (t *table) taken() []string {
	if t.unsaid > 0 {
		t.lines = append(t.lines, fmt.Sprintf("%d lines were too many to print", t.unsaid))
		t.unsaid = 0
	}
	lines := t.lines
	t.lines = nil
	return lines
}

// print prints what there is to be printed, until ctx ends.
func (t *table) print(ctx context.Context, w io.Writer) {
	fmt.Fprintln(w, iperf.ReceiverTitle)
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			for _, line := range t.tick(now) {
				fmt.Fprintln(w, line)
			}
		}
	}
}

// writeEnd prints what is left, with the account so far of tests that go on.
func (t *table) writeEnd(w io.Writer) {
	t.mu.Lock()
	for _, s := range t.streams {
		if !s.ended {
			t.say(s.total()...)
		}
	}
	if t.others > 0 {
		t.say(fmt.Sprintf("%d datagrams belonged to no test", t.others))
	}
	lines := t.taken()
	t.mu.Unlock()
	for _, line := range lines {
		fmt.Fprintln(w, line)
	}
}
