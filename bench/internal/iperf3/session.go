// SPDX-License-Identifier: MIT

package iperf3

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"sync"
	"time"
)

// stream is one of a session's streams.
type stream struct {
	id   int
	peer netip.AddrPort
	out  Sender

	in      Count // what came in, if this side receives
	omitted Count

	sent        uint64 // datagrams, if this side sends
	sentOmitted uint64
}

// session is what both sides of a test do alike: its streams, and what they carry.
type session struct {
	params Params
	port   Port
	pacer  func(rate float64) (Pacer, error) // datagrams a second
	sends  bool                              // this side sends

	mu       sync.Mutex // guards what follows; taken once a batch
	streams  []*stream
	joined   func(*stream) // told of each new stream; a server's
	admit    netip.Addr    // whose streams are accepted; the zero Addr: nobody's any more
	counting bool          // between the beginning of the test and its end
	last     time.Time     // when a datagram of ours came in

	begun  time.Time
	before usage
	ended  time.Time
	spent  usage
}

// now is the clock of headers and of jitter.
func now() time.Duration { return time.Since(epoch) }

var epoch = time.Now().Add(-time.Hour) // so that no header says zero

// handle takes what came in together. What is not ours is left alone.
func (s *session) handle(ds []Datagram) {
	at := now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range ds {
		st := s.find(d.From)
		switch {
		case st == nil:
			s.join(d)
		case isGreeting(d.Payload): // the answer to ours, or one that came twice
		case s.counting && !s.sends:
			if h, ok := ParseHeader(d.Payload, bool(s.params.Wide)); ok {
				st.in.Add(h, d.Size, at)
				s.last = time.Now()
			}
		}
	}
}

// find finds the stream of a peer: there are few.
func (s *session) find(peer netip.AddrPort) *stream {
	for _, st := range s.streams {
		if st.peer == peer {
			return st
		}
	}
	return nil
}

// join makes a stream of what a client says first, if one is wanted.
func (s *session) join(d Datagram) {
	if d.From.Addr() != s.admit || len(s.streams) >= int(s.params.Parallel) || !isGreeting(d.Payload) {
		return
	}
	st, err := s.add(d.From)
	if err != nil || s.answer(st) != nil {
		return // the client will wait in vain, and so will we, for a bounded time
	}
	s.joined(st)
}

// accept takes streams from a host from now on.
func (s *session) accept(from netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.admit = from
}

func (s *session) add(peer netip.AddrPort) (*stream, error) {
	out, err := s.port.Sender(peer)
	if err != nil {
		return nil, err
	}
	st := &stream{id: streamID(len(s.streams)), peer: peer, out: out}
	s.streams = append(s.streams, st)
	return st, nil
}

// answer welcomes a client's stream.
func (s *session) answer(st *stream) error { return say(st.out, welcome) }

// say sends one of the words by which streams begin.
func say(out Sender, word uint32) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	n, err := out.Send(ctx, 1, helloSize, func(b []byte) { binary.NativeEndian.PutUint32(b, word) })
	if err == nil && n == 0 {
		err = context.DeadlineExceeded
	}
	if err != nil {
		return fmt.Errorf("begin a stream: %w", err)
	}
	return out.Flush(ctx)
}

// begin starts the clock. What comes in counts from now on.
func (s *session) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun, s.before, s.counting = time.Now(), spent(), true
	s.admit = netip.Addr{}
}

// omit forgets what was carried so far, but for the counters, which go on.
func (s *session) omit() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.streams {
		st.omitted, st.sentOmitted = st.in, st.sent
		st.in.Bytes, st.in.Jitter = 0, 0
	}
	s.begun, s.before = time.Now(), spent()
}

// end stops the clock.
func (s *session) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended.IsZero() {
		s.ended, s.spent = time.Now(), spent()
	}
}

// Bounds of the wait for datagrams that are still under way when the other end says
// that it has sent all.
const (
	quiet    = 20 * time.Millisecond
	settling = 300 * time.Millisecond
)

// settle waits until nothing more comes in.
func (s *session) settle(ctx context.Context) {
	for begun := time.Now(); time.Since(begun) < settling && ctx.Err() == nil; {
		s.mu.Lock()
		idle := time.Since(later(s.last, begun))
		s.mu.Unlock()
		if idle >= quiet {
			break
		}
		time.Sleep(quiet - idle)
	}
	s.mu.Lock()
	s.counting = false
	s.mu.Unlock()
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// results are this side's, after the end.
func (s *session) results() Results {
	s.mu.Lock()
	defer s.mu.Unlock()
	took := max(s.ended.Sub(s.begun), time.Nanosecond)
	user, system := s.spent.user-s.before.user, s.spent.system-s.before.system
	percent := func(d time.Duration) float64 { return 100 * d.Seconds() / took.Seconds() }
	r := Results{CPUTotal: percent(user + system), CPUUser: percent(user), CPUSystem: percent(system), Retransmits: -1}
	if s.sends {
		r.Retransmits = 0
	}
	for _, st := range s.streams {
		one := StreamResult{ID: float64(st.id), Retransmits: -1, EndTime: took.Seconds()}
		if s.sends {
			one.Bytes = float64(st.sent-st.sentOmitted) * s.params.Len
			one.Packets, one.OmittedPackets = float64(st.sent), float64(st.sentOmitted)
		} else {
			one.Bytes, one.Jitter = float64(st.in.Bytes), st.in.Jitter
			one.Packets, one.Errors = float64(st.in.Packets), float64(st.in.Lost)
			one.OmittedPackets, one.OmittedErrors = float64(st.omitted.Packets), float64(st.omitted.Lost)
		}
		r.Streams = append(r.Streams, one)
	}
	return r
}
