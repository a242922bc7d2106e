// SPDX-License-Identifier: MIT

package lane

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// golden reads the bytes that C would put in memory on a machine of this byte order
// and word size. They were not made by this package.
func golden(t *testing.T) map[string][]byte {
	t.Helper()
	order := "le"
	if binary.NativeEndian.Uint16([]byte{0, 1}) == 1 {
		order = "be"
	}
	name := fmt.Sprintf("testdata/%s%d.hex", order, strconv.IntSize)
	socketLevel := unix.SOL_SOCKET
	if (socketLevel != 1) != (name == "testdata/be32.hex") {
		t.Skipf("%s is for another SOL_SOCKET than %#x", name, socketLevel)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := make(map[string][]byte)
	for line := range strings.Lines(string(text)) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			continue
		}
		if lines[key], err = hex.DecodeString(value); err != nil {
			t.Fatalf("%s: %s: %v", name, key, err)
		}
	}
	return lines
}

// Case 111: what is sent to the kernel has the layout of this machine.
func TestGoldenSend(t *testing.T) {
	want := golden(t)
	ip4, ip6 := netip.MustParseAddr("10.9.0.2"), netip.MustParseAddr("fd09::2")
	for _, c := range []struct {
		name string
		add  func(ctl []byte) []byte
	}{
		{"send source4", func(ctl []byte) []byte { return addSource(ctl, true, ip4, 7) }},
		{"send source6", func(ctl []byte) []byte { return addSource(ctl, false, ip6, 7) }},
		{"send fields4", func(ctl []byte) []byte { return addHeaderFields(ctl, true, 0x2e, 64) }},
		{"send fields6", func(ctl []byte) []byte { return addHeaderFields(ctl, false, 0x2e, 64) }},
		{"send segment", func(ctl []byte) []byte { return addSegment(ctl, 1400) }},
	} {
		// What was in the room before must not show.
		room := bytes.Repeat([]byte{0xee}, sendRoom())
		if got := c.add(room[:0]); !bytes.Equal(got, want[c.name]) {
			t.Errorf("%s:\n got %x\nwant %x", c.name, got, want[c.name])
		}
	}
}

func TestGoldenReceive(t *testing.T) {
	lines := golden(t)
	at := time.Unix(1700000000, 123456789)
	for name, want := range map[string]meta{
		"receive ip4":     {dst: netip.MustParseAddr("239.1.2.3"), ifindex: 3, ttl: 1, tos: 0xb8},
		"receive ip6":     {dst: netip.MustParseAddr("fd09::2"), ifindex: 3, ttl: 64, tos: 0x2e},
		"receive mapped":  {dst: netip.MustParseAddr("10.9.0.2"), ifindex: 3, ttl: 63, tos: 3},
		"receive socket":  {drops: 17, segment: 1400},
		"receive time":    {received: at},
		"receive oldtime": {received: at},
	} {
		ctl, ok := lines[name]
		if !ok {
			t.Errorf("%s: no such golden line", name)
		}
		if got := parseControl(ctl); got != want {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, want)
		}
	}
}

func TestGoldenAddr(t *testing.T) {
	want := golden(t)
	for _, c := range []struct {
		name  string
		addr  string
		ip6   bool
		scope uint32
	}{
		{"addr ip4", "10.9.0.1:4660", false, 0},
		{"addr ip6", "[fe80::1]:13330", true, 5},
		{"addr mapped", "10.9.0.1:4660", true, 0},
	} {
		addr := netip.MustParseAddrPort(c.addr)
		name := bytes.Repeat([]byte{0xee}, nameRoom)
		name = name[:putAddr(name, c.ip6, addr, c.scope)]
		if !bytes.Equal(name, want[c.name]) {
			t.Errorf("%s:\n got %x\nwant %x", c.name, name, want[c.name])
		}
		if got, scope := parseAddr(name); got != addr || scope != c.scope {
			t.Errorf("%s: parsed to %v, scope %d", c.name, got, scope)
		}
	}
}

// All that can be said about a datagram has room.
func TestControlRoom(t *testing.T) {
	src := netip.MustParseAddr("fd09::2")
	for _, ip4 := range []bool{false, true} {
		room := make([]byte, sendRoom())
		ctl := addSource(room[:0], ip4, src, 1)
		ctl = addHeaderFields(ctl, ip4, 1, 1)
		ctl = addSegment(ctl, 1)
		if &ctl[0] != &room[0] || len(ctl) > len(room) {
			t.Errorf("IPv4 %t: %d bytes of %d", ip4, len(ctl), len(room))
		}
	}
}

func TestParseAddrRefuses(t *testing.T) {
	long := make([]byte, unix.SizeofSockaddrInet6)
	binary.NativeEndian.PutUint16(long, unix.AF_INET6)
	short := make([]byte, 8)
	binary.NativeEndian.PutUint16(short, unix.AF_INET)
	for _, name := range [][]byte{nil, {2}, long[:27], short[:7], make([]byte, 28)} {
		if got, scope := parseAddr(name); got.IsValid() || scope != 0 {
			t.Errorf("% x: %v, scope %d", name, got, scope)
		}
	}
}
