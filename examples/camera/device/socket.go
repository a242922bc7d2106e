// SPDX-License-Identifier: MIT

package device

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// socket is the transport that an ordinary program would use: every packet is put
// together in a buffer, and the kernel copies it.
type socket struct {
	conn  *net.UDPConn
	image []byte
	most  int // the interface's MTU
	to    atomic.Pointer[netip.AddrPort]

	mu   sync.Mutex // guards what follows
	buf  []byte
	due  []uint64
	next time.Time // when the next packet of a train may leave
}

func openSocket(cfg Config, local netip.Addr, mtu int) (*socket, error) {
	c, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(local, 0)))
	if err != nil {
		return nil, fmt.Errorf("device: stream from %v: %w", local, err)
	}
	if err := dontFragment(c); err != nil {
		c.Close()
		return nil, fmt.Errorf("device: stream from %v: %w", local, err)
	}
	c.SetWriteBuffer(4 << 20) // as much as is allowed; writing waits for room
	s := &socket{conn: c, image: make([]byte, cfg.memory()), most: mtu, buf: make([]byte, mtu)}
	s.to.Store(new(netip.AddrPort))
	return s, nil
}

func (s *socket) memory() []byte         { return s.image }
func (s *socket) aim(dst netip.AddrPort) { s.to.Store(&dst) }
func (s *socket) mtu() int               { return s.most }
func (s *socket) port() uint16           { return s.conn.LocalAddr().(*net.UDPAddr).AddrPort().Port() }
func (s *socket) close() error           { return s.conn.Close() }
func (s *socket) gaps() string           { return "" }
func (s *socket) String() string         { return "an ordinary socket" }

// wait: such a socket never ends by itself.
func (s *socket) wait(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

func (s *socket) train(ctx context.Context, t train) (n int, err error) {
	defer s.back(t.cookie)
	for id := t.first; t.len > 0; id++ {
		if err := s.pause(ctx, t.gap); err != nil {
			return n, err
		}
		k := min(t.size, t.len)
		if err := s.send(func(b []byte) int {
			h := t.header(id, b)
			return h + copy(b[h:], s.image[t.off:t.off+k])
		}); err != nil {
			return n, err
		}
		t.off, t.len = t.off+k, t.len-k
		n++
	}
	return n, nil
}

func (s *socket) single(ctx context.Context, p single) error {
	defer s.back(p.cookie)
	if err := s.pause(ctx, p.gap); err != nil {
		return err
	}
	return s.send(func(b []byte) int {
		h := copy(b, p.header)
		return h + copy(b[h:], s.image[p.off:p.off+p.n])
	})
}

func (s *socket) rest() {}

// send sends what put writes. The kernel has a copy when it returns.
func (s *socket) send(put func(b []byte) int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.conn.WriteToUDPAddrPort(s.buf[:put(s.buf)], *s.to.Load())
	return err
}

func (s *socket) back(cookie uint64) {
	if cookie != 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.due = append(s.due, cookie)
	}
}

func (s *socket) completed(cookies []uint64) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := copy(cookies, s.due)
	s.due = s.due[:copy(s.due, s.due[n:])]
	return n
}

// pause waits until the next packet of a train is due, as exactly as timers are.
func (s *socket) pause(ctx context.Context, gap time.Duration) error {
	if gap <= 0 {
		return ctx.Err()
	}
	now := time.Now()
	if s.next = s.next.Add(gap); s.next.Before(now) {
		s.next = now
	}
	if wait := s.next.Sub(now); wait > time.Millisecond {
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
	return ctx.Err()
}
