// SPDX-License-Identifier: MIT

package packet_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/xdpath/xdpath/internal/packet"
)

func mustTemplate(t testing.TB, cfg packet.Config) packet.Template {
	t.Helper()
	tmpl, err := packet.NewTemplate(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return tmpl
}

// put makes a whole frame with Put.
func put(t testing.TB, cfg packet.Config, payload []byte) []byte {
	t.Helper()
	tmpl := mustTemplate(t, cfg)
	frame := make([]byte, tmpl.Len()+len(payload))
	copy(frame[tmpl.Len():], payload)
	if n := tmpl.Put(frame, payload); n != tmpl.Len() {
		t.Fatalf("Put returned %d, want %d", n, tmpl.Len())
	}
	return frame
}

// What a template writes is, byte for byte, what gopacket writes.
func TestTemplateRandomFlows(t *testing.T) {
	r := newRand(t)
	for range 5000 {
		cfg := randomFlow(r)
		payload := randomBytes(r, r.IntN(300))
		want := oracleFrame(t, cfg, payload)
		got := put(t, cfg, payload)
		if !bytes.Equal(got, want) {
			t.Fatalf("%+v:\ngot  % x\nwant % x", cfg, got, want)
		}
		tmpl := mustTemplate(t, cfg)
		i := r.IntN(len(payload) + 1)
		j := i + r.IntN(len(payload)-i+1)
		header := make([]byte, packet.MaxHeaderLen)
		n := tmpl.PutSegments(header, [][]byte{payload[:i], payload[i:j], nil, payload[j:]})
		if !bytes.Equal(header[:n], want[:tmpl.Len()]) {
			t.Fatalf("%+v, payload cut at %d and %d:\ngot  % x\nwant % x", cfg, i, j, header[:n], want[:n])
		}
	}
}

// In the other modes all but the checksum field is the same, and Put, PutLen
// and PutSegments agree.
func TestTemplateOtherModes(t *testing.T) {
	r := newRand(t)
	for range 2000 {
		cfg := randomFlow(r)
		payload := randomBytes(r, r.IntN(300))
		want := oracleFrame(t, cfg, payload)
		field := headerLen(cfg) - 2
		for _, mode := range []packet.Checksum{packet.Omit, packet.Offload} {
			cfg.Checksum = mode
			if mode == packet.Omit {
				if cfg.Dst.Addr().Is6() {
					continue
				}
				binary.BigEndian.PutUint16(want[field:], 0)
			} else {
				u, _ := packet.Parse(want)
				binary.BigEndian.PutUint16(want[field:], pseudoSum(u))
			}
			got := put(t, cfg, payload)
			if !bytes.Equal(got, want) {
				t.Fatalf("%+v:\ngot  % x\nwant % x", cfg, got, want)
			}
			tmpl := mustTemplate(t, cfg)
			for _, n := range []int{tmpl.PutLen(got, len(payload)), tmpl.PutSegments(got, [][]byte{payload})} {
				if n != tmpl.Len() || !bytes.Equal(got, want) {
					t.Fatalf("%+v: returned %d\ngot  % x\nwant % x", cfg, n, got, want)
				}
			}
		}
	}
}

// Complete makes of a checksum that was left to a device what software makes.
func TestTemplateComplete(t *testing.T) {
	r := newRand(t)
	for range 2000 {
		cfg := randomFlow(r)
		payload := randomBytes(r, r.IntN(300))
		want := put(t, cfg, payload)
		cfg.Checksum = packet.Offload
		tmpl := mustTemplate(t, cfg)
		got := put(t, cfg, payload)
		i := r.IntN(len(payload) + 1)
		j := i + r.IntN(len(payload)-i+1)
		tmpl.Complete(got, [][]byte{payload[:i], payload[i:j], payload[j:]})
		if !bytes.Equal(got, want) {
			t.Fatalf("%+v, cut at %d and %d:\ngot  % x\nwant % x", cfg, i, j, got, want)
		}
		clean := bytes.Clone(want)
		software := mustTemplate(t, flow4())
		software.Complete(want, [][]byte{payload}) // nothing was left to a device
		tmpl.Complete(want[:10], nil)
		if !bytes.Equal(want, clean) {
			t.Fatal("bytes were written")
		}
	}
}

// What does not fit is refused and leaves the bytes alone.
func TestTemplateRefuses(t *testing.T) {
	header := bytes.Repeat([]byte{0x5a}, packet.MaxHeaderLen)
	clean := bytes.Clone(header)
	big := make([]byte, 65528)
	for _, cfg := range []packet.Config{flow4(), flow6()} {
		for _, mode := range []packet.Checksum{packet.Software, packet.Offload} {
			cfg.Checksum = mode
			tmpl := mustTemplate(t, cfg)
			over := tmpl.MaxPayload() + 1
			got := []int{
				tmpl.Put(header[:tmpl.Len()-1], nil),
				tmpl.Put(nil, nil),
				tmpl.Put(header, big[:over]),
				tmpl.PutSegments(header, [][]byte{big[:over-1], big[:1]}),
				tmpl.PutLen(header, over),
				tmpl.PutLen(header, -1),
				new(packet.Template).Put(header, nil),
			}
			if mode == packet.Software {
				got = append(got, tmpl.PutLen(header, 1))
			}
			tmpl.SetID(header[:10], 1)
			tmpl.SetTOS(header[:10], 1)
			new(packet.Template).SetID(header, 1)
			new(packet.Template).SetTOS(header, 1)
			for i, n := range got {
				if n != 0 {
					t.Errorf("%v %v, call %d: returned %d", cfg.Dst, mode, i, n)
				}
			}
			if !bytes.Equal(header, clean) {
				t.Errorf("%v %v: header written: % x", cfg.Dst, mode, header)
			}
			if n := tmpl.PutSegments(make([]byte, 100), [][]byte{big[:over-1]}); mode != packet.Software && n != tmpl.Len() {
				t.Errorf("%v %v: largest payload refused", cfg.Dst, mode)
			}
		}
	}
}

func TestTemplateConfigErrors(t *testing.T) {
	change := func(f func(c *packet.Config)) packet.Config {
		c := flow4()
		f(&c)
		return c
	}
	tests := []struct {
		cfg  packet.Config
		want []string // parts of the error, in this order
	}{
		{packet.Config{}, []string{"SrcMAC 00:00", "DstMAC 00:00", "Src ", "Dst "}},
		{change(func(c *packet.Config) { c.SrcMAC[0] = 1 }), []string{"SrcMAC 01:"}},
		{change(func(c *packet.Config) { c.DstMAC = packet.MAC{} }), []string{"DstMAC", "next hop"}},
		{change(func(c *packet.Config) { c.Src = netip.MustParseAddrPort("0.0.0.0:1") }), []string{"Src 0.0.0.0:1"}},
		{change(func(c *packet.Config) { c.Src = netip.MustParseAddrPort("224.0.0.1:1") }), []string{"Src 224"}},
		{change(func(c *packet.Config) { c.Src = netip.MustParseAddrPort("255.255.255.255:1") }), []string{"Src 255"}},
		{change(func(c *packet.Config) { c.Dst = netip.MustParseAddrPort("10.9.0.2:0") }), []string{"Dst 10.9.0.2:0"}},
		{change(func(c *packet.Config) { c.Dst = flow6().Dst }), []string{"one address family"}},
		{change(func(c *packet.Config) { c.TCI = 1 }), []string{"TCI 0x0001", "Tagged"}},
		{change(func(c *packet.Config) { c.Tagged, c.TCI = true, 0x2fff }), []string{"TCI 0x2fff", "4095"}},
		{change(func(c *packet.Config) { c.Checksum = 3 }), []string{"Checksum checksum(3)"}},
	}
	for _, test := range tests {
		tmpl, err := packet.NewTemplate(test.cfg)
		if err == nil || tmpl != (packet.Template{}) {
			t.Errorf("%+v: error %v, template %v", test.cfg, err, tmpl)
			continue
		}
		text := err.Error()
		for _, part := range append([]string{"packet: template: "}, test.want...) {
			i := strings.Index(text, part)
			if i < 0 {
				t.Errorf("error %q lacks %q behind the others", err, part)
				break
			}
			text = text[i+len(part):]
		}
	}
	cfg := flow6()
	cfg.Checksum = packet.Omit
	if _, err := packet.NewTemplate(cfg); !errors.Is(err, packet.ErrChecksumRequired) {
		t.Errorf("IPv6 without checksum: %v", err)
	}
}

// IPv4 addresses in IPv6 form are IPv4; zones do not go on the wire.
func TestTemplateAddressForms(t *testing.T) {
	cfg := flow4()
	cfg.Src = netip.MustParseAddrPort("[::ffff:10.9.0.1]:4660")
	cfg.Dst = netip.MustParseAddrPort("[::ffff:10.9.0.2]:5000")
	if got, want := put(t, cfg, []byte("x")), put(t, flow4(), []byte("x")); !bytes.Equal(got, want) {
		t.Errorf("IPv4 in IPv6 form:\ngot  % x\nwant % x", got, want)
	}
	cfg = flow6()
	cfg.Src = netip.MustParseAddrPort("[fe80::1%eth0]:1")
	cfg.Dst = netip.MustParseAddrPort("[fe80::2%eth0]:2")
	u := mustParse(t, put(t, cfg, nil))
	if u.Src != netip.MustParseAddrPort("[fe80::1]:1") || u.Dst != netip.MustParseAddrPort("[fe80::2]:2") {
		t.Errorf("got %v, %v", u.Src, u.Dst)
	}
}

// Changing identification or TOS afterwards gives what a template made so gives.
func TestTemplateSetters(t *testing.T) {
	r := newRand(t)
	for range 2000 {
		cfg := randomFlow(r)
		payload := randomBytes(r, r.IntN(50))
		frame := put(t, cfg, payload)
		tmpl := mustTemplate(t, cfg)
		cfg.TOS = uint8(r.Uint32())
		tmpl.SetTOS(frame, cfg.TOS)
		want := oracleFrame(t, cfg, payload)
		if !bytes.Equal(frame, want) {
			t.Fatalf("TOS %#x:\ngot  % x\nwant % x", cfg.TOS, frame, want)
		}
		id := uint16(r.Uint32())
		tmpl.SetID(frame, id)
		if cfg.Dst.Addr().Is4() {
			at := headerLen(cfg) - 28
			binary.BigEndian.PutUint16(want[at+4:], id)
			binary.BigEndian.PutUint16(want[at+10:], 0)
			binary.BigEndian.PutUint16(want[at+10:], ^naiveSum(want[at:at+20], 0))
		}
		if !bytes.Equal(frame, want) {
			t.Fatalf("id %#x:\ngot  % x\nwant % x", id, frame, want)
		}
	}
}
