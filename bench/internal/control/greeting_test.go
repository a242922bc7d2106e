// SPDX-License-Identifier: MIT

package control

import (
	"bytes"
	"errors"
	"io"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"
)

func TestGreeting(t *testing.T) {
	for line, want := range map[string]Greeting{
		"xdpath-bench 3":           {Version: 3},
		"xdpath-bench 12 v1.2.3":   {Version: 12, Build: "v1.2.3"},
		"xdpath-bench 3 abc+dirty": {Version: 3, Build: "abc+dirty"},
	} {
		got, err := parseGreeting(line)
		if err != nil || got != want || got.String() != line {
			t.Errorf("%q: %+v, %v; as a line %q", line, got, err, got)
		}
	}
	for _, line := range []string{"", "xdpath-bench", "xdpath-bench 0", "xdpath-bench -1", "xdpath-bench 3 a b", "HTTP/1.1 400 Bad Request"} {
		if g, err := parseGreeting(line); !errors.Is(err, ErrStranger) {
			t.Errorf("%q: %+v, %v", line, g, err)
		}
	}
}

// TestGreetingStops reads the line and leaves what follows it.
func TestGreetingStops(t *testing.T) {
	c, other := pair(t)
	go func() { _, _ = io.WriteString(other, Own().String()+"\nrest") }()
	if g, err := ReceiveGreeting(c.c, time.Now().Add(time.Minute)); err != nil || g != Own() {
		t.Errorf("%+v, %v", g, err)
	}
	rest := make([]byte, 4)
	if _, err := io.ReadFull(c.c, rest); err != nil || string(rest) != "rest" {
		t.Errorf("%q, %v", rest, err)
	}
	if _, err := ReceiveGreeting(c.c, time.Now().Add(10*time.Millisecond)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("error %v of a silent end", err)
	}
	go func() { _, _ = io.WriteString(other, strings.Repeat("x", maxGreeting)) }()
	if _, err := ReceiveGreeting(c.c, time.Now().Add(time.Minute)); !errors.Is(err, ErrStranger) {
		t.Errorf("error %v of a long line", err)
	}
}

func TestGreetingCheck(t *testing.T) {
	own := Greeting{Version: 3, Build: "a"}
	for _, ok := range []Greeting{own, {Version: 3}} {
		if err := ok.Check(own); err != nil {
			t.Errorf("%v: %v", ok, err)
		}
	}
	for _, no := range []Greeting{{Version: 4, Build: "a"}, {Version: 3, Build: "b"}, {Version: 2}} {
		if err := no.Check(own); err == nil || !strings.Contains(err.Error(), "run the same build on both") {
			t.Errorf("%v: %v", no, err)
		}
	}
}

// TestProofs differ by token, nonces and side.
func TestProofs(t *testing.T) {
	a, b := Token("0123456789abcdef"), Token("0123456789abcdeg")
	n1, n2 := NewNonce(), NewNonce()
	proofs := [][]byte{a.ClientProof(n1, n2), a.ServerProof(n1, n2), a.ClientProof(n2, n1), b.ClientProof(n1, n2), nil}
	for i, p := range proofs {
		for j, q := range proofs {
			if EqualProof(p, q) != (i == j) {
				t.Errorf("proofs %d and %d", i, j)
			}
		}
	}
	if !EqualProof(proofs[0], a.ClientProof(n1, n2)) || bytes.Equal(n1, n2) {
		t.Error("a proof must be the same again, and a nonce never")
	}
	if a.Validate() != nil || Token("0123456789abcde").Validate() == nil {
		t.Error("16 bytes are long enough, 15 are not")
	}
}

// TestSessionBounds has messages of a session with something wrong in each.
func TestSessionBounds(t *testing.T) {
	addr := netip.MustParseAddr("192.0.2.1")
	open := Open{Nonce: NewNonce(), Addrs: []netip.Prefix{netip.PrefixFrom(addr, 24)}, Longest: time.Second}
	welcome := Welcome{Interface: "eth0", Addr: addr, Client: addr, MAC: "02:00:00:00:00:01", NextHop: "02:00:00:00:00:02", MTU: 1500}
	for name, m := range map[string]*Message{
		"open": {Type: TypeOpen, Open: &open}, "welcome": {Type: TypeWelcome, Welcome: &welcome},
		"challenge": {Type: TypeChallenge, Challenge: &Challenge{Nonce: NewNonce()}}, "worker": {Type: TypeWorker},
	} {
		if err := m.validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	bad := map[string]Message{
		"no challenge": {Type: TypeChallenge}, "no open": {Type: TypeOpen}, "no welcome": {Type: TypeWelcome},
		"short nonce": {Type: TypeChallenge, Challenge: &Challenge{Nonce: make([]byte, 8)}},
		"worker body": {Type: TypeWorker, Open: &open},
	}
	for name, change := range map[string]func(*Open){
		"nonce": func(o *Open) { o.Nonce = nil }, "time": func(o *Open) { o.Longest = 0 }, "long": func(o *Open) { o.Longest = MaxSession + 1 },
		"addresses": func(o *Open) { o.Addrs = nil }, "IPv6": func(o *Open) { o.Addrs = []netip.Prefix{netip.MustParsePrefix("fd00::1/64")} },
		"proof": func(o *Open) { o.Proof = make([]byte, maxProof+1) },
	} {
		o := open
		change(&o)
		bad["open "+name] = Message{Type: TypeOpen, Open: &o}
	}
	for name, change := range map[string]func(*Welcome){
		"address": func(w *Welcome) { w.Addr = netip.Addr{} }, "MAC": func(w *Welcome) { w.MAC = "x" }, "hop": func(w *Welcome) { w.NextHop = "" },
		"interface": func(w *Welcome) { w.Interface = "" }, "MTU": func(w *Welcome) { w.MTU = 0 },
	} {
		w := welcome
		change(&w)
		bad["welcome "+name] = Message{Type: TypeWelcome, Welcome: &w}
	}
	for name, m := range bad {
		if err := m.validate(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
