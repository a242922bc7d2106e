// SPDX-License-Identifier: MIT

package frames

import (
	"math/rand/v2"
	"net/netip"
)

// Random makes a frame: mostly right, with one or a few fields off, now and then
// cut, padded, scrambled, or without any sense at all.
func (t Target) Random(r *rand.Rand) []byte {
	if r.IntN(50) == 0 {
		return noise(r, 14+r.IntN(120))
	}
	f := t.random4(r)
	if r.IntN(2) == 0 {
		f = t.random6(r)
	}
	f.Dst = t.mac(r, f)
	f.Tags = t.randomTags(r)
	if r.IntN(20) == 0 {
		f.Type = pick(r, uint16(0x0800), 0x86dd, 0x0806, 0x8100, 0x88a8, uint16(r.Uint32()))
	}
	f.Padding = pick(r, 0, 0, 0, 4, 18, r.IntN(64))
	return mutate(r, f.Bytes())
}

func noise(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// seldom gives the right value nine times of ten.
func seldom[T any](r *rand.Rand, right T, from ...T) T {
	if r.IntN(10) > 0 {
		return right
	}
	return pick(r, from...)
}

func payload(r *rand.Rand) []byte {
	if r.IntN(20) == 0 {
		return noise(r, r.IntN(1472))
	}
	return noise(r, r.IntN(48))
}

func (t Target) port(r *rand.Rand) uint16 {
	return seldom(r, t.Port, 0, t.Port+1, t.Port<<8|t.Port>>8, uint16(r.Uint32()))
}

func (t Target) random4(r *rand.Rand) Frame {
	f := t.UDP4(payload(r))
	size := 28 + len(f.Payload)
	f.IP4.Version = seldom(r, byte(4), 0, 5, 6, byte(r.IntN(16)))
	f.IP4.IHL = seldom(r, byte(5), 0, 4, 6, 15, byte(r.IntN(16)))
	if f.IP4.IHL > 5 && r.IntN(4) > 0 {
		f.IP4.Options = noise(r, int(f.IP4.IHL-5)*4)
	}
	f.IP4.Protocol = seldom(r, byte(17), 1, 6, 136, byte(r.IntN(256)))
	f.IP4.Length = seldom(r, -1, 0, 19, 20, 27, 28, size-1, size+1, r.IntN(65536))
	f.IP4.Fragment = seldom(r, uint16(0x4000), 0, 0x8000, 0x2000, 0x1fff, 1, uint16(r.Uint32()))
	f.IP4.Dst = seldom(r, t.IP4, t.IP4.Next(), t.Group4, t.Group4.Next(), netip.IPv4Unspecified(),
		netip.AddrFrom4([4]byte{255, 255, 255, 255}), netip.AddrFrom4([4]byte(noise(r, 4))))
	f.UDP.Dst = t.port(r)
	f.UDP.Length = seldom(r, -1, 0, 7, 8, 8+len(f.Payload)/2, 7+len(f.Payload), 9+len(f.Payload), r.IntN(65536))
	return f
}

func (t Target) random6(r *rand.Rand) Frame {
	f := t.UDP6(payload(r))
	size := 8 + len(f.Payload)
	f.IP6.Version = seldom(r, byte(6), 0, 4, 7, byte(r.IntN(16)))
	f.IP6.Next = seldom(r, byte(17), 0, 43, 44, 51, 58, 59, 60, 135, byte(r.IntN(256)))
	if f.IP6.Next != 17 && r.IntN(4) > 0 {
		f.IP6.Extensions = append([]byte{17, 0}, noise(r, 6)...)
	}
	f.IP6.Length = seldom(r, -1, 0, 7, 8, size-1, size+1, r.IntN(65536))
	f.IP6.Dst = seldom(r, t.IP6, t.IP6.Next(), t.Group6, t.Group6.Next(), netip.IPv6Unspecified(),
		netip.AddrFrom16(t.IP4.As16()), netip.AddrFrom16([16]byte(noise(r, 16))))
	f.UDP.Dst = t.port(r)
	f.UDP.Length = seldom(r, -1, 0, 7, 8, size/2, size-1, size+1, r.IntN(65536))
	return f
}

// mac: the one that fits the destination, or another.
func (t Target) mac(r *rand.Rand, f Frame) [6]byte {
	right := t.MAC
	switch {
	case f.IP4 != nil && f.IP4.Dst.IsMulticast():
		right = GroupMAC(f.IP4.Dst)
	case f.IP6 != nil && f.IP6.Dst.IsMulticast():
		right = GroupMAC(f.IP6.Dst)
	}
	near := right
	near[r.IntN(6)] ^= 1 << r.IntN(8)
	return seldom(r, right, near, t.MAC, GroupMAC(t.Group4), GroupMAC(t.Group6),
		[6]byte{255, 255, 255, 255, 255, 255}, [6]byte(noise(r, 6)))
}

func (t Target) randomTags(r *rand.Rand) []Tag {
	tag := func() Tag {
		tci := pick(r, 0, t.VLAN, t.VLAN+1, 4095, uint16(r.Uint32())) | pick(r, uint16(0), uint16(r.IntN(16))<<12)
		return Tag{seldom(r, uint16(0x8100), 0x88a8, 0x9100), tci}
	}
	switch r.IntN(8) {
	case 0, 1:
		return []Tag{tag()}
	case 2:
		return []Tag{tag(), tag()}
	}
	return nil
}

// mutate cuts the frame or changes some bits, mostly in the headers. Never below
// an Ethernet header: the kernel takes no shorter frame.
func mutate(r *rand.Rand, b []byte) []byte {
	switch r.IntN(8) {
	case 0:
		return b[:14+r.IntN(len(b)-13)]
	case 1:
		for range 1 + r.IntN(3) {
			b[r.IntN(min(len(b), 70))] ^= 1 << r.IntN(8)
		}
	}
	return b
}
