// SPDX-License-Identifier: MIT

package iperf3

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/udp"
)

func pace(rate float64) (Pacer, error) { return udp.NewPacer(udp.PacerConfig{Rate: rate}) }

// bench is a server on loopback that a test drives.
type bench struct {
	t        *testing.T
	server   *Server
	addr     netip.AddrPort // of both ports
	outcomes chan Outcome
}

// impatience is long enough for a busy machine and short enough for those who wait.
const impatience = 300 * time.Millisecond

// serve starts a server over an ordinary socket, impatient.
func serve(t *testing.T) *bench {
	t.Helper()
	testnet.Leaks(t)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, addr: netip.MustParseAddrPort(l.Addr().String()), outcomes: make(chan Outcome, 100)}
	port, err := OpenSocket(b.addr)
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Port: port, Pacer: pace, Longest: time.Minute, patience: impatience, Report: func(o Outcome) { b.outcomes <- o }}
	b.server = s
	s.init()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l, false) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-served, port.Close()); err != nil {
			t.Error(err)
		}
	})
	return b
}

// dial opens a control connection.
func (b *bench) dial() net.Conn {
	b.t.Helper()
	c, err := net.Dial("tcp4", b.addr.String())
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		b.t.Fatal(err)
	}
	return c
}

// measure runs a client of ours to its end.
func (b *bench) measure(p Params) (Outcome, error) {
	b.t.Helper()
	port, err := OpenSocket(netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = port.Close() }()
	c := Client{Params: p, Pacer: pace, Longest: time.Minute}
	return c.Run(context.Background(), b.dial(), port, b.addr)
}

// outcome is what the server tells of the next client.
func (b *bench) outcome() Outcome {
	b.t.Helper()
	select {
	case o := <-b.outcomes:
		return o
	case <-time.After(20 * time.Second):
		b.t.Fatal("the server tells of no client")
		return Outcome{}
	}
}

// works checks that the server is in order.
func (b *bench) works() {
	b.t.Helper()
	if _, err := b.measure(Params{Time: 0.05, Len: 100, Bandwidth: 1e6}); err != nil {
		b.t.Errorf("afterwards: %v", err)
	}
	if o := b.outcome(); o.Err != nil {
		b.t.Errorf("afterwards: %v", o.Err)
	}
}

// Both sides are ours and agree about what went and came.
func TestBothSides(t *testing.T) {
	b := serve(t)
	for name, p := range map[string]Params{
		"forward": {Time: 0.2, Len: 1000, Bandwidth: 8e6},
		"reverse": {Time: 0.2, Len: 1000, Bandwidth: 8e6, Reverse: true},
		"wide":    {Time: 0.2, Len: 16, Bandwidth: 1e5, Wide: true},
		"bytes":   {Num: 100_000, Len: 1000, Bandwidth: 8e6},
		"blocks":  {BlockCount: 50, Len: 9000, Bandwidth: 80e6, Reverse: true},
		"omit":    {Time: 0.2, Omit: 0.1, Len: 1000, Bandwidth: 8e6},
	} {
		t.Run(name, func(t *testing.T) {
			here, err := b.measure(p)
			if err != nil {
				t.Fatal(err)
			}
			there := b.outcome()
			if there.Err != nil || there.Sends == here.Sends || here.Sends != !bool(p.Reverse) {
				t.Fatalf("here %+v\nthere %+v", here, there)
			}
			sent, came := here.Ours.Streams[0], here.Theirs.Streams[0]
			if p.Reverse {
				sent, came = came, sent
			}
			if sent.Packets < 5 || came.Packets > sent.Packets || came.Packets < sent.Packets/2 {
				t.Errorf("sent %+v\ncame %+v", sent, came)
			}
			if p.Num > 0 && sent.Packets != 100 || p.Omit > 0 && (sent.OmittedPackets == 0 || came.OmittedPackets == 0) {
				t.Errorf("sent %+v\ncame %+v", sent, came)
			}
			var text bytes.Buffer
			if err := errors.Join(here.WriteText(&text), here.WriteJSON(&text)); err != nil || strings.Count(text.String(), "here") < 2 {
				t.Errorf("%v: %s", err, text.String())
			}
		})
	}
}

// A second client hears that there is a first one, which is not disturbed.
func TestBusy(t *testing.T) {
	b := serve(t)
	var first sync.WaitGroup
	first.Go(func() {
		if _, err := b.measure(Params{Time: 1.5, Len: 1000, Bandwidth: 1e6}); err != nil {
			t.Errorf("the first one: %v", err)
		}
	})
	for len(b.server.busy) == 0 {
		time.Sleep(time.Millisecond)
	}
	_, err := b.measure(Params{Time: 0.1, Len: 1000})
	if err == nil || !strings.Contains(err.Error(), "busy") {
		t.Errorf("the second one: %v", err)
	}
	first.Wait()
	if o := b.outcome(); o.Err != nil {
		t.Error(o.Err)
	}
	b.works()
}

// What iperf3 asks for and is not to be had is refused in its own words.
func TestRefused(t *testing.T) {
	b := serve(t)
	c := b.dial()
	if _, err := c.Write(append(make([]byte, cookieSize), mustEncode(t, Params{TCP: true, Time: 1, Parallel: 1, Len: 100})...)); err != nil {
		t.Fatal(err)
	}
	said, err := io.ReadAll(c)
	if want := append([]byte{byte(ParamExchange), 0xfe}, 0, 0, 0, errorUnimplemented, 0, 0, 0, 0); !bytes.Equal(said, want) || err != nil {
		t.Errorf("got %x, %v, want %x", said, err, want)
	}
	if o := b.outcome(); o.Err == nil || !strings.Contains(o.Err.Error(), "not UDP") {
		t.Errorf("got %v", o.Err)
	}
	b.works()
}

func mustEncode(t *testing.T, v any) []byte {
	t.Helper()
	b, err := encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Whatever comes on the control port, and at whatever step a client goes or falls
// silent, the server is there for the next one, within bounded time.
func TestGarbage(t *testing.T) {
	b := serve(t)
	cookie := bytes.Repeat([]byte{'x'}, cookieSize)
	params := mustEncode(t, Params{UDP: true, Time: 1, Parallel: 1, Len: 100})
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	noise := make([]byte, 4096)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	for name, said := range map[string][]byte{
		"nothing":          {},
		"half a cookie":    cookie[:10],
		"a cookie":         cookie,
		"noise":            noise,
		"HTTP":             []byte("GET / HTTP/1.1\r\nHost: example.org\r\nUser-Agent: a scanner\r\n\r\n"),
		"a huge message":   join(cookie, []byte{0x7f, 0xff, 0xff, 0xff, '{'}),
		"no JSON":          join(cookie, []byte{0, 0, 0, 4}, []byte("junk")),
		"wrong JSON":       join(cookie, mustEncode(t, []int{1})),
		"half of it":       join(cookie, params[:len(params)-3]),
		"no stream":        join(cookie, params),
		"ends too early":   join(cookie, params, []byte{byte(TestEnd)}),
		"gives up":         join(cookie, params, []byte{byte(ClientTerminate)}),
		"is told an error": join(cookie, params, []byte{0xfe}),
	} {
		for _, silent := range []bool{false, true} {
			c := b.dial()
			if _, err := c.Write(said); err != nil {
				t.Fatal(err)
			}
			if !silent {
				_ = c.Close()
			}
			if o := b.outcome(); o.Err == nil {
				t.Errorf("%s, silent %t: served", name, silent)
			}
			_ = c.Close()
		}
	}
	b.works()
}

// A client that goes in the middle of the test, either way.
func TestVanished(t *testing.T) {
	b := serve(t)
	for _, reverse := range []bool{false, true} {
		c := b.dial()
		if _, err := c.Write(append(make([]byte, cookieSize), mustEncode(t, Params{UDP: true, Time: 30, Parallel: 1, Len: 100, Reverse: Bool(reverse)})...)); err != nil {
			t.Fatal(err)
		}
		u, err := net.Dial("udp4", b.addr.String())
		if err != nil {
			t.Fatal(err)
		}
		heard := make([]byte, 2) // ParamExchange, CreateStreams
		if _, err := io.ReadFull(c, heard); err != nil {
			t.Fatal(err)
		}
		if err := binary.Write(u, binary.NativeEndian, uint32(hello)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, heard); err != nil || heard[1] != byte(TestRunning) {
			t.Fatalf("heard %v, %v", heard, err)
		}
		_, _ = c.Close(), u.Close()
		if o := b.outcome(); !errors.Is(o.Err, io.ErrUnexpectedEOF) && !strings.Contains(o.Err.Error(), "reset") {
			t.Errorf("reverse %t: %v", reverse, o.Err)
		}
	}
	b.works()
}

// Streams of another host than the client's are none of its test's, and neither is
// what is no greeting.
func TestStrangers(t *testing.T) {
	b := serve(t)
	c := b.dial()
	if _, err := c.Write(append(make([]byte, cookieSize), mustEncode(t, Params{UDP: true, Time: 1, Parallel: 1, Len: 100})...)); err != nil {
		t.Fatal(err)
	}
	heard := make([]byte, 2)
	if _, err := io.ReadFull(c, heard); err != nil {
		t.Fatal(err)
	}
	for source, word := range map[string]uint32{"127.0.0.2:0": hello, "127.0.0.1:0": 0x01020304} {
		u, err := net.DialUDP("udp4", net.UDPAddrFromAddrPort(netip.MustParseAddrPort(source)), net.UDPAddrFromAddrPort(b.addr))
		if err != nil {
			t.Fatal(err)
		}
		if err := binary.Write(u, binary.NativeEndian, word); err != nil {
			t.Fatal(err)
		}
		_ = u.Close()
	}
	if o := b.outcome(); o.Err == nil || !strings.Contains(o.Err.Error(), "0 of 1 streams") {
		t.Errorf("got %v", o.Err)
	}
	_ = c.Close()
	b.works()
}

// A client whose server talks nonsense, refuses, or is not there.
func TestClientGarbage(t *testing.T) {
	testnet.Leaks(t)
	for name, tc := range map[string]struct {
		says []byte
		want string
	}{
		"busy":     {[]byte{0xff}, "busy"},
		"error":    {[]byte{byte(ParamExchange), 0xfe, 0, 0, 0, 13, 0, 0, 0, 0}, "error 13"},
		"gives up": {[]byte{byte(ServerTerminate)}, "gives up"},
		"nonsense": {[]byte{77}, "state 77"},
		"nothing":  {nil, "hung up"},
	} {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var server sync.WaitGroup
		server.Go(func() {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.ReadFull(c, make([]byte, cookieSize))
			_, _ = c.Write(tc.says)
			if len(tc.says) > 1 {
				_, _ = c.Read(make([]byte, 1000)) // the parameters
			}
			_ = c.Close()
		})
		conn, err := net.Dial("tcp4", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		port, err := OpenSocket(netip.MustParseAddrPort("127.0.0.1:0"))
		if err != nil {
			t.Fatal(err)
		}
		c := Client{Params: Params{Time: 1, Len: 100}, Pacer: pace, patience: time.Second}
		if _, err := c.Run(context.Background(), conn, port, netip.MustParseAddrPort(l.Addr().String())); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
		_, _ = port.Close(), l.Close()
		server.Wait()
	}
}
