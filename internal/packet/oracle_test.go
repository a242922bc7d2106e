// SPDX-License-Identifier: MIT

package packet_test

import (
	"encoding/binary"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/xdpath/xdpath/internal/packet"
)

// naiveSum is the ones'-complement sum by the book: byte pairs, added, folded.
func naiveSum(b []byte, initial uint16) uint16 {
	sum := uint64(initial)
	for i, c := range b {
		if i%2 == 0 {
			sum += uint64(c) << 8
		} else {
			sum += uint64(c)
		}
	}
	for sum>>16 != 0 {
		sum = sum>>16 + sum&0xffff
	}
	return uint16(sum)
}

// oracleFrame is gopacket's idea of the datagram that a Template made with cfg
// would send, checksum in software.
func oracleFrame(tb testing.TB, cfg packet.Config, payload []byte) []byte {
	tb.Helper()
	src, dst := cfg.Src.Addr(), cfg.Dst.Addr()
	kind := layers.EthernetTypeIPv4
	if dst.Is6() {
		kind = layers.EthernetTypeIPv6
	}
	eth := &layers.Ethernet{SrcMAC: cfg.SrcMAC[:], DstMAC: cfg.DstMAC[:], EthernetType: kind}
	all := []gopacket.SerializableLayer{eth}
	if cfg.Tagged {
		eth.EthernetType = layers.EthernetTypeDot1Q
		all = append(all, &layers.Dot1Q{
			Priority:       uint8(cfg.TCI >> 13),
			DropEligible:   cfg.TCI&0x1000 != 0,
			VLANIdentifier: cfg.TCI & 0x0fff,
			Type:           kind,
		})
	}
	udp := &layers.UDP{SrcPort: layers.UDPPort(cfg.Src.Port()), DstPort: layers.UDPPort(cfg.Dst.Port())}
	var ip gopacket.NetworkLayer
	if dst.Is6() {
		v6 := &layers.IPv6{
			Version: 6, TrafficClass: cfg.TOS, NextHeader: layers.IPProtocolUDP, HopLimit: cfg.TTL,
			SrcIP: net.IP(src.AsSlice()), DstIP: net.IP(dst.AsSlice()),
		}
		ip, all = v6, append(all, v6)
	} else {
		v4 := &layers.IPv4{
			Version: 4, TOS: cfg.TOS, TTL: cfg.TTL, Protocol: layers.IPProtocolUDP,
			SrcIP: net.IP(src.AsSlice()), DstIP: net.IP(dst.AsSlice()),
		}
		if !cfg.Fragmentable {
			v4.Flags = layers.IPv4DontFragment
		}
		ip, all = v4, append(all, v4)
	}
	if err := udp.SetNetworkLayerForChecksum(ip); err != nil {
		tb.Fatal(err)
	}
	buf := gopacket.NewSerializeBuffer()
	opts := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	if err := gopacket.SerializeLayers(buf, opts, append(all, udp, gopacket.Payload(payload))...); err != nil {
		tb.Fatal(err)
	}
	// gopacket pads to 60 bytes; we leave that to the device.
	return buf.Bytes()[:headerLen(cfg)+len(payload)]
}

// headerLen is the length of the headers by the RFCs.
func headerLen(cfg packet.Config) int {
	n := 14 + 20 + 8
	if cfg.Dst.Addr().Is6() {
		n += 20
	}
	if cfg.Tagged {
		n += 4
	}
	return n
}

// Flows that tests share: one per family, one with a tag each.
func flow4() packet.Config {
	return packet.Config{
		SrcMAC: packet.MAC{0x02, 0, 0x5e, 0, 0x53, 1}, DstMAC: packet.MAC{0x02, 0, 0x5e, 0, 0x53, 2},
		Src: netip.MustParseAddrPort("10.9.0.1:4660"), Dst: netip.MustParseAddrPort("10.9.0.2:5000"),
		TTL: 64,
	}
}

func flow6() packet.Config {
	c := flow4()
	c.Src, c.Dst = netip.MustParseAddrPort("[fd09::1]:4660"), netip.MustParseAddrPort("[fd09::2]:5000")
	return c
}

func tagged(c packet.Config, tci uint16) packet.Config {
	c.Tagged, c.TCI = true, tci
	return c
}

// randomFlow draws every field that a flow can have, DstMAC and TTL never zero.
func randomFlow(r *rand.Rand) packet.Config {
	addr := func(v6 bool, first byte) netip.Addr {
		var b [16]byte
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		b[0] = first
		if v6 {
			return netip.AddrFrom16(b)
		}
		return netip.AddrFrom4([4]byte(b[:4]))
	}
	mac := func() (m packet.MAC) {
		binary.BigEndian.PutUint32(m[2:], r.Uint32()|1)
		m[0] = byte(r.Uint32()) &^ 1
		return m
	}
	v6 := r.IntN(2) == 0
	c := packet.Config{
		SrcMAC: mac(), DstMAC: mac(),
		Src:          netip.AddrPortFrom(addr(v6, 0x20), uint16(r.Uint32())),
		Dst:          netip.AddrPortFrom(addr(v6, 0x30), uint16(1+r.IntN(65535))),
		TTL:          uint8(1 + r.IntN(255)),
		TOS:          uint8(r.Uint32()),
		Fragmentable: r.IntN(4) == 0,
	}
	if r.IntN(2) == 0 {
		c = tagged(c, uint16(r.IntN(8))<<13|uint16(r.IntN(2))<<12|uint16(r.IntN(4095)))
	}
	return c
}

// randomBytes returns n bytes; some calls give all zeros or all ones, where sums
// have their corners.
func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	kind := r.IntN(8)
	for i := range b {
		switch kind {
		case 0:
		case 1:
			b[i] = 0xff
		default:
			b[i] = byte(r.Uint32())
		}
	}
	return b
}

// newRand returns a generator whose seed the log tells.
func newRand(tb testing.TB) *rand.Rand {
	seed := rand.Uint64()
	tb.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// want is the UDP value that Parse must give for a datagram of that flow.
func want(cfg packet.Config, frame []byte) packet.UDP {
	n := headerLen(cfg)
	return packet.UDP{
		SrcMAC: cfg.SrcMAC, DstMAC: cfg.DstMAC, Src: cfg.Src, Dst: cfg.Dst,
		Tagged: cfg.Tagged, TCI: cfg.TCI, TTL: cfg.TTL, TOS: cfg.TOS,
		Checksum: binary.BigEndian.Uint16(frame[n-2:]),
		Offset:   n, Length: len(frame) - n,
	}
}
