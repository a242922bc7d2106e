// SPDX-License-Identifier: MIT

package remote

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xdpath/xdpath/bench/internal/control"
)

var (
	token = control.Token("a secret of 21 bytes.")
	other = control.Token("b secret of 21 bytes.")
)

// TestSession runs a window by way of a server, as a referee would.
func TestSession(t *testing.T) {
	b := serve(t, func(cfg *ServerConfig) { cfg.Token = token })
	c, w, err := b.client(token)
	if err != nil {
		t.Fatal(err)
	}
	w.Proof = nil
	if diff := cmp.Diff(agreed, w, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
	for run := range uint32(2) {
		c.must(t, control.Message{Type: control.TypeWorker}, control.TypeOK)
		c.must(t, control.Message{Type: control.TypeHello, Hello: &control.Hello{Version: control.Version}}, control.TypeHello)
		c.must(t, question(control.RoleSender), control.TypeReady)
		c.must(t, control.Message{Type: control.TypeStart, Start: &control.Start{Run: run, Duration: 10 * time.Millisecond}}, control.TypeOK)
		if got := c.must(t, control.Message{Type: control.TypeTotals}, control.TypeTotals).Totals; got.Run != run || got.Sent == 0 {
			t.Errorf("totals %+v", got)
		}
	}
	if n := b.workers.alive.Load(); n != 1 {
		t.Errorf("%d workers", n)
	}
	c.must(t, control.Message{Type: control.TypeBye}, control.TypeOK)
	b.eventually("the worker is gone", func() bool { return b.workers.alive.Load() == 0 })
}

// TestToken has clients that do not know the token, or a server that has none.
func TestToken(t *testing.T) {
	for _, tt := range []struct {
		name          string
		server, given control.Token
		want          string
	}{
		{"wrong", token, other, "wrong token"},
		{"none", token, nil, "wants a token"},
		{"not asked for", nil, token, "asks for no token"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := serve(t, func(cfg *ServerConfig) { cfg.Token = tt.server })
			c, _, err := b.client(tt.given)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			_ = c.Close()
			if tt.name == "wrong" {
				b.eventually("the log tells", func() bool { return b.told("wrong token") })
			}
		})
	}
}

// TestReplay gives a proof that was good in another session.
func TestReplay(t *testing.T) {
	b := serve(t, func(cfg *ServerConfig) { cfg.Token = token })
	c := b.dial()
	if err := control.SendGreeting(c.raw, control.Own()); err != nil {
		t.Fatal(err)
	}
	if _, err := control.ReceiveGreeting(c.raw, time.Now().Add(wait)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Receive(time.Now().Add(wait)); err != nil {
		t.Fatal(err)
	}
	old, nonce := control.NewNonce(), control.NewNonce()
	q := control.Open{Nonce: nonce, Proof: token.ClientProof(old, nonce), Addrs: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/24")}, Longest: time.Minute}
	if _, err := c.Call(control.Message{Type: control.TypeOpen, Open: &q}, wait); err == nil || err.Error() != "wrong token" {
		t.Errorf("error %v", err)
	}
}

// TestVersions has ends of different versions and builds.
func TestVersions(t *testing.T) {
	b := serve(t, nil)
	own := control.Own()
	for _, theirs := range []control.Greeting{{Version: own.Version + 1, Build: own.Build}, {Version: own.Version - 1}} {
		c := b.dial()
		_, err := c.join(theirs, nil)
		// The server has closed after its own greeting, which a client would check.
		if err == nil {
			t.Errorf("%v was let in", theirs)
		}
		want := fmt.Sprintf("the other end is protocol version %d, build unknown, this one version %d, build unknown: run the same build on both", theirs.Version, own.Version)
		b.eventually(want, func() bool { return b.told(want) })
	}
	if err := (control.Greeting{Version: 3, Build: "abc"}).Check(control.Greeting{Version: 3, Build: "abd"}); err == nil || !strings.Contains(err.Error(), "build abc, this one version 3, build abd") {
		t.Errorf("builds that differ: %v", err)
	}
	b.free()
}

// TestBusy has a second client while the first one runs.
func TestBusy(t *testing.T) {
	b := serve(t, nil)
	first := b.working(control.RoleSender)
	_, _, err := b.client(nil)
	want := "busy: a run of " + first.raw.LocalAddr().String() + " is going on, for at most "
	if err == nil || !strings.HasPrefix(err.Error(), want) || !isBusy(err) {
		t.Errorf("error %v, want %q", err, want)
	}
	// The first one has not noticed anything.
	var reason *control.Error
	if _, err := first.Call(question(control.RoleSender), wait); !errors.As(err, &reason) || reason.Reason != "prepare while a path is open" {
		t.Errorf("error %v", err)
	}
}

// TestVanish breaks off at every stage. The server is free again each time.
func TestVanish(t *testing.T) {
	b := serve(t, nil)
	greet := func() client {
		c := b.dial()
		if err := control.SendGreeting(c.raw, control.Own()); err != nil {
			t.Fatal(err)
		}
		return c
	}
	for name, connect := range map[string]func() client{
		"at once":        b.dial,
		"after greeting": greet,
		"in a message": func() client {
			c := greet()
			_, _ = c.raw.Write([]byte{0, 0, 0, 9, '{'})
			return c
		},
		"welcomed": func() client {
			c, _, err := b.client(nil)
			if err != nil {
				t.Fatal(err)
			}
			return c
		},
		"sending":   func() client { return b.working(control.RoleSender) },
		"receiving": func() client { return b.working(control.RoleReceiver) },
		"in an answer": func() client {
			c := b.working(control.RoleSender)
			if err := c.Send(control.Message{Type: control.TypeTotals}); err != nil {
				t.Fatal(err)
			}
			return c
		},
	} {
		t.Run(name, func(t *testing.T) {
			_ = connect().raw.Close()
			b.free()
		})
	}
}

// TestGarbage sends what is no greeting, and what is no message at any stage.
func TestGarbage(t *testing.T) {
	b := serve(t, nil)
	t.Run("greeting", func(t *testing.T) {
		for _, text := range []string{"GET / HTTP/1.1\r\n\r\n", "xdpath-bench\n", "xdpath-bench x\n", strings.Repeat("x", 1<<20)} {
			c := b.dial()
			go func() { _, _ = io.WriteString(c.raw, text) }()
			_ = c.raw.SetReadDeadline(time.Now().Add(wait))
			answer, err := io.ReadAll(c.raw)
			if want := control.Own().String() + "\n"; string(answer) != want || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%.20q: answer %q, %v", text, answer, err)
			}
		}
		b.free()
	})
	for name, text := range map[string]string{
		"oversize": "\xff\xff\xff\xff", "empty": "\x00\x00\x00\x00", "no JSON": "\x00\x00\x00\x01x",
		"unknown": "\x00\x00\x00\x10{\"type\":\"exec\"} ", "out of bounds": "\x00\x00\x00\x42{\"type\":\"start\",\"start\":{\"run\":1,\"duration\":9000000000000000000}}   ",
	} {
		t.Run(name, func(t *testing.T) {
			c := b.working(control.RoleReceiver)
			if _, err := io.WriteString(c.raw, text); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Receive(time.Now().Add(wait)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("error %v, want that the stream is closed", err)
			}
			_ = c.Close()
			b.free()
		})
	}
}

// TestSlow sends nothing, or too slowly, before and in a session.
func TestSlow(t *testing.T) {
	t.Run("handshake", func(t *testing.T) {
		b := serve(t, func(cfg *ServerConfig) { cfg.handshake = 200 * time.Millisecond })
		c := b.dial()
		_ = c.raw.SetDeadline(time.Now().Add(wait))
		var err error
		for _, letter := range []byte(control.Own().String() + strings.Repeat(" ", 100)) { // one by one, never to end
			if _, err = c.raw.Write([]byte{letter}); err != nil {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		if _, err := io.ReadAll(c.raw); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("error %v, want that the stream is closed", err)
		}
		b.free()
	})
	t.Run("session", func(t *testing.T) {
		b := serve(t, func(cfg *ServerConfig) { cfg.idleTime = 200 * time.Millisecond })
		c, _, err := b.client(nil)
		if err != nil {
			t.Fatal(err)
		}
		m, err := c.Receive(time.Now().Add(wait))
		if err != nil || m.Type != control.TypeError || m.Error.Reason != errIdle.Error() {
			t.Errorf("%+v, %v", m, err)
		}
		_ = c.Close()
		b.free()
	})
}

// TestLimit has a run that may take too long, and one that does.
func TestLimit(t *testing.T) {
	b := serve(t, func(cfg *ServerConfig) { cfg.Limit = 59 * time.Second })
	if _, _, err := b.client(nil); err == nil || !strings.Contains(err.Error(), "this server allows 59s") {
		t.Errorf("error %v", err)
	}
	s := NewServer(ServerConfig{Limit: time.Hour})
	if _, err := s.occupy("a", time.Hour); err != nil {
		t.Fatal(err)
	}
	if _, err := s.occupy("b", time.Second); err == nil || err.Error() != "busy: a run of a is going on, for at most 1h0m0s more" {
		t.Errorf("error %v", err)
	}
}

// TestOwner asks for what was not agreed on.
func TestOwner(t *testing.T) {
	b := serve(t, nil)
	c, _, err := b.client(nil)
	if err != nil {
		t.Fatal(err)
	}
	var reason *control.Error
	if _, err := c.Call(question(control.RoleSender), wait); !errors.As(err, &reason) || reason.Reason != "prepare before worker" {
		t.Errorf("error %v", err)
	}
	c.must(t, control.Message{Type: control.TypeWorker}, control.TypeOK)
	c.must(t, control.Message{Type: control.TypeHello, Hello: &control.Hello{Version: control.Version}}, control.TypeHello)
	for name, change := range map[string]func(*control.Prepare){
		"interface": func(p *control.Prepare) { p.Interface = "eth0" },
		"local":     func(p *control.Prepare) { p.Local = netip.MustParseAddrPort("192.0.2.9:1") },
		"peer":      func(p *control.Prepare) { p.Peer = netip.MustParseAddrPort("192.0.2.9:1") },
		"MAC":       func(p *control.Prepare) { p.LocalMAC = "02:00:00:00:00:09" },
		"next hop":  func(p *control.Prepare) { p.PeerMAC = "ff:ff:ff:ff:ff:ff" },
		"settings":  func(p *control.Prepare) { p.Keep = false },
	} {
		q := question(control.RoleSender)
		change(q.Prepare)
		if _, err := c.Call(q, wait); !errors.As(err, &reason) || reason.Reason != errOwner.Error() {
			t.Errorf("%s: error %v", name, err)
		}
	}
	c.must(t, question(control.RoleSender), control.TypeReady)
}

// TestWorkerDies loses the worker of a session, at rest and in an answer.
func TestWorkerDies(t *testing.T) {
	for _, asked := range []bool{false, true} {
		t.Run(fmt.Sprint(asked), func(t *testing.T) {
			b := serve(t, nil)
			c := b.working(control.RoleSender)
			if asked {
				if err := c.Send(control.Message{Type: control.TypeTotals}); err != nil {
					t.Fatal(err)
				}
			}
			b.workers.die()
			m, err := c.Receive(time.Now().Add(wait))
			if err != nil || m.Type != control.TypeError || !strings.Contains(m.Error.Reason, errDied.Error()) {
				t.Errorf("%+v, %v", m, err)
			}
			_ = c.Close()
			b.free()
		})
	}
}

// TestShut ends the server in the middle of a run.
func TestShut(t *testing.T) {
	b := serve(t, nil)
	c := b.working(control.RoleSender)
	b.stop()
	m, err := c.Receive(time.Now().Add(wait))
	if err != nil || m.Type != control.TypeError {
		t.Errorf("%+v, %v", m, err)
	}
	_ = c.Close()
	b.eventually("no worker is left", func() bool { return b.workers.alive.Load() == 0 })
}
