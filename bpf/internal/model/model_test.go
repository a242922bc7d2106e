// SPDX-License-Identifier: MIT

package model_test

import (
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/xdpath/xdpath/bpf/internal/frames"
	"github.com/xdpath/xdpath/bpf/internal/model"
)

var target = frames.Target{
	MAC:    [6]byte{0x02, 0, 0, 0, 0, 0xbb},
	IP4:    netip.MustParseAddr("10.9.0.2"),
	IP6:    netip.MustParseAddr("fd09::2"),
	Group4: netip.MustParseAddr("239.129.2.3"),
	Group6: netip.MustParseAddr("ff02::1:3"),
	Port:   5000,
	VLAN:   7,
}

// newModel allows the target, untagged and tagged, and its groups untagged.
func newModel() *model.Model {
	m := &model.Model{MAC: target.MAC, Filters: map[model.Filter]bool{}, Sockets: map[int]bool{0: true}}
	for _, a := range []netip.Addr{target.IP4, target.IP6, target.Group4, target.Group6} {
		m.Filters[model.Filter{Addr: a, Port: target.Port}] = true
	}
	for _, a := range []netip.Addr{target.IP4, target.IP6} {
		m.Filters[model.Filter{Addr: a, Port: target.Port, VLAN: target.VLAN}] = true
	}
	return m
}

// What becomes of each named case, written down by hand. "IPv*" stands for both.
var want = map[model.Reason][]string{
	model.Redirected: {"IPv* plain", "IPv* empty", "IPv* padded", "IPv* UDP length 8", "IPv* UDP length 14", "IPv* UDP length 15",
		"IPv* group", "IPv* tag 0x0", "IPv* tag 0x7", "IPv* tag 0xe000", "IPv* tag 0xf007", "IPv4 header length 5",
		"IPv4 flags 0x8000", "IPv4 flags 0x4000", "IPv4 total length 35", "IPv6 payload length 15"},
	model.NoFilter:  {"IPv* other port", "IPv* group not joined", "IPv* other address", "IPv* tag 0x8", "IPv* tag 0xfff", "IPv6 mapped IPv4"},
	model.OtherMAC:  {"IPv* other MAC", "IPv* group, own MAC", "IPv* group, other group's MAC", "IPv* unicast, group MAC"},
	model.Broadcast: {"IPv* broadcast MAC", "IPv4 limited broadcast"},
	model.NotUDP: {"ARP", "IPv* old double tag", "IPv4 protocol 1", "IPv4 protocol 2", "IPv4 protocol 6", "IPv4 protocol 16",
		"IPv4 protocol 136", "IPv6 next header 6", "IPv6 next header 50", "IPv6 next header 58", "IPv6 next header 59",
		"IPv6 next header 139", "IPv6 next header 140", "IPv6 next header 254"},
	model.Options: {"IPv4 header length 6", "IPv4 header length 7", "IPv4 header length 8", "IPv4 header length 9", "IPv4 header length 10",
		"IPv4 header length 11", "IPv4 header length 12", "IPv4 header length 13", "IPv4 header length 14", "IPv4 header length 15"},
	model.Extension: {"IPv6 next header 0", "IPv6 next header 43", "IPv6 next header 51", "IPv6 next header 60", "IPv6 next header 135",
		"IPv6 long extension"},
	model.Fragment: {"IPv4 flags 0x2000", "IPv4 flags 0x2001", "IPv4 flags 0x1", "IPv4 flags 0x1fff", "IPv4 flags 0x6000", "IPv6 next header 44"},
	model.VLAN:     {"IPv* two tags", "IPv* service tag", "IPv* service and customer tag"},
	model.Malformed: {"IPv* UDP length 0", "IPv* UDP length 7", "IPv* UDP length 16", "IPv* UDP length 65535",
		"IPv4 header length 0", "IPv4 header length 1", "IPv4 header length 2", "IPv4 header length 3", "IPv4 header length 4",
		"IPv4 total length 0", "IPv4 total length 19", "IPv4 total length 20", "IPv4 total length 27", "IPv4 total length 28",
		"IPv4 total length 34", "IPv4 total length 36", "IPv4 total length 65535", "IPv4 total length less, padding",
		"IPv4 version 6", "IPv4 type IPv6", "IPv6 payload length 0", "IPv6 payload length 7", "IPv6 payload length 8",
		"IPv6 payload length 14", "IPv6 payload length 16", "IPv6 payload length 65535", "IPv6 version 4", "IPv6 type IPv4"},
}

func TestCases(t *testing.T) {
	expected := map[string]model.Reason{}
	for reason, names := range want {
		for _, name := range names {
			for _, family := range []string{"IPv4", "IPv6"} {
				expected[strings.Replace(name, "IPv*", family, 1)] = reason
			}
		}
	}
	m := newModel()
	for _, c := range target.Cases() {
		reason, ok := expected[c.Name]
		if !ok {
			t.Errorf("%s: nobody wrote down what becomes of it", c.Name)
			continue
		}
		delete(expected, c.Name)
		if got := m.Decide(c.Frame.Bytes(), 0); got != reason {
			t.Errorf("%s: %v, want %v", c.Name, got, reason)
		}
	}
	for name := range expected {
		t.Errorf("%s: there is no such case", name)
	}
}

// Without a socket on the queue, what would be redirected is not, and nothing else
// changes.
func TestQueues(t *testing.T) {
	m := newModel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		frame := target.Random(r)
		with, without := m.Decide(frame, 0), m.Decide(frame, 1)
		if with == model.Redirected {
			with = model.NoSocket
		}
		if with != without {
			t.Fatalf("%v with a socket, %v without\n%x", with, without, frame)
		}
	}
}

// FuzzDecide holds the decision against gopacket's reading of the same bytes.
func FuzzDecide(f *testing.F) {
	for _, c := range target.Cases() {
		f.Add(c.Frame.Bytes())
	}
	m := newModel()
	f.Fuzz(func(t *testing.T, frame []byte) {
		reason := m.Decide(frame, 0)
		if reason < 0 || reason >= model.Reasons || reason == model.NoSocket {
			t.Fatalf("reason %v", reason)
		}
		if longer := append(frame[:len(frame):len(frame)], 0xaa, 0xbb); reason == model.Redirected && m.Decide(longer, 0) != reason {
			t.Errorf("padding changes the decision to %v", m.Decide(longer, 0))
		}
		if reason == model.Redirected {
			checkTaken(t, frame)
		}
	})
}

// checkTaken: what is redirected is a datagram for the target to gopacket too.
func checkTaken(t *testing.T, frame []byte) {
	t.Helper()
	packet := gopacket.NewPacket(frame, layers.LayerTypeEthernet, gopacket.Default)
	u, ok := packet.Layer(layers.LayerTypeUDP).(*layers.UDP)
	if !ok {
		t.Fatalf("no UDP: %v", packet)
	}
	var dst netip.Addr
	if ip, ok := packet.NetworkLayer().(*layers.IPv4); ok {
		dst, _ = netip.AddrFromSlice(ip.DstIP.To4())
		if len(ip.Options) != 0 || ip.FragOffset != 0 || ip.Flags&layers.IPv4MoreFragments != 0 {
			t.Errorf("options or a fragment: %v", ip)
		}
	}
	if ip, ok := packet.NetworkLayer().(*layers.IPv6); ok {
		dst, _ = netip.AddrFromSlice(ip.DstIP)
	}
	if dst != target.IP4 && dst != target.IP6 && dst != target.Group4 && dst != target.Group6 || uint16(u.DstPort) != target.Port {
		t.Errorf("for %v, port %d", dst, u.DstPort)
	}
	if len(u.Payload) != int(u.Length)-8 && !packet.Metadata().Truncated {
		t.Errorf("payload of %d bytes, UDP length %d", len(u.Payload), u.Length)
	}
}
