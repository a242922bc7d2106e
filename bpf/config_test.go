// SPDX-License-Identifier: MIT

package bpf

import (
	"net/netip"
	"strings"
	"testing"
)

func TestConfigValidate(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  Config
		want string // part of the error, or empty
	}{
		{"by name", Config{Interface: "eth0"}, ""},
		{"by index", Config{Ifindex: 3, Mode: Generic, Queues: maxQueues}, ""},
		{"nothing", Config{}, "Ifindex or Interface"},
		{"longest name", Config{Interface: "abcdefghijklmno"}, ""},
		{"too long a name", Config{Interface: "abcdefghijklmnop"}, "longer than 15"},
		{"mode", Config{Interface: "eth0", Mode: -1}, "Mode -1"},
		{"metadata", Config{Interface: "eth0", Metadata: MetadataRequire}, ""},
		{"metadata policy", Config{Interface: "eth0", Metadata: 3}, "Metadata 3"},
		{"generic metadata", Config{Interface: "eth0", Mode: Generic, Metadata: MetadataRequire}, "Metadata require"},
		{"queues", Config{Interface: "eth0", Queues: maxQueues + 1}, "Queues 65537"},
		{"two at once", Config{Ifindex: -1, Queues: -1}, "Ifindex -1 is negative\nbpf: config: Queues -1"},
	} {
		err := c.cfg.withDefaults().validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestModeString(t *testing.T) {
	for mode, want := range map[Mode]string{Best: "best", Native: "native", Generic: "generic", 9: "mode 9"} {
		if got := mode.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestFilterValidate(t *testing.T) {
	at := netip.MustParseAddrPort
	for _, c := range []struct {
		filter Filter
		want   string
	}{
		{Filter{Addr: at("10.9.0.2:5000")}, ""},
		{Filter{Addr: at("[ff02::1]:5000"), VLAN: 4094}, ""},
		{Filter{Addr: netip.AddrPortFrom(netip.Addr{}, 1)}, ""},
		{Filter{}, "port 0"},
		{Filter{Addr: at("10.9.0.2:0")}, "port 0"},
		{Filter{Addr: at("10.9.0.2:5000"), VLAN: 4095}, "above 4094"},
		{Filter{Addr: at("255.255.255.255:5000")}, "broadcast"},
		{Filter{Addr: at("[::ffff:255.255.255.255]:5000")}, "broadcast"},
	} {
		err := c.filter.validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.filter, err, c.want)
		}
	}
}

// The bytes of the key, which are the same on every machine.
func TestFilterKeys(t *testing.T) {
	at := netip.MustParseAddrPort
	const zero4 = "\x00\x00\x00\x00"
	for _, c := range []struct {
		filter Filter
		want   []string
	}{
		{Filter{Addr: at("10.9.0.2:4660"), VLAN: 258},
			[]string{"\x0a\x09\x00\x02" + zero4 + zero4 + zero4 + "\x12\x34\x01\x02\x04\x00\x00\x00"}},
		{Filter{Addr: at("[::ffff:10.9.0.2]:4660")},
			[]string{"\x0a\x09\x00\x02" + zero4 + zero4 + zero4 + "\x12\x34\x00\x00\x04\x00\x00\x00"}},
		{Filter{Addr: at("[fe80::1%eth0]:80")},
			[]string{"\xfe\x80\x00\x00" + zero4 + zero4 + "\x00\x00\x00\x01" + "\x00\x50\x00\x00\x06\x00\x00\x00"}},
		{Filter{Addr: at("0.0.0.0:80")}, []string{zero4 + zero4 + zero4 + zero4 + "\x00\x50\x00\x00\x04\x00\x00\x00"}},
		{Filter{Addr: netip.AddrPortFrom(netip.Addr{}, 80)},
			[]string{zero4 + zero4 + zero4 + zero4 + "\x00\x50\x00\x00\x04\x00\x00\x00",
				zero4 + zero4 + zero4 + zero4 + "\x00\x50\x00\x00\x06\x00\x00\x00"}},
	} {
		keys := c.filter.keys()
		if len(keys) != len(c.want) {
			t.Errorf("%s: %d keys, want %d", c.filter, len(keys), len(c.want))
			continue
		}
		for i, key := range keys {
			if string(key[:]) != c.want[i] {
				t.Errorf("%s: key %x, want %x", c.filter, key, c.want[i])
			}
		}
	}
}

// Passed is everything but Redirected, and fields lists each counter once.
func TestCounters(t *testing.T) {
	var c Counters
	for i, n := range c.fields() {
		*n = 1 << i
	}
	if c.Redirected != 1 || c.Passed() != 1<<12-2 {
		t.Errorf("%+v, passed %d", c, c.Passed())
	}
}
