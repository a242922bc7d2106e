// SPDX-License-Identifier: MIT

package frames

import (
	"fmt"
	"net/netip"
)

// Case is a frame with a name.
type Case struct {
	Name  string
	Frame Frame
}

// Cases lists each thing the program decides on, once right and once wrong. They
// are test cases of their own and the ground for mutations.
func (t Target) Cases() []Case {
	var list []Case
	add := func(name string, base Frame, change func(f *Frame)) {
		list = append(list, Case{name, base.With(change)})
	}
	for _, family := range []int{4, 6} {
		base := t.UDP4([]byte("payload"))
		if family == 6 {
			base = t.UDP6([]byte("payload"))
		}
		name := func(s string, args ...any) string { return fmt.Sprintf("IPv%d ", family) + fmt.Sprintf(s, args...) }
		add(name("plain"), base, func(*Frame) {})
		add(name("empty"), base, func(f *Frame) { f.Payload = nil })
		add(name("padded"), base, func(f *Frame) { f.Payload, f.Padding = []byte{0x41}, 17 })
		for _, n := range []int{0, 7, 8, 14, 15, 16, 65535} {
			add(name("UDP length %d", n), base, func(f *Frame) { f.UDP.Length = n })
		}
		add(name("other port"), base, func(f *Frame) { f.UDP.Dst++ })
		t.addresses(name, base, add)
		t.tags(name, base, add)
	}
	t.ipv4(add)
	t.ipv6(add)
	add("ARP", t.UDP4(make([]byte, 20)), func(f *Frame) { f.Type, f.IP4, f.UDP = 0x0806, nil, nil })
	return list
}

type adder func(name string, base Frame, change func(f *Frame))

// addresses: MAC addresses right and wrong, and groups under right and wrong ones.
func (t Target) addresses(name func(string, ...any) string, base Frame, add adder) {
	group := t.Group4
	set := func(f *Frame, a netip.Addr) { f.IP4.Dst = a }
	if base.IP6 != nil {
		group = t.Group6
		set = func(f *Frame, a netip.Addr) { f.IP6.Dst = a }
	}
	add(name("other MAC"), base, func(f *Frame) { f.Dst[5] ^= 1 })
	add(name("broadcast MAC"), base, func(f *Frame) { f.Dst = [6]byte{255, 255, 255, 255, 255, 255} })
	add(name("group"), base, func(f *Frame) { set(f, group); f.Dst = GroupMAC(group) })
	add(name("group, own MAC"), base, func(f *Frame) { set(f, group) })
	add(name("group, other group's MAC"), base, func(f *Frame) { set(f, group); f.Dst = GroupMAC(group.Next()) })
	add(name("group not joined"), base, func(f *Frame) { set(f, group.Next()); f.Dst = GroupMAC(group.Next()) })
	add(name("unicast, group MAC"), base, func(f *Frame) { f.Dst = GroupMAC(group) })
	add(name("other address"), base, func(f *Frame) {
		if f.IP4 != nil {
			f.IP4.Dst = t.IP4.Next()
		} else {
			f.IP6.Dst = t.IP6.Next()
		}
	})
}

// tags: none to two, with and without priority, of all kinds.
func (t Target) tags(name func(string, ...any) string, base Frame, add adder) {
	for _, tci := range []uint16{0, t.VLAN, t.VLAN + 1, 0xe000, 0xf000 | t.VLAN, 4095} {
		add(name("tag %#x", tci), base, func(f *Frame) { f.Tags = []Tag{{0x8100, tci}} })
	}
	add(name("two tags"), base, func(f *Frame) { f.Tags = []Tag{{0x8100, t.VLAN}, {0x8100, 1}} })
	add(name("service tag"), base, func(f *Frame) { f.Tags = []Tag{{0x88a8, t.VLAN}} })
	add(name("service and customer tag"), base, func(f *Frame) { f.Tags = []Tag{{0x88a8, 100}, {0x8100, t.VLAN}} })
	add(name("old double tag"), base, func(f *Frame) { f.Tags = []Tag{{0x9100, 100}, {0x8100, t.VLAN}} })
}

// ipv4: all header lengths, fragments, versions, total lengths, protocols, and
// options that shift the port.
func (t Target) ipv4(add adder) {
	base := t.UDP4([]byte("payload"))
	for ihl := range byte(16) {
		add(fmt.Sprintf("IPv4 header length %d", ihl), base, func(f *Frame) {
			f.IP4.IHL = ihl
			if ihl > 5 {
				f.IP4.Options = make([]byte, 4*(ihl-5))
				for i := range f.IP4.Options {
					f.IP4.Options[i] = 1 // no-operation
				}
				// The bytes where the port of a plain header would be.
				f.IP4.Options[2], f.IP4.Options[3] = byte(t.Port>>8), byte(t.Port)
			}
		})
	}
	for _, flags := range []uint16{0x8000, 0x4000, 0x2000, 0x2001, 1, 0x1fff, 0x6000} {
		add(fmt.Sprintf("IPv4 flags %#x", flags), base, func(f *Frame) { f.IP4.Fragment = flags })
	}
	for _, n := range []int{0, 19, 20, 27, 28, 34, 35, 36, 65535} {
		add(fmt.Sprintf("IPv4 total length %d", n), base, func(f *Frame) { f.IP4.Length = n })
	}
	add("IPv4 total length less, padding", base, func(f *Frame) { f.IP4.Length, f.Padding = 30, 30 })
	for _, p := range []byte{1, 2, 6, 16, 136} {
		add(fmt.Sprintf("IPv4 protocol %d", p), base, func(f *Frame) { f.IP4.Protocol = p })
	}
	add("IPv4 version 6", base, func(f *Frame) { f.IP4.Version = 6 })
	add("IPv4 limited broadcast", base, func(f *Frame) { f.IP4.Dst = netip.MustParseAddr("255.255.255.255") })
	add("IPv4 type IPv6", base, func(f *Frame) { f.Type = 0x86dd })
}

// ipv6: extension headers of all kinds, lengths, versions.
func (t Target) ipv6(add adder) {
	base := t.UDP6([]byte("payload"))
	for _, next := range []byte{0, 43, 51, 60, 135, 44, 6, 50, 58, 59, 139, 140, 254} {
		add(fmt.Sprintf("IPv6 next header %d", next), base, func(f *Frame) {
			f.IP6.Next = next
			f.IP6.Extensions = []byte{17, 0, 1, 4, 0, 0, 0, 0}
		})
	}
	add("IPv6 long extension", base, func(f *Frame) {
		f.IP6.Next, f.IP6.Extensions = 60, append([]byte{17, 7}, make([]byte, 62)...)
	})
	for _, n := range []int{0, 7, 8, 14, 15, 16, 65535} {
		add(fmt.Sprintf("IPv6 payload length %d", n), base, func(f *Frame) { f.IP6.Length = n })
	}
	add("IPv6 version 4", base, func(f *Frame) { f.IP6.Version = 4 })
	add("IPv6 type IPv4", base, func(f *Frame) { f.Type = 0x0800 })
	add("IPv6 mapped IPv4", base, func(f *Frame) { f.IP6.Dst = netip.AddrFrom16(t.IP4.As16()) })
}

// With gives a changed copy; f stays as it is.
func (f Frame) With(change func(f *Frame)) Frame {
	if f.IP4 != nil {
		ip := *f.IP4
		f.IP4 = &ip
	}
	if f.IP6 != nil {
		ip := *f.IP6
		f.IP6 = &ip
	}
	if f.UDP != nil {
		u := *f.UDP
		f.UDP = &u
	}
	change(&f)
	return f
}
