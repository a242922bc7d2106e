// SPDX-License-Identifier: MIT

package udp

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/internal/testnet"
)

// What the MTU makes of chunks, on machines of either page size.
func TestChunkFor(t *testing.T) {
	for _, c := range []struct{ mtu, page, segments, want int }{
		{1280, 4096, 18, 2048},
		{1500, 4096, 18, 2048},
		{1774, 4096, 18, 2048}, // 1792 with a tag
		{1775, 4096, 18, 4096},
		{3822, 4096, 18, 4096}, // 3840
		{3823, 4096, 18, 2048}, // of several chunks from here on
		{9000, 4096, 18, 2048},
		{9000, 4096, 5, 4096}, // a device that takes five
		{9000, 4096, 2, 4096}, // and one that takes too few
		{32238, 4096, 18, 2048},
		{32239, 4096, 18, 4096},
		{65535, 4096, 18, 4096},
		{9000, 65536, 18, 16384},
		{65262, 65536, 18, 65536},
		{65535, 65536, 18, 4096},
	} {
		if got := chunkFor(c.mtu+tagged, c.page, c.segments); got != c.want {
			t.Errorf("MTU %d, pages of %d, up to %d chunks: %d bytes, want %d", c.mtu, c.page, c.segments, got, c.want)
		}
	}
}

// Case 66: multi-buffer is chosen when the MTU needs it and not else, and what 18
// chunks do not hold is refused with what to do, or goes the kernel lane.
func TestPagedOpen(t *testing.T) {
	for _, c := range []struct {
		mtu   int
		cfg   Config
		multi bool
		want  string // in the error; empty: it opens
		errno error
	}{
		{mtu: 1500},
		{mtu: 3822},
		{mtu: 3823, multi: true},
		{mtu: 3000, cfg: Config{ChunkSize: 2048}, multi: true},
		{mtu: 65535, multi: true},
		{mtu: 32238, cfg: Config{ChunkSize: 2048}, multi: true},
		{mtu: 32239, cfg: Config{ChunkSize: 2048}, want: "an MTU of 32239 is beyond the 18 chunks that a packet may take, 1792 bytes each: lower it to 32238, or raise ChunkSize", errno: syscall.EMSGSIZE},
		{mtu: 9000, cfg: Config{RingSize: 16}, want: "RingSize 16: a datagram of several chunks, with an MTU of 9000 or an Area, may take 18 entries: at least 32", errno: syscall.EINVAL},
		{mtu: 9000, cfg: Config{RingSize: 32}, multi: true},
		{mtu: 9000, cfg: Config{ChunkSize: 1000}, want: "ChunkSize 1000: must be a power of two"},
		{mtu: 1500, cfg: Config{RingSize: 16}},
	} {
		t.Run(fmt.Sprintf("mtu=%d chunk=%d ring=%d", c.mtu, c.cfg.ChunkSize, c.cfg.RingSize), func(t *testing.T) {
			pair := testnet.TestPair(t, testnet.Config{MTU: c.mtu})
			testnet.Leaks(t)
			c.cfg.Interface, c.cfg.Local = pair.B.Name, netip.AddrPortFrom(pair.B.IP4, port)
			conn, err := tryIn(pair.B.NS, c.cfg)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) || c.errno != nil && !errors.Is(err, c.errno) {
					t.Fatalf("\ngot  %v\nwant %s", err, c.want)
				}
				c.cfg.Fallback = FallbackAllow
				if conn, err = tryIn(pair.B.NS, c.cfg); err != nil {
					t.Fatal(err)
				}
				if i := conn.Info(); i.Reason == nil || !strings.Contains(i.String(), c.want) {
					t.Errorf("%v", i)
				}
				fallsBack(t, pair, conn, c.mtu-28)
			} else if err != nil {
				t.Fatal(err)
			} else if got := conn.Info().Sockets[0].MultiBuffer; got != c.multi {
				t.Errorf("multi-buffer %v", got)
			}
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// fallsBack sees to it that the kernel lane carries n bytes.
func fallsBack(t *testing.T, pair *testnet.Pair, c *Conn, n int) {
	t.Helper()
	var peer net.Conn
	if err := pair.A.NS.Do(func() (err error) { peer, err = net.Dial("udp", c.LocalAddr().String()); return err }); err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	peer.Write(pattern(n))
	buf := make([]byte, 1<<16)
	c.PacketConn().SetReadDeadline(time.Now().Add(5 * time.Second))
	if got, _, err := c.PacketConn().ReadFromUDPAddrPort(buf); err != nil || !bytes.Equal(buf[:got], pattern(n)) {
		t.Errorf("%d bytes came as %d: %v", n, got, err)
	}
}

// What a kernel, or a driver in zero-copy mode, says that has no multi-buffer comes
// with what to do; other errors stay as they are.
func TestPagedExplained(t *testing.T) {
	l := newLink(t, testnet.Config{MTU: 9000}, Config{})
	for _, errno := range []error{syscall.EINVAL, syscall.EOPNOTSUPP} {
		err := l.c.explainOpen(fmt.Errorf("bind: %w", errno))
		for _, want := range []string{"an MTU of 9000", "multi-buffer", "Linux 6.6", "lower the MTU to 3822", "FallbackAllow"} {
			if !strings.Contains(err.Error(), want) || !errors.Is(err, errno) {
				t.Errorf("%v: no %q", err, want)
			}
		}
	}
	if err := l.c.explainOpen(syscall.EBUSY); err != syscall.EBUSY {
		t.Errorf("%v", err)
	}
}

// awaitEvent takes events until one of a kind comes.
func awaitEvent(t *testing.T, c *Conn, kind string) Event {
	t.Helper()
	for giveUp := time.After(5 * time.Second); ; {
		select {
		case e := <-c.Events():
			if e.Kind == kind {
				return e
			}
		case <-giveUp:
			t.Fatalf("no event %q", kind)
		}
	}
}

// setMTU changes it on both ends.
func (l *link) setMTU(t *testing.T, n int) {
	t.Helper()
	if err := errors.Join(l.pair.A.SetMTU(n), l.pair.B.SetMTU(n)); err != nil {
		t.Fatal(err)
	}
}

// Cases 17 and 127: the MTU is raised after a Conn was opened whose chunks were
// chosen for less. What does not fit is counted under that name, and the event says
// so; what fits comes as before.
func TestPagedRaised(t *testing.T) {
	l := newLink(t, testnet.Config{}, Config{Attach: bpf.Generic})
	q := l.c.queues[0]
	l.setMTU(t, 9000)
	if e := awaitEvent(t, l.c, "MTU changed"); e.Err == nil || !errors.Is(e.Err, syscall.EMSGSIZE) || !strings.Contains(e.Err.Error(), "more than 1792 bytes") {
		t.Errorf("%+v", e)
	}
	const tooBig = 10
	for range tooBig {
		sendWhole(t, l.peer, l.to, 44)
		sendWhole(t, l.peer, l.to, 1750)
		sendWhole(t, l.peer, l.to, 8192)
		sendWhole(t, l.peer, l.to, 1751)
		for _, n := range []int{44, 1750} {
			d := takeOne(t, q)
			checkWhole(t, &d, n)
			q.Release([]Received{d})
		}
	}
	if st, _ := q.sock.Stats(); st.RxTooBig() != 2*tooBig || st.RxLost() != 2*tooBig {
		t.Errorf("%+v", st)
	}
	// Opened anew, it takes them.
	if err := l.c.Close(); err != nil {
		t.Fatal(err)
	}
	again := listenIn(t, l.pair.B.NS, Config{Interface: l.pair.B.Name, Local: l.to, Attach: bpf.Generic})
	sendWhole(t, l.peer, l.to, 8192)
	d := takeOne(t, again.queues[0])
	checkWhole(t, &d, 8192)
	again.queues[0].Release([]Received{d})
}

// Cases 17 and 82: a Conn whose datagrams may take several chunks goes on as the MTU
// rises and falls, also beyond the 18 chunks that a packet may take to be sent.
func TestPagedFollowsMTU(t *testing.T) {
	l := newLink(t, testnet.Config{MTU: 9000}, Config{ChunkSize: 2048})
	q, f := l.c.queues[0], l.c.Flow(l.from)
	arrives(t, l, l.c.PacketConn(), l.peer, l.from)
	for _, mtu := range []int{1500, 9000, 20000, 65535, 4000} {
		l.setMTU(t, mtu)
		if e := awaitEvent(t, l.c, "MTU changed"); e.Err != nil {
			t.Errorf("%+v", e)
		}
		want := min(mtu-28, l.c.chainRoom())
		for end := time.Now().Add(2 * time.Second); f.MaxPayload() != want; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("MTU %d: MaxPayload %d, want %d", mtu, f.MaxPayload(), want)
			}
		}
		for _, n := range []int{100, mtu / 2, mtu - 28} {
			sendWhole(t, l.peer, l.to, n)
			d := takeOne(t, q)
			checkWhole(t, &d, n)
			q.Release([]Received{d})
		}
	}
}
