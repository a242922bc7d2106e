// SPDX-License-Identifier: MIT

package udp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/xdpath/xdpath/internal/packet"
	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/xsk"
)

// Case 69 and Must hold 6 of issue 3: all else on the interface goes on, while a
// Conn is open and when it is closed.
func TestOthersUnharmed(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{IPv6: true})
	local := netip.AddrPortFrom(pair.B.IP4, port)
	c := listenIn(t, pair.B.NS, Config{Interface: pair.B.Name, Local: local})
	for _, state := range []string{"open", "closed"} {
		for _, end := range []*testnet.End{&pair.A, &pair.B} {
			if err := end.FlushNeigh(); err != nil { // ARP and ND from scratch
				t.Fatal(err)
			}
		}
		for _, ip := range []netip.Addr{pair.B.IP4, pair.B.IP6} {
			exchangeTCP(t, pair, ip, state)
			exchangeUDP(t, pair, ip, state)
		}
		refusedPort(t, pair, state)
		if state == "open" {
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// exchangeTCP moves a megabyte each way.
func exchangeTCP(t *testing.T, pair *testnet.Pair, ip netip.Addr, state string) {
	t.Helper()
	var ln net.Listener
	var conn net.Conn
	err := errors.Join(
		pair.B.NS.Do(func() (err error) { ln, err = net.Listen("tcp", netip.AddrPortFrom(ip, 0).String()); return err }),
		pair.A.NS.Do(func() (err error) { conn, err = net.DialTimeout("tcp", ln.Addr().String(), 5*time.Second); return err }),
	)
	if err != nil {
		t.Fatalf("%s: TCP to %v: %v", state, ip, err)
	}
	defer ln.Close()
	defer conn.Close()
	go func() {
		if s, err := ln.Accept(); err == nil {
			io.Copy(s, s)
			s.Close()
		}
	}()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	const size = 1 << 20
	go func() {
		conn.Write(make([]byte, size))
		conn.(*net.TCPConn).CloseWrite()
	}()
	if n, err := io.Copy(io.Discard, conn); n != size || err != nil {
		t.Errorf("%s: TCP to %v: %d bytes came back: %v", state, ip, n, err)
	}
}

// exchangeUDP asks a kernel socket on another port.
func exchangeUDP(t *testing.T, pair *testnet.Pair, ip netip.Addr, state string) {
	t.Helper()
	server := kernelIn(t, pair.B.NS, netip.AddrPortFrom(ip, 0))
	defer server.Close()
	to := server.LocalAddr().(*net.UDPAddr).AddrPort()
	from := pair.A.IP4
	if ip.Is6() {
		from = pair.A.IP6
	}
	client := kernelIn(t, pair.A.NS, netip.AddrPortFrom(from, 0))
	defer client.Close()
	buf := make([]byte, 100)
	for i := range 20 {
		client.WriteToUDPAddrPort([]byte{byte(i)}, to)
		server.SetReadDeadline(time.Now().Add(2 * time.Second))
		n, src, err := server.ReadFromUDPAddrPort(buf)
		if err != nil {
			t.Fatalf("%s: UDP to %v: %v", state, to, err)
		}
		server.WriteToUDPAddrPort(buf[:n], src)
		client.SetReadDeadline(time.Now().Add(2 * time.Second))
		if n, err := client.Read(buf); err != nil || n != 1 || buf[0] != byte(i) {
			t.Fatalf("%s: UDP from %v: %v", state, to, err)
		}
	}
}

// refusedPort asks a port that nobody has: the kernel answers by ICMP.
func refusedPort(t *testing.T, pair *testnet.Pair, state string) {
	t.Helper()
	var conn net.Conn
	if err := pair.A.NS.Do(func() (err error) {
		conn, err = net.Dial("udp", netip.AddrPortFrom(pair.B.IP4, 7).String())
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.Write([]byte("x"))
	conn.SetReadDeadline(time.Now().Add(2 * time.Second))
	if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, net.ErrClosed) || err.(net.Error).Timeout() {
		t.Errorf("%s: no ICMP answer from a closed port: %v", state, err)
	}
}

// Case 70: many flows over two queues, with a socket on both or on one.
func TestQueues(t *testing.T) {
	for _, queues := range [][]int{nil, {0}, {1}} {
		pair := testnet.TestPair(t, testnet.Config{Queues: 2})
		local := netip.AddrPortFrom(pair.B.IP4, port)
		c := listenIn(t, pair.B.NS, Config{Interface: pair.B.Name, Local: local, Queues: queues})
		p := c.PacketConn()
		const flows = 64
		for i := range flows {
			s := kernelIn(t, pair.A.NS, netip.AddrPortFrom(pair.A.IP4, uint16(6000+i)))
			s.WriteToUDPAddrPort([]byte{byte(i)}, local)
		}
		seen := map[byte]bool{}
		buf := make([]byte, 10)
		p.SetReadDeadline(time.Now().Add(3 * time.Second))
		for len(seen) < flows {
			if _, _, err := p.ReadFromUDPAddrPort(buf); err != nil {
				t.Fatalf("queues %v: %d of %d flows: %v", queues, len(seen), flows, err)
			}
			seen[buf[0]] = true
		}
		st, _ := c.Stats()
		info := c.Info()
		switch {
		case queues == nil && (info.Uncovered != 0 || st.KernelRx != 0 || st.Sockets[0].RxFrames == 0 || st.Sockets[1].RxFrames == 0):
			t.Errorf("all queues: %+v, %+v", info, st)
		case queues != nil && (info.Uncovered != 1 || st.KernelRx == 0 || st.FastRx == 0 || st.Program.NoSocket != st.KernelRx):
			t.Errorf("queues %v: %v, %v, %+v", queues, info, st, st.Program)
		}
	}
}

// Case 72: nothing is lost from the moment that Listen returns.
func TestFirstReceived(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	peer := kernelIn(t, pair.A.NS, netip.AddrPortFrom(pair.A.IP4, 0))
	local := netip.AddrPortFrom(pair.B.IP4, port)
	for range 10 {
		stop := make(chan struct{})
		var sent uint64 // next number to be sent; owned by the sender, read under mu
		var mu sync.Mutex
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				mu.Lock()
				peer.WriteToUDPAddrPort(binary.BigEndian.AppendUint64(nil, sent), local)
				sent++
				mu.Unlock()
				time.Sleep(50 * time.Microsecond) // a rate that no ring overflows at
			}
		})
		c, err := tryIn(pair.B.NS, Config{Interface: pair.B.Name, Local: local})
		if err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		opened := sent
		mu.Unlock()
		p := c.PacketConn()
		buf := make([]byte, 8)
		p.SetReadDeadline(time.Now().Add(2 * time.Second))
		for next := opened; next < opened+200; {
			if _, _, err := p.ReadFromUDPAddrPort(buf); err != nil {
				t.Fatal(err)
			}
			switch no := binary.BigEndian.Uint64(buf); {
			case no < opened: // came while Listen was at work, by either lane
			case no != next:
				t.Fatalf("lost %d to %d; Listen returned at %d", next, no-1, opened)
			default:
				next++
			}
		}
		close(stop)
		wg.Wait()
		c.Close()
	}
}

// Cases 73 and 74: what is taken, and the addresses that it comes with.
func TestDestinations(t *testing.T) {
	l := newLink(t, testnet.Config{}, Config{})
	raw, err := testnet.OpenRaw(l.pair.A)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	group := netip.MustParseAddr("239.1.2.3")
	if err := l.c.JoinGroup(group); err != nil {
		t.Fatal(err)
	}
	q, ds := l.c.queues[0], make([]Received, 1)
	for _, c := range []struct {
		name string
		dst  string
		mac  net.HardwareAddr // nil: the right one
		src  uint16
		want bool
	}{
		{"own", "10.9.0.2", nil, 0x1234, true},
		{"own, swapped port", "10.9.0.2", nil, 0x3412, true},
		{"joined group", "239.1.2.3", nil, 7, true},
		{"another group", "239.1.2.4", nil, 7, false},
		{"limited broadcast", "255.255.255.255", nil, 7, false},
		{"another host", "10.9.0.99", nil, 7, false},
		{"wrong MAC", "10.9.0.2", net.HardwareAddr{2, 0, 0, 0, 0, 1}, 7, false},
		{"after them", "10.9.0.2", nil, 9, true},
	} {
		dst := netip.AddrPortFrom(netip.MustParseAddr(c.dst), port)
		mac := packet.MAC(l.pair.B.MAC)
		if m, ok := packet.GroupMAC(dst.Addr()); ok {
			mac = m
		}
		if c.mac != nil {
			mac = packet.MAC(c.mac)
		}
		src := netip.AddrPortFrom(l.pair.A.IP4, c.src)
		tp, err := packet.NewTemplate(packet.Config{SrcMAC: packet.MAC(l.pair.A.MAC), DstMAC: mac, Src: src, Dst: dst})
		if err != nil {
			t.Fatal(err)
		}
		frame := make([]byte, 42+4)
		copy(frame[42:], "what")
		tp.Put(frame, frame[42:])
		if err := raw.Send(frame); err != nil {
			t.Fatal(err)
		}
		if !c.want {
			continue // the next one that is wanted must be the next that comes
		}
		if n, err := q.ReceiveContext(soon(t), ds); n != 1 || err != nil || ds[0].Src != src || ds[0].Dst != dst || ds[0].Lane != Fast {
			t.Errorf("%s: %v %+v", c.name, err, ds[0])
		}
		q.Release(ds)
	}
}

// wire opens a raw socket on the peer's end that sees what the Conn sends.
func wire(t *testing.T, l *link) (next func(match func(gopacket.Packet) bool) gopacket.Packet) {
	raw, err := testnet.OpenRaw(l.pair.A)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { raw.Close() })
	return func(match func(gopacket.Packet) bool) gopacket.Packet {
		for end := time.Now().Add(2 * time.Second); ; {
			b, err := raw.Receive(end)
			if err != nil {
				t.Fatal(err)
			}
			p := gopacket.NewPacket(append([]byte(nil), b...), layers.LayerTypeEthernet, gopacket.Default)
			if match(p) {
				return p
			}
		}
	}
}

// Cases 87 and 88: headers on the wire, read by gopacket.
func TestOnTheWire(t *testing.T) {
	l := newLink(t, testnet.Config{}, Config{Broadcast: true})
	p := l.c.PacketConn()
	arrives(t, l, p, l.peer, l.from)
	next := wire(t, l)
	for _, c := range []struct {
		dst, mac string
		ttl      uint8
	}{
		{"10.9.0.1", l.pair.A.MAC.String(), 64},
		{"224.0.0.251", "01:00:5e:00:00:fb", 1},
		{"239.129.2.3", "01:00:5e:01:02:03", 1},
		{"255.255.255.255", "ff:ff:ff:ff:ff:ff", 64},
		{"10.9.0.255", "ff:ff:ff:ff:ff:ff", 64},
	} {
		for _, size := range []int{0, 1, 1472} {
			if size == 1472 && c.ttl == 64 && c.mac[0] == 'f' {
				continue
			}
			payload := make([]byte, size)
			if _, err := p.WriteToUDPAddrPort(payload, netip.AddrPortFrom(netip.MustParseAddr(c.dst), 9999)); err != nil {
				t.Errorf("%s: %v", c.dst, err)
				continue
			}
			got := next(func(g gopacket.Packet) bool {
				u, ok := g.TransportLayer().(*layers.UDP)
				return ok && u.DstPort == 9999
			})
			eth := got.LinkLayer().(*layers.Ethernet)
			ip := got.NetworkLayer().(*layers.IPv4)
			u := got.TransportLayer().(*layers.UDP)
			if eth.DstMAC.String() != c.mac || eth.SrcMAC.String() != l.pair.B.MAC.String() {
				t.Errorf("%s: to MAC %v from %v", c.dst, eth.DstMAC, eth.SrcMAC)
			}
			if ip.TTL != c.ttl || ip.TOS != 0 || ip.DstIP.String() != c.dst || ip.SrcIP.String() != "10.9.0.2" || u.SrcPort != port {
				t.Errorf("%s: %+v", c.dst, ip)
			}
			if int(u.Length) != 8+size || len(u.Payload) < size {
				t.Errorf("%s: UDP length %d for %d bytes", c.dst, u.Length, size)
			}
		}
	}
	if st, _ := l.c.Stats(); st.FastTx < 10 {
		t.Errorf("the wire was reached by the kernel lane: %v", st)
	}
}

// Case 80 and M15: a link that is down refuses or loses, with a name; up again,
// all arrives.
func TestLinkDown(t *testing.T) {
	l := newLink(t, testnet.Config{}, Config{})
	p := l.c.PacketConn()
	arrives(t, l, p, l.peer, l.from)
	if err := l.pair.A.SetUp(false); err != nil {
		t.Fatal(err)
	}
	var refused, sent int
	for range 100 {
		if _, err := p.WriteToUDPAddrPort([]byte("into the dark"), l.from); err != nil {
			if errors.Is(err, net.ErrClosed) {
				t.Fatal(err)
			}
			refused++
		} else {
			sent++
		}
	}
	if err := errors.Join(l.pair.A.SetUp(true), l.pair.A.WaitUp(), l.pair.B.WaitUp()); err != nil {
		t.Fatal(err)
	}
	// The kernel tells of a carrier with up to a second's delay (linkwatch).
	if took := arrives(t, l, p, l.peer, l.from); took > 3*time.Second {
		t.Errorf("up again: followed after %v", took)
	}
	receives(t, l, p)
	st, _ := l.c.Stats()
	// What went the kernel lane before the news of the carrier came is in KernelTx.
	if lost := st.Sockets[0].TxLost + max(st.TxLinkDown, st.KernelTx); lost < uint64(sent) {
		t.Errorf("%d refused, %d taken while the link was down, %d of these counted as lost: %v", refused, sent, lost, st)
	}
}

// Cases 95, 99 and 107: what ends a Conn ends blocked calls, with the reason.
func TestEnds(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(l *link) error
		want error
	}{
		"deleted": {func(l *link) error { return l.pair.B.Delete() }, ErrNoInterface},
		"moved":   {func(l *link) error { return l.pair.B.Move(l.pair.A.NS) }, ErrNoInterface},
		"closed":  {func(l *link) error { return l.c.Close() }, net.ErrClosed},
	} {
		for _, w := range []xsk.Wait{xsk.Adaptive, xsk.Block, xsk.Busy} {
			l := newLink(t, testnet.Config{}, Config{Wait: w})
			p := l.c.PacketConn()
			errs := make(chan error, 2)
			go func() {
				_, err := l.c.queues[0].ReceiveContext(nil, make([]Received, 1))
				errs <- err
			}()
			go func() {
				_, _, err := p.ReadFromUDPAddrPort(make([]byte, 1))
				errs <- err
			}()
			if err := c.end(l); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				select {
				case err := <-errs:
					if !errors.Is(err, c.want) {
						t.Errorf("%s: %v", name, err)
					}
				case <-time.After(2 * time.Second):
					t.Fatalf("%s, waiting %v: a call is still blocked after 2 s", name, w)
				}
			}
			if _, err := p.WriteToUDPAddrPort([]byte("x"), l.from); err == nil {
				t.Errorf("%s: a write after the end", name)
			}
		}
	}
}

// Case 109: many goroutines on one PacketConn; each datagram comes exactly once.
func TestManyGoroutines(t *testing.T) {
	_, a, b := twoConns(t, Config{}, Config{})
	resolve(t, a, b)
	pa, pb := a.PacketConn(), b.PacketConn()
	const senders, each = 8, 500
	var mu sync.Mutex
	seen := map[string]int{}
	var readers, writers sync.WaitGroup
	pb.SetReadDeadline(time.Now().Add(10 * time.Second))
	for range 2 {
		readers.Go(func() {
			buf := make([]byte, 100)
			for {
				n, _, err := pb.ReadFromUDPAddrPort(buf)
				if err != nil {
					return
				}
				mu.Lock()
				seen[string(buf[:n])]++
				if len(seen) == senders*each {
					pb.SetReadDeadline(time.Now())
				}
				mu.Unlock()
			}
		})
	}
	for g := range senders {
		writers.Go(func() {
			for i := range each {
				if _, err := pa.WriteToUDPAddrPort(fmt.Appendf(nil, "%d-%d", g, i), b.local); err != nil {
					t.Error(err)
					return
				}
				if i%50 == 0 {
					time.Sleep(time.Millisecond) // the reader is one of ten goroutines on two CPUs
				}
			}
		})
	}
	writers.Wait()
	readers.Wait()
	for k, n := range seen {
		if n != 1 {
			t.Errorf("%s came %d times", k, n)
		}
	}
	if len(seen) != senders*each {
		t.Errorf("%d of %d came", len(seen), senders*each)
	}
}
