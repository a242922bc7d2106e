// SPDX-License-Identifier: MIT

package iperf3

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What an iperf 3.12 client sent for: iperf3 -c HOST -u -b 100M -R --udp-counters-64bit.
const clientParams = `{"udp":true,"omit":0,"time":10,"num":0,"blockcount":0,"parallel":1,"reverse":true,"len":1448,` +
	`"bandwidth":100000000,"pacing_timer":1000,"udp_counters_64bit":1,"client_version":"3.12"}`

func TestParams(t *testing.T) {
	var p Params
	if err := json.Unmarshal([]byte(clientParams), &p); err != nil {
		t.Fatal(err)
	}
	want := Params{UDP: true, Time: 10, Parallel: 1, Reverse: true, Len: 1448, Bandwidth: 1e8, PacingTimer: 1000, Wide: true, Version: "3.12"}
	if d := cmp.Diff(want, p); d != "" {
		t.Error(d)
	}
	if err := p.validate(time.Minute); err != nil {
		t.Error(err)
	}
	if p.duration(time.Hour) != 10*time.Second || (Params{}).duration(time.Hour) != time.Hour {
		t.Error("duration")
	}
	if n := (Params{Num: 3000, Len: 1448}).limit(); n != 3 {
		t.Errorf("%d datagrams for 3000 bytes", n)
	}
	if n := (Params{BlockCount: 7}).limit(); n != 7 {
		t.Errorf("%d datagrams for 7", n)
	}
}

// Each refusal, by what provokes it, with the number that the client is told.
func TestRefusals(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil  func(*Params)
		number int32
	}{
		"TCP":            {func(p *Params) { p.UDP, p.TCP = false, true }, errorUnimplemented},
		"SCTP":           {func(p *Params) { p.SCTP = true }, errorUnimplemented},
		"both ways":      {func(p *Params) { p.Bidirectional = true }, errorUnimplemented},
		"no stream":      {func(p *Params) { p.Parallel = 0 }, errorStreams},
		"many streams":   {func(p *Params) { p.Parallel = 129 }, errorStreams},
		"half a stream":  {func(p *Params) { p.Parallel = 1.5 }, errorStreams},
		"no room":        {func(p *Params) { p.Len = 15 }, errorSize},
		"too large":      {func(p *Params) { p.Len = 65508 }, errorSize},
		"too long":       {func(p *Params) { p.Time = 61 }, errorDuration},
		"with omission":  {func(p *Params) { p.Omit = 60 }, errorDuration},
		"backwards":      {func(p *Params) { p.Time = -1 }, errorDuration},
		"negative rate":  {func(p *Params) { p.Bandwidth = -1 }, errorParameters},
		"infinite rate":  {func(p *Params) { p.Bandwidth = math.Inf(1) }, errorParameters},
		"negative bytes": {func(p *Params) { p.Num = -1 }, errorParameters},
		"slow timer":     {func(p *Params) { p.PacingTimer = 2e6 }, errorParameters},
		"vast window":    {func(p *Params) { p.Window = 1e10 }, errorParameters},
	} {
		p := Params{UDP: true, Time: 1, Parallel: 1, Len: 1448}
		tc.spoil(&p)
		var r *refusal
		if err := p.validate(time.Minute); !errors.As(err, &r) || r.number != tc.number {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestHeader(t *testing.T) {
	h := Header{Sent: 5*time.Second + 7*time.Microsecond, Counter: 1<<32 + 9}
	for _, tc := range []struct {
		wide bool
		hex  string
		back uint64
	}{{false, "000000050000000700000009", 9}, {true, "00000005000000070000000100000009", 1<<32 + 9}} {
		b := make([]byte, 20)
		rest := h.Put(b, tc.wide)
		if got := hex.EncodeToString(b[:20-len(rest)]); got != tc.hex {
			t.Errorf("wide %t: got %s, want %s", tc.wide, got, tc.hex)
		}
		if back, ok := ParseHeader(b, tc.wide); !ok || back != (Header{h.Sent, tc.back}) {
			t.Errorf("wide %t: back %+v, %t", tc.wide, back, ok)
		}
		if _, ok := ParseHeader(b[:20-len(rest)-1], tc.wide); ok {
			t.Errorf("wide %t: a short datagram is taken", tc.wide)
		}
	}
	for _, text := range []string{"36373839", "39383736", "15cd5b07", "075bcd15", "b168de3a", "3ade68b1"} {
		b, _ := hex.DecodeString(text)
		if !isGreeting(b) {
			t.Errorf("%s is no greeting", text)
		}
	}
	if isGreeting([]byte{1, 2, 3, 4}) || isGreeting(make([]byte, 5)) || isGreeting(nil) {
		t.Error("anything is a greeting")
	}
}

func TestCount(t *testing.T) {
	var c Count
	feed := func(counter uint64, sent, at time.Duration) { c.Add(Header{sent, counter}, 100, at) }
	feed(1, 0, 10*time.Millisecond)
	feed(2, time.Millisecond, 11*time.Millisecond) // as late as the first: no jitter
	feed(5, 2*time.Millisecond, 12*time.Millisecond)
	if c.Lost != 2 || c.Packets != 5 || c.Received != 3 || c.Jitter != 0 || c.Bytes != 300 {
		t.Errorf("%+v", c)
	}
	feed(3, 3*time.Millisecond, 29*time.Millisecond) // 16 ms later than the others
	if c.Lost != 1 || c.OutOfOrder != 1 || c.Packets != 5 || math.Abs(c.Jitter-0.001) > 1e-9 {
		t.Errorf("%+v", c)
	}
	feed(5, 4*time.Millisecond, 30*time.Millisecond)
	feed(0, 4*time.Millisecond, 30*time.Millisecond)
	if c.Lost != 0 || c.OutOfOrder != 3 {
		t.Errorf("%+v", c)
	}
}

func TestResults(t *testing.T) {
	r := Results{Streams: []StreamResult{{ID: 1}, {ID: 3}, {ID: 4}}}
	if err := r.validate(3); err != nil {
		t.Error(err)
	}
	if r.validate(2) == nil {
		t.Error("too many streams are taken")
	}
	r.Streams[1].ID = 2
	if r.validate(3) == nil {
		t.Error("a stream that there is not")
	}
}

func TestJSONLength(t *testing.T) {
	text, err := encode(Params{Len: 5})
	if err != nil {
		t.Fatal(err)
	}
	var p Params
	if err := decode(bytes.NewReader(text), &p); err != nil || p.Len != 5 {
		t.Errorf("%+v, %v", p, err)
	}
	for name, b := range map[string][]byte{
		"nothing": nil, "no length": {0, 0}, "zero": {0, 0, 0, 0}, "huge": {0xff, 0xff, 0xff, 0xff, '{'},
		"cut": text[:len(text)-1], "no JSON": {0, 0, 0, 1, '{'}, "wrong kind": append([]byte{0, 0, 0, 2}, "[]"...),
	} {
		if err := decode(bytes.NewReader(b), &p); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if _, err := encode(strings.Repeat("x", MaxMessage)); err == nil {
		t.Error("a message that is too long is sent")
	}
}

// A reader that counts what was taken.
type counted struct {
	r io.Reader
	n int
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += n
	return n, err
}

// FuzzDecode: whatever comes, no more is taken than a message has, and what is accepted
// as parameters can be used.
func FuzzDecode(f *testing.F) {
	good := append(binary.BigEndian.AppendUint32(nil, uint32(len(clientParams))), clientParams...)
	f.Add(good)
	f.Add([]byte{0, 0, 0, 30, '{', '"', 'l', 'e', 'n', '"', ':', '1', 'e', '9', '}'})
	f.Add([]byte("\x00\x00\x00\x11{\"streams\":[{}]}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		in := &counted{r: bytes.NewReader(b)}
		var p Params
		if decode(in, &p) == nil && p.validate(time.Hour) == nil {
			if p.duration(time.Hour) > time.Hour || p.Len < MinSize || p.Len > MaxSize || p.Parallel < 1 || p.Parallel > MaxStreams {
				t.Errorf("accepted: %+v", p)
			}
			_ = p.limit()
		}
		if in.n > 4+MaxMessage {
			t.Errorf("%d bytes taken", in.n)
		}
		var r Results
		if decode(bytes.NewReader(b), &r) == nil && r.validate(1) == nil && len(r.Streams) != 1 {
			t.Errorf("accepted: %+v", r)
		}
	})
}

// FuzzHeader: what is read and written again is the same, and nothing counts wrongly.
func FuzzHeader(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x05\x00\x00\x00\x07\x00\x00\x00\x01\x00\x00\x00\x09"), true)
	f.Add([]byte("6789"), false)
	f.Fuzz(func(t *testing.T, b []byte, wide bool) {
		isGreeting(b)
		h, ok := ParseHeader(b, wide)
		if !ok {
			return
		}
		again := make([]byte, WideHeaderSize)
		h.Put(again, wide)
		back, _ := ParseHeader(again, wide)
		if back.Counter != h.Counter || back.Sent%time.Second != h.Sent%time.Second {
			t.Errorf("%+v, then %+v", h, back)
		}
		var c Count
		c.Add(h, len(b), time.Second)
		if c.Packets != h.Counter {
			t.Errorf("%+v of %+v", c, h)
		}
	})
}
