// SPDX-License-Identifier: MIT

package udp

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"

	"github.com/xdpath/xdpath/internal/packet"
	"github.com/xdpath/xdpath/internal/testnet"
)

// wireRows: what a sent datagram looks like on the link.
func wireRows() []row {
	six := testnet.Config{IPv6: true}
	return []row{
		{name: "on the wire", alone: true, ways: fastTx, want: "to the peer, TOS 0x0, TTL 64, DF true, checksums good, 5 bytes", run: func(r *rig) string {
			s, peer := r.both()
			return r.onWire(s, peer, 5)
		}},
		{name: "on the wire, odd and even lengths", alone: true, ways: fastTx, want: "all good", run: func(r *rig) string {
			s, peer := r.both()
			link := r.tap(s, peer)
			defer link.Close()
			for n := range 70 {
				if err := write(s, r.them(), string(pattern(n))); err != nil {
					return r.told(err)
				}
				want := fmt.Sprintf("to the peer, TOS 0x0, TTL 64, DF true, checksums good, %d bytes", n)
				if got := r.describe(r.seen(link)); got != want {
					return got
				}
			}
			return "all good"
		}},
		{name: "on the wire, TTL and TOS", alone: true, ways: fastTx, want: "to the peer, TOS 0xb8, TTL 7, DF true, checksums good, 5 bytes", run: func(r *rig) string {
			r.cfg.TTL, r.cfg.TOS = 7, 0xb8
			s, peer := r.both()
			if k, ok := s.(*net.UDPConn); ok {
				c := ipv4.NewConn(k)
				if err := keep(c.SetTTL(7), c.SetTOS(0xb8)); err != nil {
					return err.Error()
				}
			}
			return r.onWire(s, peer, 5)
		}},
		{name: "on the wire, TTL and TOS of fragments", alone: true, ways: kernelTx, want: "TOS 0xb8, TTL 7", run: func(r *rig) string {
			r.cfg.TTL, r.cfg.TOS = 7, 0xb8
			s, peer := r.both()
			if k, ok := s.(*net.UDPConn); ok {
				c := ipv4.NewConn(k)
				if err := keep(c.SetTTL(7), c.SetTOS(0xb8)); err != nil {
					return err.Error()
				}
			}
			link := r.tap(s, peer)
			defer link.Close()
			if err := write(s, r.them(), string(make([]byte, 3000))); err != nil {
				return r.told(err)
			}
			for {
				frame, err := link.Receive(deadline())
				if err != nil {
					return err.Error()
				}
				if _, reason := packet.Parse(frame); reason == packet.Fragment {
					return fmt.Sprintf("TOS %#x, TTL %d", frame[15], frame[22])
				}
			}
		}},
		{name: "on the wire, connected", alone: true, ways: fastTx, want: "to the peer, TOS 0x0, TTL 64, DF true, checksums good, 5 bytes", run: func(r *rig) string {
			s, peer := r.connected()
			return r.onWire(s, peer, 5)
		}},
		{name: "on the wire, a sum of zero", alone: true, ways: fastTx, want: "checksum 0xffff", run: func(r *rig) string {
			s, peer := r.both()
			link := r.tap(s, peer)
			defer link.Close()
			if err := write(s, r.them(), string(zeroSum(r.us(), r.them()))); err != nil {
				return r.told(err)
			}
			u, frame := r.seen(link)
			return fmt.Sprintf("checksum %#x", binary.BigEndian.Uint16(frame[u.Offset-2:]))
		}},
		{name: "on the wire, IPv6", alone: true, net: six, ways: fastTx, want: "to the peer, TOS 0x0, TTL 64, checksums good, 5 bytes", run: func(r *rig) string {
			s, peer := r.listen(r.us6()), r.peerAt(r.them6())
			return r.onWire(s, peer, 5)
		}},
		{name: "on the wire, IPv6 hop limit and class", alone: true, net: six, ways: fastTx, want: "to the peer, TOS 0xb8, TTL 7, checksums good, 5 bytes", run: func(r *rig) string {
			r.cfg.TTL, r.cfg.TOS = 7, 0xb8
			s, peer := r.listen(r.us6()), r.peerAt(r.them6())
			if k, ok := s.(*net.UDPConn); ok {
				c := ipv6.NewConn(k)
				if err := keep(c.SetHopLimit(7), c.SetTrafficClass(0xb8)); err != nil {
					return err.Error()
				}
			}
			return r.onWire(s, peer, 5)
		}},
		{name: "on the wire, to a group", alone: true, ways: fastTx, want: "to 01:00:5e:01:02:03, TOS 0x0, TTL 1, DF true, checksums good, 5 bytes", run: func(r *rig) string {
			s, peer := r.both()
			link := r.tap(s, peer)
			defer link.Close()
			if err := write(s, netip.AddrPortFrom(group, r.peerPort), "12345"); err != nil {
				return r.told(err)
			}
			return r.describe(r.seen(link))
		}},
		{name: "on the wire, broadcast", alone: true, ways: fastTx, want: "to ff:ff:ff:ff:ff:ff, TOS 0x0, TTL 64, DF true, checksums good, 5 bytes", run: func(r *rig) string {
			r.cfg.Broadcast = true
			s, peer := r.both()
			link := r.tap(s, peer)
			defer link.Close()
			if err := write(s, netip.AddrPortFrom(netip.MustParseAddr("10.9.0.255"), r.peerPort), "12345"); err != nil {
				return r.told(err)
			}
			return r.describe(r.seen(link))
		}},
	}
}

// tap opens a packet socket at the peer, with the sender's kernel computing
// checksums, and the neighbours known.
func (r *rig) tap(s socket, peer *net.UDPConn) *testnet.Raw {
	r.Helper()
	if err := r.pair.B.SetOffload(testnet.OffloadChecksum, false); err != nil {
		r.Fatal(err)
	}
	r.warm(s, peer)
	link, err := testnet.OpenRaw(r.pair.A)
	if err != nil {
		r.Fatal(err)
	}
	return link
}

// seen is the next datagram from us on the link.
func (r *rig) seen(link *testnet.Raw) (packet.UDP, []byte) {
	r.Helper()
	for {
		frame, err := link.Receive(deadline())
		if err != nil {
			r.Fatal(err)
		}
		if u, reason := packet.Parse(frame); reason == packet.OK && u.Src.Port() == r.port {
			return u, frame
		}
	}
}

// onWire sends n bytes and says how they look at the peer.
func (r *rig) onWire(s socket, peer *net.UDPConn, n int) string {
	r.Helper()
	link := r.tap(s, peer)
	defer link.Close()
	if err := write(s, unmapped(peer.LocalAddr().(*net.UDPAddr).AddrPort()), string(pattern(n))); err != nil {
		return r.told(err)
	}
	return r.describe(r.seen(link))
}

func (r *rig) describe(u packet.UDP, frame []byte) string {
	to := "the peer"
	if dst := net.HardwareAddr(u.DstMAC[:]); dst.String() != r.pair.A.MAC.String() {
		to = dst.String()
	}
	if src := net.HardwareAddr(u.SrcMAC[:]); src.String() != r.pair.B.MAC.String() {
		to += " from " + src.String()
	}
	df := ""
	if u.Src.Addr().Is4() {
		df = fmt.Sprintf("DF %t, ", frame[20]&0x40 != 0)
	}
	sums := "good"
	if v := u.Verify(frame); v != packet.Good {
		sums = fmt.Sprint("bad: ", v)
	}
	return fmt.Sprintf("to %s, TOS %#x, TTL %d, %schecksums %s, %d bytes", to, u.TOS, u.TTL, df, sums, u.Length)
}

// zeroSum is a payload whose checksum comes out as zero.
func zeroSum(src, dst netip.AddrPort) []byte {
	a, b := src.Addr().As4(), dst.Addr().As4()
	rest := slices.Concat(a[:], b[:], []byte{0, 17, 0, 10})
	for _, n := range []uint16{src.Port(), dst.Port(), 10} {
		rest = binary.BigEndian.AppendUint16(rest, n)
	}
	return binary.BigEndian.AppendUint16(nil, ^packet.Sum(rest, 0))
}

// raw is a frame to the socket under test. What is zero is as it should be.
type raw struct {
	six       bool
	dstMAC    net.HardwareAddr
	tag       []byte // 802.1Q, four bytes
	src       netip.AddrPort
	hops, tos byte   // TTL is 64 less hops
	options   []byte // of IPv4, or the extension header of IPv6
	nextHead  byte   // what that header is
	fragment  uint16 // flags and offset of IPv4
	length    int    // of UDP, beyond what is right
	checksum  string // "none", "wrong", "pseudo": the sum of the pseudo-header only
	badHeader bool   // IPv4 header checksum
	text      string
	tail      string // behind the UDP datagram, within IP
	padding   string // behind IP
	cut       [2]int // which bytes of the IP payload this fragment has
}

// frame builds it.
func (r *rig) frame(f raw) []byte {
	src, dst := r.them(), r.us()
	if f.six {
		src, dst = r.them6(), r.us6()
	}
	if f.src.IsValid() {
		src = f.src
	}
	mac := r.pair.B.MAC
	if f.dstMAC != nil {
		mac = f.dstMAC
	}
	datagram := f.datagram(src, dst)
	datagram = append(datagram, f.tail...)
	if f.cut[1] > 0 {
		datagram = datagram[f.cut[0]:f.cut[1]]
	}
	kind := []byte{0x08, 0x00}
	if f.six {
		kind = []byte{0x86, 0xdd}
	}
	b := slices.Concat(mac, r.pair.A.MAC, f.tag, kind)
	return append(slices.Concat(b, f.ip(src.Addr(), dst.Addr(), len(datagram)), datagram), f.padding...)
}

// datagram is UDP header and payload.
func (f *raw) datagram(src, dst netip.AddrPort) []byte {
	size := uint16(8 + len(f.text))
	b := make([]byte, 8, size)
	binary.BigEndian.PutUint16(b[0:], src.Port())
	binary.BigEndian.PutUint16(b[2:], dst.Port())
	binary.BigEndian.PutUint16(b[4:], uint16(int(size)+f.length))
	b = append(b, f.text...)
	pseudo := binary.BigEndian.AppendUint16(slices.Concat(src.Addr().AsSlice(), dst.Addr().AsSlice(), []byte{0, 17}), uint16(int(size)+f.length))
	sum := packet.Sum(pseudo, 0)
	whole := ^packet.Sum(b, sum)
	if whole == 0 {
		whole = 0xffff
	}
	switch f.checksum {
	case "none":
		whole = 0
	case "wrong":
		whole ^= 0x0101
	case "pseudo":
		whole = sum
	}
	binary.BigEndian.PutUint16(b[6:], whole)
	return b
}

func (f *raw) ip(src, dst netip.Addr, payload int) []byte {
	if f.six {
		b := make([]byte, 8)
		binary.BigEndian.PutUint32(b, 6<<28|uint32(f.tos)<<20)
		binary.BigEndian.PutUint16(b[4:], uint16(len(f.options)+payload))
		b[6], b[7] = 17, 64-f.hops
		if f.nextHead != 0 || len(f.options) > 0 {
			b[6] = f.nextHead
		}
		return slices.Concat(b, src.AsSlice(), dst.AsSlice(), f.options)
	}
	b := make([]byte, 12)
	b[0], b[1] = 0x45+byte(len(f.options)/4), f.tos
	binary.BigEndian.PutUint16(b[2:], uint16(20+len(f.options)+payload))
	binary.BigEndian.PutUint16(b[4:], 0x4711)
	binary.BigEndian.PutUint16(b[6:], f.fragment)
	b[8], b[9] = 64-f.hops, 17
	b = slices.Concat(b, src.AsSlice(), dst.AsSlice(), f.options)
	sum := ^packet.Sum(b, 0)
	if f.badHeader {
		sum ^= 0x0100
	}
	binary.BigEndian.PutUint16(b[10:], sum)
	return b
}

// receives puts frames on the link, and an ordinary datagram behind them, and says
// what arrives before that: at least as many as want, which may come another way
// and therefore later.
func (r *rig) receives(s socket, want int, frames ...raw) string {
	r.Helper()
	them, us := r.them(), r.us()
	if frames[0].six {
		them, us = r.them6(), r.us6()
	}
	peer := r.peerAt(them)
	link, err := testnet.OpenRaw(r.pair.A)
	if err != nil {
		r.Fatal(err)
	}
	defer link.Close()
	err = onOneCPU(func() error {
		for _, f := range frames {
			if err := link.Send(r.frame(f)); err != nil {
				return err
			}
		}
		_, err := peer.WriteToUDPAddrPort([]byte("end"), us)
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
	var got []string
	for ended := false; !ended || len(got) < want; {
		s.SetReadDeadline(time.Now().Add(patience))
		n, src, err := s.ReadFromUDPAddrPort(r.buf)
		text := r.datagram(r.buf[:n], unmapped(src), err)
		if text == `"end" from them` {
			ended = true
			continue
		}
		got = append(got, text)
		if err != nil {
			break
		}
	}
	if len(got) == 0 {
		return "nothing"
	}
	return strings.Join(got, ", ")
}
