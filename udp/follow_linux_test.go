// SPDX-License-Identifier: MIT

package udp

import (
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/xdpath/xdpath/internal/testnet"
)

// Each of these changes what a sender must know while it sends; within a second
// the datagrams arrive again, by the fast lane.

// arrives sends numbered datagrams to dst until n of them have come to the peer
// by the fast lane in a row, and returns after how long.
func arrives(t *testing.T, l *link, p *PacketConn, peer *net.UDPConn, dst netip.AddrPort) time.Duration {
	t.Helper()
	start := time.Now()
	buf := make([]byte, 100)
	for i, row := 0, 0; row < 3; i++ {
		if time.Since(start) > 5*time.Second {
			st, _ := l.c.Stats()
			t.Fatalf("nothing arrives: %v, %v", l.c.to(dst, netip.Addr{}), st)
		}
		before := l.c.stats.fastTx.Load()
		msg := fmt.Sprint("number ", i, " at ", time.Now().UnixNano())
		if _, err := p.WriteToUDPAddrPort([]byte(msg), dst); err != nil {
			row = 0
			time.Sleep(time.Millisecond)
			continue
		}
		fast := l.c.stats.fastTx.Load() > before
		peer.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		n, _, err := peer.ReadFromUDPAddrPort(buf)
		for err == nil && string(buf[:n]) != msg { // what came late
			n, _, err = peer.ReadFromUDPAddrPort(buf)
		}
		if row++; err != nil || !fast {
			row = 0
		}
	}
	return time.Since(start)
}

func within(t *testing.T, what string, took time.Duration) {
	t.Helper()
	if took > time.Second {
		t.Errorf("%s: followed after %v", what, took)
	}
}

func TestFollowsNeighbour(t *testing.T) {
	l := newLink(t, testnet.Config{}, Config{})
	p := l.c.PacketConn()
	within(t, "first", arrives(t, l, p, l.peer, l.from))
	if err := l.pair.B.FlushNeigh(); err != nil {
		t.Fatal(err)
	}
	within(t, "entry deleted", arrives(t, l, p, l.peer, l.from))
	mac := net.HardwareAddr{2, 0, 0, 0, 0, 9}
	if err := l.pair.A.SetMAC(mac); err != nil {
		t.Fatal(err)
	}
	if err := l.pair.B.AddNeigh(l.pair.A.IP4, mac); err != nil {
		t.Fatal(err)
	}
	within(t, "neighbour has another MAC", arrives(t, l, p, l.peer, l.from))
	// Case 100: our own MAC and name change.
	if err := l.pair.B.SetMAC(net.HardwareAddr{2, 0, 0, 0, 0, 7}); err != nil {
		t.Fatal(err)
	}
	if err := l.pair.A.FlushNeigh(); err != nil {
		t.Fatal(err)
	}
	within(t, "own MAC changed", arrives(t, l, p, l.peer, l.from))
	if err := l.pair.B.Rename("other0"); err != nil {
		t.Fatal(err)
	}
	within(t, "renamed", arrives(t, l, p, l.peer, l.from))
	receives(t, l, p)
}

// receives sends to the Conn until that comes by the fast lane.
func receives(t *testing.T, l *link, p *PacketConn) {
	t.Helper()
	buf := make([]byte, 100)
	for end := time.Now().Add(time.Second); ; {
		before := l.c.stats.fastRx.Load()
		if _, err := l.peer.WriteToUDPAddrPort([]byte("x"), l.to); err != nil {
			t.Fatal(err)
		}
		p.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		if _, _, err := p.ReadFromUDPAddrPort(buf); err == nil && l.c.stats.fastRx.Load() > before {
			return
		}
		if time.Now().After(end) {
			t.Fatal("nothing is received by the fast lane")
		}
	}
}

// Case 82: the MTU shrinks; what does not fit any more takes the kernel lane.
func TestFollowsMTU(t *testing.T) {
	l := newLink(t, testnet.Config{}, Config{})
	p := l.c.PacketConn()
	arrives(t, l, p, l.peer, l.from)
	f := l.c.Flow(l.from)
	if got := f.MaxPayload(); got != 1472 {
		t.Errorf("MaxPayload %d with an MTU of 1500", got)
	}
	if err := l.pair.B.SetMTU(1280); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Second); f.MaxPayload() != 1252; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("MaxPayload %d a second after the MTU is 1280", f.MaxPayload())
		}
	}
	buf := make([]byte, 2000)
	for _, n := range []int{1252, 1253, 1472} {
		if _, err := p.WriteToUDPAddrPort(make([]byte, n), l.from); err != nil {
			t.Fatal(err)
		}
		l.peer.SetReadDeadline(time.Now().Add(time.Second))
		if got, _, err := l.peer.ReadFromUDPAddrPort(buf); err != nil || got != n {
			t.Errorf("%d bytes came as %d: %v", n, got, err)
		}
	}
}

// Case 86: gateways, and routes that come and go.
func TestFollowsRoutes(t *testing.T) {
	testnet.Require(t)
	chain, err := testnet.NewChain(testnet.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { chain.Close() })
	to := netip.AddrPortFrom(chain.A.IP4, port)
	l := &link{to: to, from: netip.AddrPortFrom(chain.C.IP4, 4000)}
	l.c = listenIn(t, chain.A.NS, Config{Interface: chain.A.Name, Local: to})
	far := kernelIn(t, chain.C.NS, l.from)
	p := l.c.PacketConn()
	within(t, "through the gateway", arrives(t, l, p, far, l.from))
	if st := l.c.Flow(l.from).current(); st.hop.Addr != chain.BA.IP4 {
		t.Errorf("next hop %v, want the gateway %v", st.hop.Addr, chain.BA.IP4)
	}
	// A more specific route through a second address of the gateway.
	second := netip.MustParseAddr("10.9.0.77")
	if err := chain.BA.AddAddr(netip.PrefixFrom(second, 24)); err != nil {
		t.Fatal(err)
	}
	if err := chain.A.AddRoute(netip.PrefixFrom(chain.C.IP4, 32), second); err != nil {
		t.Fatal(err)
	}
	within(t, "more specific route", arrives(t, l, p, far, l.from))
	if st := l.c.Flow(l.from).current(); st.hop.Addr != second {
		t.Errorf("next hop %v, want %v", st.hop.Addr, second)
	}
}

// Case 84: a neighbour that is not resolved: nothing is lost, nothing reordered,
// and the fast lane is taken soon.
func TestFirstDatagrams(t *testing.T) {
	l := newLink(t, testnet.Config{}, Config{})
	if err := l.pair.B.FlushNeigh(); err != nil {
		t.Fatal(err)
	}
	p := l.c.PacketConn()
	const n = 200 // the default receive buffer holds 256
	for i := range n {
		if _, err := p.WriteToUDPAddrPort(fmt.Appendf(nil, "%d", i), l.from); err != nil {
			t.Fatal(err)
		}
		if i%20 == 0 {
			time.Sleep(100 * time.Microsecond)
		}
	}
	buf := make([]byte, 100)
	for i := range n {
		l.peer.SetReadDeadline(time.Now().Add(2 * time.Second))
		k, _, err := l.peer.ReadFromUDPAddrPort(buf)
		if err != nil || string(buf[:k]) != fmt.Sprint(i) {
			t.Fatalf("datagram %d came as %q: %v", i, buf[:k], err)
		}
	}
	st, _ := l.c.Stats()
	if st.KernelTx == 0 || st.FastTx == 0 {
		t.Errorf("sent %d by the kernel lane, %d by the fast one", st.KernelTx, st.FastTx)
	}
	// A neighbour that does not exist: the kernel's answer, no frame to nowhere.
	raw, err := testnet.OpenRaw(l.pair.A)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	nobody := netip.MustParseAddrPort("10.9.0.99:9")
	for range 10 {
		p.WriteToUDPAddrPort([]byte("anybody?"), nobody)
	}
	for {
		b, err := raw.Receive(time.Now().Add(50 * time.Millisecond))
		if err != nil {
			break
		}
		if b[12] == 8 && b[13] == 0 {
			t.Errorf("a frame to nobody: % x", b[:34])
		}
	}
}
