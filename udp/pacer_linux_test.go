// SPDX-License-Identifier: MIT

package udp

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/packet"
	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/xsk"
)

// tap is a packet socket that notes when frames arrive, by the kernel's own clock: it
// knows nothing of pacers.
type tap struct{ fd int }

// newTap makes one. hello sends something there, for the kernel does not begin to note
// times before it gets to it, and until then gives those of the reading.
func newTap(t testing.TB, end testnet.End, hello func()) *tap {
	t.Helper()
	s := &tap{-1}
	err := end.NS.Do(func() (err error) {
		if s.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
			return err
		}
		ip := binary.NativeEndian.Uint16([]byte{unix.ETH_P_IP >> 8, unix.ETH_P_IP & 255})
		return errors.Join(
			unix.SetsockoptInt(s.fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1),
			unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1),
			unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 64<<20),
			unix.SetsockoptTimeval(s.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 2}),
			unix.Bind(s.fd, &unix.SockaddrLinklayer{Protocol: ip, Ifindex: end.Index}))
	})
	t.Cleanup(func() { unix.Close(s.fd) })
	if err != nil {
		t.Fatal(err)
	}
	buf, oob, fds := make([]byte, 2048), make([]byte, 256), []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLIN}}
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); {
		hello()
		if n, _ := unix.Poll(fds, 1000); n == 1 {
			there := time.Duration(time.Now().UnixNano())
			if _, o, _, _, err := unix.Recvmsg(s.fd, buf, oob, 0); err == nil && stamp(t, oob[:o]) < there {
				return s
			}
		}
	}
	t.Fatal("the kernel notes no times")
	return nil
}

// arrivals takes n numbered datagrams to the port and says when each came, after the
// Unix epoch. What else there is on the link, it leaves out.
func (s *tap) arrivals(t testing.TB, n int) []time.Duration {
	t.Helper()
	all := make([]time.Duration, 0, n)
	buf, oob := make([]byte, 2048), make([]byte, 256)
	for len(all) < n {
		k, o, _, _, err := unix.Recvmsg(s.fd, buf, oob, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			t.Fatalf("after %d of %d: %v", len(all), n, err)
		}
		u, reason := packet.Parse(buf[:k])
		if reason != packet.OK || u.Dst.Port() != port || u.Length < 8 {
			continue
		}
		number, err := strconv.Atoi(string(buf[u.Offset : u.Offset+8]))
		if err != nil { // a datagram that resolved the neighbour
			continue
		}
		if number != len(all) {
			t.Fatalf("datagram %d came as number %d", number, len(all))
		}
		all = append(all, stamp(t, oob[:o]))
	}
	return all
}

// stamp is the time in a control message. The kernel's long has the size of ours.
func stamp(t testing.TB, oob []byte) time.Duration {
	t.Helper()
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil || len(msgs) != 1 || msgs[0].Header.Type != unix.SO_TIMESTAMPNS {
		t.Fatalf("no timestamp: %v %v", msgs, err)
	}
	if b := msgs[0].Data; len(b) == 16 {
		return time.Duration(binary.NativeEndian.Uint64(b))*time.Second + time.Duration(binary.NativeEndian.Uint64(b[8:]))
	} else {
		return time.Duration(binary.NativeEndian.Uint32(b))*time.Second + time.Duration(binary.NativeEndian.Uint32(b[4:]))
	}
}

// between are the gaps between times, as a pacer would count them.
func between(times []time.Duration, gap time.Duration) PacerStats {
	p := &Pacer{}
	p.gaps.wanted = gap * 99 / 100 // some clock may be being set
	for i := range times[1:] {
		p.gaps.add(times[i+1] - times[i])
	}
	return p.Stats()
}

// paced sends n numbered datagrams, as many as are free at a time.
func paced(t testing.TB, q *Queue, f *Flow, p *Pacer, n, size int) {
	t.Helper()
	os := make([]Outgoing, batch)
	for from := 0; from < n; {
		k, err := q.ReserveContext(soon(t), os[:min(n-from, batch)])
		if err != nil {
			t.Fatal(err)
		}
		for i := range os[:k] {
			os[i].Flow = f
			os[i].Payload = os[i].Payload[:size]
			number(os[i].Payload, from+i)
		}
		if sent, err := q.SendPaced(nil, os[:k], p); sent != k || err != nil {
			t.Fatalf("sent %d of %d: %v", sent, k, err)
		}
		from += k
	}
}

// number writes eight digits, and makes no garbage.
func number(b []byte, n int) {
	for i := 7; i >= 0; i-- {
		b[i] = '0' + byte(n%10)
		n /= 10
	}
}

func newPacer(t testing.TB, gap time.Duration) *Pacer {
	t.Helper()
	p, err := NewPacer(PacerConfig{Gap: gap})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// sender is a Conn on end A whose flow to the kernel socket on end B has its fast lane.
func sender(t testing.TB, cfg Config) (pair *testnet.Pair, c *Conn, f *Flow) {
	t.Helper()
	pair = testnet.TestPair(t, testnet.Config{})
	cfg.Interface, cfg.Local = pair.A.Name, netip.AddrPortFrom(pair.A.IP4, port)
	c = listenIn(t, pair.A.NS, cfg)
	to := netip.AddrPortFrom(pair.B.IP4, port)
	kernelIn(t, pair.B.NS, to)
	return pair, c, fastFlow(t, c, to)
}

// hello sends something that is no number.
func (f *Flow) hello(t testing.TB) func() {
	return func() {
		t.Helper()
		if _, err := f.conn.PacketConn().WriteToUDPAddrPort([]byte("no number"), f.dst); err != nil {
			t.Fatal(err)
		}
		for _, q := range f.conn.queues { // whatever Coalesce says
			if err := q.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Must hold 5, cases 89 and 136: datagrams leave at their gap, by the pacer's own word
// and by another's. On a busy machine some are late; none is early, and none comes in a
// burst, for which the times of the kernel stand.
func TestPacing(t *testing.T) {
	const n = 1000
	for _, c := range []struct {
		gap  time.Duration
		n    int
		cfg  Config
		size int
	}{
		{20 * time.Microsecond, n, Config{}, 1472},
		{100 * time.Microsecond, n, Config{Coalesce: Coalesce{Frames: 64, Delay: time.Hour}}, 64},
		{time.Millisecond, 200, Config{TxChecksum: TxOffload}, 64},
	} {
		t.Run(c.gap.String(), func(t *testing.T) {
			pair, a, f := sender(t, c.cfg)
			tap, p := newTap(t, pair.B, f.hello(t)), newPacer(t, c.gap)
			begun := time.Duration(time.Now().UnixNano())
			paced(t, a.queues[0], f, p, c.n, c.size)
			came := tap.arrivals(t, c.n)
			st, wire := p.Stats(), between(came, c.gap)
			t.Log("by the pacer:", st)
			t.Log("by the receiver:", wire)
			if st.Count != uint64(c.n-1) || st.LongestBurst != 0 || wire.LongestBurst > 0 {
				t.Errorf("%d gaps; the longest burst has %d, at the receiver %d", st.Count, st.LongestBurst, wire.LongestBurst)
			}
			if took, least := came[c.n-1]-begun, time.Duration(c.n-1)*c.gap*999/1000; took < least {
				t.Errorf("%d arrived in %v, less than %v", c.n, took, least)
			}
			if st.Min < c.gap/catchUp {
				t.Errorf("a gap of %v", st.Min)
			}
		})
	}
}

// On the kernel lane alone, pacing is the same.
func TestPacingByKernel(t *testing.T) {
	const n, gap = 500, 50 * time.Microsecond
	l := newLink(t, testnet.Config{}, Config{Mode: xsk.ZeroCopy, Fallback: FallbackAllow})
	f := l.c.Flow(netip.AddrPortFrom(l.pair.A.IP4, port))
	kernelIn(t, l.pair.A.NS, f.Dst())
	tap, p := newTap(t, l.pair.A, f.hello(t)), newPacer(t, gap)
	paced(t, l.c.Queues()[0], f, p, n, 200)
	came := tap.arrivals(t, n)
	st, wire := p.Stats(), between(came, gap)
	t.Log("by the receiver:", wire)
	if st.Count != n-1 || st.LongestBurst != 0 || wire.LongestBurst > 0 {
		t.Errorf("by the pacer %v\nby the receiver %v", st, wire)
	}
	if sent := l.c.stats.kernelTx.Load(); sent < n {
		t.Errorf("%d by the kernel lane", sent)
	}
}

// What is refused is named, and the others go, at their times.
func TestPacingRefuses(t *testing.T) {
	pair, a, f := sender(t, Config{})
	tap, p, q := newTap(t, pair.B, f.hello(t)), newPacer(t, 100*time.Microsecond), a.queues[0]
	os := make([]Outgoing, 4)
	if n, err := q.Reserve(os); n != 4 || err != nil {
		t.Fatal(n, err)
	}
	for i, name := range []string{"00000000", "bad", "00000001", "bad"} {
		os[i].Flow = f
		os[i].Payload = append(os[i].Payload[:0], name...)
	}
	os[1].Flow, os[1].Dst = nil, netip.MustParseAddrPort("192.0.2.1:9") // no route
	os[3].Payload = make([]byte, 70000)
	n, err := q.SendPaced(context.Background(), os, p)
	var se *SendError
	if n != 4 || !errors.Is(err, syscall.ENETUNREACH) || !errors.Is(err, syscall.EMSGSIZE) || !errors.As(err, &se) || se.Index != 1 {
		t.Fatal(n, err)
	}
	tap.arrivals(t, 2)
	if st := p.Stats(); st.Count != 1 || st.Min < 100*time.Microsecond {
		t.Errorf("of two that left: %v", st)
	}
	if os[0].Payload != nil || os[1].Payload == nil || os[2].Payload != nil || os[3].Payload == nil {
		t.Error("what has left, and what not, is mixed up")
	}
	if err := q.Abort(os); err != nil {
		t.Error(err)
	}
	if n, err := q.SendPaced(nil, os, nil); n != 0 || !errors.Is(err, syscall.EINVAL) {
		t.Error(n, err)
	}
}

// The context and Close end a paced send, whatever is before it.
func TestPacingEnds(t *testing.T) {
	for _, lane := range []struct {
		name string
		cfg  Config
	}{{"fast", Config{}}, {"kernel", Config{Mode: xsk.ZeroCopy, Fallback: FallbackAllow}}} {
		t.Run(lane.name, func(t *testing.T) {
			l := newLink(t, testnet.Config{}, lane.cfg)
			q, p := l.c.Queues()[0], newPacer(t, time.Hour)
			os := make([]Outgoing, 6)
			if n, err := q.Reserve(os); n != len(os) || err != nil {
				t.Fatal(n, err)
			}
			for i := range os {
				os[i].Dst, os[i].Payload = l.from, os[i].Payload[:8]
			}
			ctx, cancel := context.WithCancel(context.Background())
			type result struct {
				n   int
				err error
			}
			ends := make(chan result, 3)
			send := func(ctx context.Context, os []Outgoing) {
				n, err := q.SendPaced(ctx, os, p)
				ends <- result{n, err}
			}
			go send(ctx, os[:2]) // the first is due at once
			for !begun(p) {
				runtime.Gosched()
			}
			cancel()
			if r := <-ends; r.n != 1 || !errors.Is(r.err, context.Canceled) {
				t.Error(r)
			}
			for i := 2; i < 5; i++ { // one has the turn, two wait for theirs
				go send(nil, os[i:i+1])
			}
			if err := l.c.Close(); err != nil && lane.name == "kernel" {
				t.Error(err)
			}
			for range 3 {
				if r := <-ends; r.n != 0 || !errors.Is(r.err, net.ErrClosed) {
					t.Error(r)
				}
			}
			if n, err := q.SendPaced(nil, os[5:], p); n != 0 || !errors.Is(err, net.ErrClosed) {
				t.Error(n, err)
			}
			q.Abort(os)
		})
	}
}

func TestPacingAllocates(t *testing.T) {
	_, a, f := sender(t, Config{})
	q, p, os, ctx := a.queues[0], newPacer(t, time.Microsecond), make([]Outgoing, 4), soon(t)
	slow := newPacer(t, 300*time.Microsecond) // sleeps, too
	if n := testing.AllocsPerRun(100, func() {
		n, err := q.ReserveContext(ctx, os)
		if err != nil {
			t.Fatal(err)
		}
		for i := range os[:n] {
			os[i].Flow, os[i].Payload = f, os[i].Payload[:64]
		}
		if _, err := q.SendPaced(ctx, os[:n-1], p); err != nil {
			t.Fatal(err)
		}
		if _, err := q.SendPaced(ctx, os[n-1:n], slow); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations for a paced batch", n)
	}
}

// The interface is deleted while a sender waits: it is told.
func TestPacingGone(t *testing.T) {
	pair, a, f := sender(t, Config{})
	q, p, os := a.queues[0], newPacer(t, time.Hour), make([]Outgoing, 2)
	if n, err := q.Reserve(os); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	for i := range os {
		os[i].Flow, os[i].Payload = f, os[i].Payload[:64]
	}
	ends := make(chan error)
	go func() {
		_, err := q.SendPaced(soon(t), os, p)
		ends <- err
	}()
	for !begun(p) {
		runtime.Gosched()
	}
	if err := pair.A.Delete(); err != nil {
		t.Fatal(err)
	}
	if err := <-ends; !errors.Is(err, ErrNoInterface) {
		t.Error(err)
	}
	q.Abort(os)
}

// begun tells whether a first datagram has left.
func begun(p *Pacer) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.inGap
}
