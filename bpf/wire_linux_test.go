// SPDX-License-Identifier: MIT

package bpf

import (
	"net"
	"net/netip"
	"testing"

	"github.com/xdpath/xdpath/bpf/internal/frames"
	"github.com/xdpath/xdpath/internal/testnet"
)

// mineOn is the target with the addresses of end B, and a raw socket to send it
// frames from end A.
func mineOn(t *testing.T, pair *testnet.Pair) (frames.Target, *testnet.Raw) {
	t.Helper()
	mine := target
	mine.MAC = [6]byte(pair.B.MAC)
	raw, err := testnet.OpenRaw(pair.A)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = raw.Close() })
	return mine, raw
}

// fragmented cuts a datagram into two IPv4 fragments.
func fragmented(f frames.Frame) [][]byte {
	const cut = 8 // bytes of payload in the first, which with the UDP header makes 16
	return [][]byte{
		f.With(func(f *frames.Frame) {
			f.IP4.Fragment, f.UDP.Length, f.Payload = 0x2000, 8+len(f.Payload), f.Payload[:cut]
		}).Bytes(),
		f.With(func(f *frames.Frame) {
			f.IP4.Fragment, f.UDP, f.Payload = (8+cut)/8, nil, f.Payload[cut:]
		}).Bytes(),
	}
}

// passed lists what a program with filters for the target's own addresses leaves to
// the kernel, although it is UDP for the host.
func passed(mine frames.Target) []struct {
	name   string
	group  bool // for the socket of the group, not for the other
	frames [][]byte
} {
	four, six := mine.UDP4([]byte("payload of 20 bytes.")), mine.UDP6([]byte("payload"))
	everyone := [6]byte{255, 255, 255, 255, 255, 255}
	one := func(base frames.Frame, change func(f *frames.Frame)) [][]byte {
		return [][]byte{base.With(change).Bytes()}
	}
	return []struct {
		name   string
		group  bool
		frames [][]byte
	}{
		{"fragments", false, fragmented(four)},
		{"options", false, one(four, func(f *frames.Frame) { f.IP4.IHL, f.IP4.Options = 6, []byte{1, 1, 1, 0} })},
		{"limited broadcast", false, one(four, func(f *frames.Frame) {
			f.Dst, f.IP4.Dst = everyone, netip.MustParseAddr("255.255.255.255")
		})},
		{"subnet broadcast", false, one(four, func(f *frames.Frame) { f.Dst, f.IP4.Dst = everyone, netip.MustParseAddr("10.9.0.255") })},
		{"group of the kernel", true, one(four, func(f *frames.Frame) {
			f.Dst, f.IP4.Dst, f.UDP.Dst = frames.GroupMAC(mine.Group4), mine.Group4, mine.Port+1
		})},
		{"extension header", false, one(six, func(f *frames.Frame) {
			f.IP6.Next, f.IP6.Extensions = 60, []byte{17, 0, 1, 4, 0, 0, 0, 0}
		})},
	}
}

// What the program does not take, the kernel delivers: fragments whole again,
// options and extension headers, broadcast, multicast (cases 57, 60, 73).
func TestPassedIsDelivered(t *testing.T) {
	for _, mode := range []Mode{Native, Generic} {
		t.Run(mode.String(), func(t *testing.T) {
			pair, p := attachTo(t, Config{Mode: mode}, testnet.Config{IPv6: true}, 1)
			mine, raw := mineOn(t, pair)
			for _, ip := range []netip.Addr{pair.B.IP4, pair.B.IP6} {
				if err := p.Allow(Filter{Addr: netip.AddrPortFrom(ip, mine.Port)}); err != nil {
					t.Fatal(err)
				}
			}
			kernel := listen(t, &pair.B, netip.AddrPortFrom(netip.IPv6Unspecified(), mine.Port))
			group := joinGroup(t, &pair.B, netip.AddrPortFrom(mine.Group4, mine.Port+1))
			for _, c := range passed(mine) {
				to := kernel
				if c.group {
					to = group
				}
				before := to.got.Load()
				sendAll(t, raw, c.frames)
				eventually(t, c.name, func() bool { return to.got.Load() == before+1 })
			}
			c := counters(t, p) // the kernel's own multicast reports come with extension headers
			if c.Redirected != 0 || c.Fragment != 2 || c.Options != 1 || c.Broadcast != 2 || c.Extension < 1 {
				t.Errorf("counters %+v", c)
			}
		})
	}
}

func sendAll(t *testing.T, raw *testnet.Raw, list [][]byte) {
	t.Helper()
	for _, frame := range list {
		if err := raw.Send(frame); err != nil {
			t.Fatal(err)
		}
	}
}

func joinGroup(t *testing.T, end *testnet.End, at netip.AddrPort) *receiver {
	t.Helper()
	r := &receiver{done: make(chan struct{})}
	err := end.NS.Do(func() (err error) {
		r.UDPConn, err = net.ListenMulticastUDP("udp4", &net.Interface{Index: end.Index, Name: end.Name}, net.UDPAddrFromAddrPort(at))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	r.run(t)
	return r
}

// Case 61: tags as they come over the wire, in both modes: each filter takes its
// own, and an allowed group is taken under the group's MAC address.
func TestTagsOnTheWire(t *testing.T) {
	for _, mode := range []Mode{Native, Generic} {
		t.Run(mode.String(), func(t *testing.T) {
			pair, p := attachTo(t, Config{Mode: mode}, testnet.Config{}, 1)
			mine, raw := mineOn(t, pair)
			at := netip.AddrPortFrom(mine.IP4, mine.Port)
			tagged := func(tags ...frames.Tag) []byte {
				return mine.UDP4(make([]byte, 64)).With(func(f *frames.Frame) { f.Tags = tags }).Bytes()
			}
			plain, zero, seven := tagged(), tagged(frames.Tag{Type: 0x8100, TCI: 0xa000}), tagged(frames.Tag{Type: 0x8100, TCI: 7})
			double := tagged(frames.Tag{Type: 0x88a8, TCI: 7}, frames.Tag{Type: 0x8100, TCI: 7})
			group := mine.UDP4(make([]byte, 64)).With(func(f *frames.Frame) {
				f.Dst, f.IP4.Dst = frames.GroupMAC(mine.Group4), mine.Group4
			}).Bytes()
			var want Counters
			for _, step := range []struct {
				name                 string
				filters              []Filter
				frames               [][]byte
				redirect, none, vlan uint64
			}{
				{"untagged", []Filter{{Addr: at}}, [][]byte{plain, zero, seven, double}, 2, 1, 1},
				{"tagged", []Filter{{Addr: at, VLAN: 7}}, [][]byte{plain, zero, seven, double}, 1, 2, 1},
				{"both", []Filter{{Addr: at}, {Addr: at, VLAN: 7}}, [][]byte{plain, zero, seven, double}, 3, 0, 1},
				{"any address", []Filter{{Addr: netip.AddrPortFrom(netip.Addr{}, mine.Port)}}, [][]byte{plain, seven, group}, 1, 2, 0},
				{"group", []Filter{{Addr: netip.AddrPortFrom(mine.Group4, mine.Port)}}, [][]byte{plain, group}, 1, 1, 0},
			} {
				forEach(t, step.filters, p.Allow)
				sendAll(t, raw, step.frames)
				want.Redirected += step.redirect
				want.NoFilter += step.none
				want.VLAN += step.vlan
				eventually(t, step.name, func() bool {
					c := counters(t, p)
					return c.Redirected == want.Redirected && c.NoFilter == want.NoFilter && c.VLAN == want.VLAN
				})
				forEach(t, step.filters, p.Deny)
			}
		})
	}
}

func forEach(t *testing.T, list []Filter, do func(Filter) error) {
	t.Helper()
	for _, f := range list {
		if err := do(f); err != nil {
			t.Fatal(err)
		}
	}
}
