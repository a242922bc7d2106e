// SPDX-License-Identifier: MIT

package udp

import (
	"io"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/nettest"

	"github.com/xdpath/xdpath/internal/testnet"
)

// The whole of nettest.TestConn, which is written for streams. What a datagram
// socket has not, an end of file and a peer that waits for its reader, a stream
// puts on top (see below); the rest is the connected PacketConn's own: there and
// back, deadlines past, present and future, Close, races. A pair of net.UDPConn
// goes first, to show that the stream is not what fails.
func TestNettest(t *testing.T) {
	kernel := func(t *testing.T, end testnet.End, local, remote netip.AddrPort) net.Conn {
		c, err := openKernel(end.NS, local, remote)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	xdpath := func(t *testing.T, end testnet.End, local, remote netip.AddrPort) net.Conn {
		return listenIn(t, end.NS, Config{Interface: end.Name, Local: local, Remote: remote, RingSize: 256}).PacketConn()
	}
	type opener func(*testing.T, testnet.End, netip.AddrPort, netip.AddrPort) net.Conn
	for _, x := range []struct {
		name string
		a, b opener
	}{{"net to net", kernel, kernel}, {"xdpath to net", xdpath, kernel}, {"net to xdpath", kernel, xdpath}, {"xdpath to xdpath", xdpath, xdpath}} {
		t.Run(x.name, func(t *testing.T) {
			pair := testnet.TestPair(t, testnet.Config{})
			port := uint16(5000)
			nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
				port++ // the last pipe's datagrams may still be under way
				a, b := netip.AddrPortFrom(pair.A.IP4, port), netip.AddrPortFrom(pair.B.IP4, port)
				s1, s2 := newStreams(x.a(t, pair.A, a, b), x.b(t, pair.B, b, a))
				return s1, s2, func() { s1.Close(); s2.Close() }, nil
			})
		})
	}
}

// stream makes a stream of datagrams that are neither lost nor reordered: an empty
// one is its end, and a writer waits while the reader, in the same process, is
// behind by more than a socket's buffer holds.
type stream struct {
	net.Conn
	out, in  chan struct{} // a token for each datagram under way
	deadline atomic.Int64  // of Write while it waits for room, 0: none
	closed   atomic.Bool
	ended    atomic.Bool // the peer's end was read
}

func newStreams(a, b net.Conn) (x, y *stream) {
	const window = 64
	there, back := make(chan struct{}, window), make(chan struct{}, window)
	return &stream{Conn: a, out: there, in: back}, &stream{Conn: b, out: back, in: there}
}

func (s *stream) Write(b []byte) (int, error) {
	for {
		select {
		case s.out <- struct{}{}:
			n, err := s.Conn.Write(b)
			if err != nil {
				<-s.out
			}
			return n, err
		case <-time.After(time.Millisecond):
		}
		if s.closed.Load() {
			return 0, net.ErrClosed
		}
		if at := s.deadline.Load(); at != 0 && time.Now().UnixNano() >= at {
			return 0, os.ErrDeadlineExceeded
		}
	}
}

func (s *stream) Read(b []byte) (int, error) {
	if s.ended.Load() {
		return 0, io.EOF
	}
	n, err := s.Conn.Read(b)
	if err != nil {
		return n, err
	}
	if n == 0 && len(b) > 0 {
		s.ended.Store(true)
		return 0, io.EOF
	}
	<-s.in
	return n, nil
}

func (s *stream) SetDeadline(t time.Time) error {
	if err := s.SetReadDeadline(t); err != nil {
		return err
	}
	return s.SetWriteDeadline(t)
}

func (s *stream) SetWriteDeadline(t time.Time) error {
	at := t.UnixNano()
	if t.IsZero() {
		at = 0
	}
	s.deadline.Store(at)
	return s.Conn.SetWriteDeadline(t)
}

// Close sends the end first, though nobody may be there any more to read it. Only
// the first one counts: the reader may have read the end, and stopped the test,
// before the socket is closed.
func (s *stream) Close() error {
	if !s.closed.CompareAndSwap(false, true) {
		return nil
	}
	s.Conn.SetWriteDeadline(time.Time{})
	s.Conn.Write(nil)
	return s.Conn.Close()
}
