// SPDX-License-Identifier: MIT

package control

import (
	"bytes"
	"encoding/binary"
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xdpath/xdpath/bench/internal/cpu"
	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/path"
	"github.com/xdpath/xdpath/bench/internal/rr"
	"github.com/xdpath/xdpath/bench/internal/stream"
)

func prepare() *Prepare {
	return &Prepare{
		Test: stream.Name, Role: RoleSender, Interface: "xp1a", Queue: 1,
		Row:   Row{Path: "mmsg", Size: 64, Param: "mtu=1500", Batch: 64, MTU: 1500, Checksum: true, Image: 1310720, Rate: 0.5},
		Local: netip.MustParseAddrPort("10.9.0.1:9001"), Peer: netip.MustParseAddrPort("10.9.0.2:9002"),
		LocalMAC: "02:00:00:00:00:01", PeerMAC: "02:00:00:00:00:02",
	}
}

// messages are one of each kind, with every field set.
func messages() []Message {
	info := path.Info{Mode: "native copy", Batch: 64, BufferAsked: 4, BufferGot: 2, OneShot: true, Notes: []string{"a note"}}
	return []Message{
		{Type: TypeHello, Hello: &Hello{Version: Version, Facts: Facts{
			Machine: "m", Kernel: "6.18", Arch: "s390x", Go: "go1.26", CPUModel: "c", CPUs: 2, Pinned: []int{1}, GOMAXPROCS: 2, PID: 7,
		}}},
		{Type: TypePrepare, Prepare: prepare()},
		{Type: TypeReady, Ready: &Ready{Info: info}},
		{Type: TypeStart, Start: &Start{Run: 3, Duration: time.Second}},
		{Type: TypeStop},
		{Type: TypeTotals},
		{Type: TypeTotals, Totals: &Totals{
			Run: 3, Elapsed: time.Second, Sent: 1 << 60, Images: 50, Tally: stream.Tally{Received: 1, Duplicated: 2, Reordered: 3, Truncated: 4, Corrupt: 5, Foreign: 6},
			Lost: loss.Counts{{Place: loss.Socket, N: 9, Each: 64}}, Machine: cpu.Times{User: 1, CPUs: 2, Wall: 2 * time.Second}, User: 1, System: 2, Info: info,
		}},
		{Type: TypeTotals, Totals: &Totals{
			Run: 4, Sent: 7, Tally: stream.Tally{Received: 6, Duplicated: 1},
			Latency: rr.Latency{Count: 5, P50: 7 * time.Microsecond, P90: 8, P99: 9, P999: 10, Max: 50 * time.Millisecond},
		}},
		{Type: TypeClose},
		{Type: TypeBye},
		{Type: TypeOK},
		{Type: TypeError, Error: &Error{Reason: "no"}},
	}
}

func TestRoundTrip(t *testing.T) {
	var all bytes.Buffer
	for _, m := range messages() {
		b, err := Encode(m)
		if err != nil {
			t.Fatalf("%s: %v", m.Type, err)
		}
		all.Write(b)
	}
	for _, want := range messages() {
		got, err := Decode(&all)
		if err != nil {
			t.Fatalf("%s: %v", want.Type, err)
		}
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
			t.Errorf("%s: %s", want.Type, diff)
		}
	}
	if _, err := Decode(&all); err != io.EOF {
		t.Errorf("after the last message: %v, want EOF", err)
	}
}

func framed(text string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)
}

func TestDecodeErrors(t *testing.T) {
	tests := []struct{ name, stream, want string }{
		{"half a length", "\x00\x00", "unexpected EOF"},
		{"length of 0", "\x00\x00\x00\x00", "message of 0 bytes"},
		{"length beyond the limit", "\x00\x01\x00\x01", "message of 65537 bytes"},
		{"largest length", "\xff\xff\xff\xff", "message of 4294967295 bytes"},
		{"half a text", "\x00\x00\x00\x09{\"type\"", "unexpected EOF"},
		{"an HTTP request", "GET / HTTP/1.1\r\n\r\n", "must be 1 to 65536"},
		{"no JSON", string(framed("hello")), "invalid character"},
		{"an array", string(framed("[]")), "cannot unmarshal array"},
		{"null", string(framed("null")), `unknown type ""`},
		{"empty object", string(framed("{}")), `unknown type ""`},
		{"unknown type", string(framed(`{"type":"exec"}`)), `unknown type "exec"`},
		{"unknown field", string(framed(`{"type":"stop","command":"rm"}`)), "unknown field"},
		{"two values", string(framed(`{"type":"stop"}{"type":"stop"}`)), "more than one"},
		{"trailing text", string(framed(`{"type":"stop"} x`)), "more than one"},
		{"no body", string(framed(`{"type":"prepare"}`)), "body does not belong"},
		{"another's body", string(framed(`{"type":"hello","start":{"run":1,"duration":1}}`)), "body does not belong"},
		{"a body too many", string(framed(`{"type":"stop","start":{"run":1,"duration":1}}`)), "body does not belong"},
		{"two bodies", string(framed(`{"type":"totals","totals":{},"error":{"reason":"x"}}`)), "body does not belong"},
		{"no reason", string(framed(`{"type":"error","error":{}}`)), "length of reason 0"},
		{"no duration", string(framed(`{"type":"start","start":{"run":1}}`)), "duration 0s"},
		{"negative duration", string(framed(`{"type":"start","start":{"run":1,"duration":-1}}`)), "duration -1ns"},
		{"a day", string(framed(`{"type":"start","start":{"run":1,"duration":86400000000000}}`)), "at most 10m0s"},
		{"run beyond 32 bits", string(framed(`{"type":"start","start":{"run":4294967296,"duration":1}}`)), "cannot unmarshal number"},
		{"deep", string(framed(strings.Repeat("[", 20000))), "control: receive"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := Decode(strings.NewReader(tt.stream))
			if err == nil {
				t.Fatalf("read as %+v", m)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %q, want %q in it", err, tt.want)
			}
		})
	}
}

func TestPrepareBounds(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Prepare)
		want   string // empty: is fine
	}{
		{"as it is", func(*Prepare) {}, ""},
		{"smallest", func(p *Prepare) { p.Size, p.Batch, p.Queue, p.MTU = 16, 1, 0, 68 }, ""},
		{"largest", func(p *Prepare) { p.Size, p.Batch, p.Queue, p.MTU = 65507, 1024, 4095, 65535 }, ""},
		{"round trips", func(p *Prepare) { p.Test = rr.Name }, ""},
		{"size below", func(p *Prepare) { p.Size = 15 }, "size 15: must be 16 to 65507"},
		{"size above", func(p *Prepare) { p.Size = 65508 }, "size 65508"},
		{"batch below", func(p *Prepare) { p.Batch = 0 }, "batch 0"},
		{"batch above", func(p *Prepare) { p.Batch = 1025 }, "batch 1025"},
		{"image below", func(p *Prepare) { p.Image = -1 }, "image -1"},
		{"image above", func(p *Prepare) { p.Image = 1 << 30 }, "image 1073741824"},
		{"ring not a power of two", func(p *Prepare) { p.Ring = 100 }, "ring 100: must be a power of two"},
		{"RX ring above", func(p *Prepare) { p.RX = 1 << 17 }, "RX ring 131072"},
		{"fill ring below", func(p *Prepare) { p.Fill = -2 }, "fill ring -2"},
		{"frames above", func(p *Prepare) { p.Frames = 1 << 17 }, "frames 131072"},
		{"queues above", func(p *Prepare) { p.Queues = 65 }, "queues 65: must be 0 to 64"},
		{"delay above", func(p *Prepare) { p.Delay = time.Minute }, "delay 1m0s: must be 0 to 1s"},
		{"delay below", func(p *Prepare) { p.Delay = -1 }, "delay -1ns"},
		{"rate below", func(p *Prepare) { p.Rate = -1 }, "rate -1"},
		{"rate above", func(p *Prepare) { p.Rate = 1e10 }, "rate 1e+10"},
		{"queue below", func(p *Prepare) { p.Queue = -1 }, "queue -1"},
		{"MTU below", func(p *Prepare) { p.MTU = 67 }, "MTU 67"},
		{"no path", func(p *Prepare) { p.Path = "" }, "length of path 0"},
		{"no interface", func(p *Prepare) { p.Interface = "" }, "length of interface 0"},
		{"name of an interface too long", func(p *Prepare) { p.Interface = "abcdefghijklmnop" }, "length of interface 16"},
		{"no role", func(p *Prepare) { p.Role = "" }, "role"},
		{"no test", func(p *Prepare) { p.Test = "" }, "length of test 0"},
		{"parameter too long", func(p *Prepare) { p.Param = strings.Repeat("x", maxText+1) }, "length of parameter 4097"},
		{"IPv6", func(p *Prepare) { p.Local = netip.MustParseAddrPort("[::1]:9") }, "must be IPv4"},
		{"no address", func(p *Prepare) { p.Peer = netip.AddrPort{} }, "must be IPv4"},
		{"no port", func(p *Prepare) { p.Peer = netip.MustParseAddrPort("10.9.0.2:0") }, "with a port"},
		{"MAC of eight bytes", func(p *Prepare) { p.PeerMAC = "02:00:00:00:00:02:03:04" }, "six bytes"},
		{"no MAC", func(p *Prepare) { p.LocalMAC = "" }, "six bytes"},
		{"several", func(p *Prepare) { p.Size, p.Batch = 0, 0 }, "batch 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := prepare()
			tt.change(p)
			_, err := Encode(Message{Type: TypePrepare, Prepare: p})
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q in it", err, tt.want)
			}
		})
	}
}

func TestLongReasonIsCut(t *testing.T) {
	b, err := Encode(Message{Type: TypeError, Error: &Error{Reason: strings.Repeat("x", 10*maxText)}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := Decode(bytes.NewReader(b))
	if err != nil || len(m.Error.Reason) != maxText {
		t.Errorf("%v, %v", err, m.Type)
	}
}

// FuzzDecode: whatever comes is an error or a message that can be sent again
// and means the same.
func FuzzDecode(f *testing.F) {
	for _, m := range messages() {
		b, err := Encode(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add(framed(`{"type":"totals","totals":null}`))
	f.Add([]byte("\xff\xff\xff\xff{"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Decode(bytes.NewReader(b))
		if err != nil {
			return
		}
		again, err := Encode(m)
		if err != nil {
			t.Fatalf("decoded and not to be encoded: %v: %+v", err, m)
		}
		m2, err := Decode(bytes.NewReader(again))
		if err != nil {
			t.Fatalf("encoded and not to be decoded: %v", err)
		}
		again2, err := Encode(m2)
		if err != nil || !bytes.Equal(again, again2) {
			t.Fatalf("%v: %q became %q", err, again, again2)
		}
	})
}
