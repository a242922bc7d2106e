// SPDX-License-Identifier: MIT

package remote

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/cpu"
	"github.com/xdpath/xdpath/bench/internal/path"
	"github.com/xdpath/xdpath/bench/internal/pathtest"
	"github.com/xdpath/xdpath/bench/internal/stream"
	"github.com/xdpath/xdpath/bench/internal/worker"
	"github.com/xdpath/xdpath/internal/testnet"
)

const wait = time.Minute

var agreed = control.Welcome{
	Interface: "eth7", Addr: netip.MustParseAddr("192.0.2.2"), Client: netip.MustParseAddr("192.0.2.1"),
	MAC: "02:00:00:00:00:02", NextHop: "02:00:00:00:00:01", MTU: 1500,
}

// workers are those of a server, in this process: they have one path, a wire.
type workers struct {
	wire  *pathtest.Wire
	alive atomic.Int32
	mu    sync.Mutex
	last  net.Conn // of the worker that was started last
}

func newWorkers() *workers { return &workers{wire: pathtest.NewWire(64, 8)} }

func (w *workers) start(context.Context) (Worker, error) {
	ours, theirs := net.Pipe()
	w.mu.Lock()
	w.last = theirs
	w.mu.Unlock()
	w.alive.Add(1)
	exited := make(chan struct{})
	conn := control.NewConn(ours)
	go func() {
		defer close(exited)
		defer w.alive.Add(-1)
		_ = worker.Serve(control.NewConn(theirs), worker.Config{
			Facts: control.Facts{Machine: "test"},
			Open: func(_ context.Context, p control.Prepare) (path.End, error) {
				switch {
				case p.Path != "socket":
					return nil, pathtest.ErrNoPath
				case p.Role == control.RoleSender:
					return w.wire.Sender(), nil
				default:
					return w.wire.Receiver(), nil
				}
			},
			Meter: func(control.Prepare) (worker.Gauges, error) { return worker.Gauges{Machine: cpu.Times{CPUs: 2}}, nil },
		})
	}()
	return Worker{Conn: conn, Exited: exited, Stop: func() {
		_ = conn.Close()
		<-exited
	}}, nil
}

// die is what a crash of the worker looks like.
func (w *workers) die() {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.last.Close()
}

func here(context.Context, net.Addr, net.Addr, control.Open) (control.Welcome, error) {
	return agreed, nil
}

// A bed is a server under test.
type bed struct {
	t       *testing.T
	addr    string
	workers *workers
	server  *Server
	stop    context.CancelFunc
	ended   chan error

	mu  sync.Mutex
	log []string
}

// serve starts a server. When the test ends nothing of it may be left.
func serve(t *testing.T, change func(*ServerConfig)) *bed {
	t.Helper()
	testnet.Leaks(t)
	b := &bed{t: t, workers: newWorkers(), ended: make(chan error, 1)}
	cfg := ServerConfig{Limit: time.Hour, Start: b.workers.start, place: here, Log: func(line string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.log = append(b.log, line)
	}}
	if change != nil {
		change(&cfg)
	}
	ctx, stop := context.WithCancel(context.Background())
	b.stop = stop
	l, err := Listen(ctx, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b.addr = l.Addr().String()
	b.server = NewServer(cfg)
	go func() { b.ended <- b.server.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		select {
		case err := <-b.ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(wait):
			t.Error("the server serves on")
		}
		if n := b.workers.alive.Load(); n != 0 {
			t.Errorf("%d workers are left", n)
		}
	})
	return b
}

// told tells whether a line of the log has a text in it.
func (b *bed) told(text string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Contains(strings.Join(b.log, "\n"), text)
}

// eventually waits until f holds.
func (b *bed) eventually(what string, f func() bool) {
	b.t.Helper()
	for end := time.Now().Add(wait); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("still not so after %v: %s; log %q", wait, what, b.log)
		}
	}
}

// free waits until the server has no session and no worker.
func (b *bed) free() {
	b.t.Helper()
	b.eventually("no worker is left", func() bool { return b.workers.alive.Load() == 0 })
	b.eventually("a new client would be let in", func() bool {
		b.server.mu.Lock()
		defer b.server.mu.Unlock()
		return b.server.user == ""
	})
}

// A client is the other end in small.
type client struct {
	*control.Conn
	raw net.Conn
}

// client connects and asks for a session.
func (b *bed) client(token control.Token) (client, control.Welcome, error) {
	b.t.Helper()
	c := b.dial()
	w, err := c.join(control.Own(), token)
	return c, w, err
}

func (b *bed) dial() client {
	b.t.Helper()
	raw, err := net.Dial("tcp", b.addr)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = raw.Close() })
	return client{control.NewConn(raw), raw}
}

// join does what a client does first.
func (c client) join(own control.Greeting, token control.Token) (control.Welcome, error) {
	s := channel{Conn: c.Conn}
	if err := control.SendGreeting(c.raw, own); err != nil {
		return control.Welcome{}, err
	}
	cfg := Config{Token: token, Longest: time.Minute}
	err := s.negotiate(cfg, []netip.Prefix{netip.PrefixFrom(agreed.Client, 24)}, c.raw)
	return s.welcome, err
}

// must asks and wants an answer of that type.
func (c client) must(t *testing.T, q control.Message, want control.Type) control.Message {
	t.Helper()
	a, err := c.Call(q, wait)
	if err != nil || a.Type != want {
		t.Fatalf("%s: answer %q, error %v, want %q", q.Type, a.Type, err, want)
	}
	return a
}

// working is a client whose worker has a path open, with a window on it that lasts
// for minutes.
func (b *bed) working(role control.Role) client {
	b.t.Helper()
	c, _, err := b.client(nil)
	if err != nil {
		b.t.Fatal(err)
	}
	c.must(b.t, control.Message{Type: control.TypeWorker}, control.TypeOK)
	c.must(b.t, control.Message{Type: control.TypeHello, Hello: &control.Hello{Version: control.Version}}, control.TypeHello)
	c.must(b.t, question(role), control.TypeReady)
	c.must(b.t, control.Message{Type: control.TypeStart, Start: &control.Start{Run: 1, Duration: 10 * time.Minute}}, control.TypeOK)
	return c
}

// question makes prepare messages that keep to what was agreed on.
func question(role control.Role) control.Message {
	return control.Message{Type: control.TypePrepare, Prepare: &control.Prepare{
		Test: stream.Name, Role: role, Interface: agreed.Interface, Keep: true,
		Row:   control.Row{Path: "socket", Size: 64, Batch: 8, MTU: 1500},
		Local: netip.AddrPortFrom(agreed.Addr, 1), Peer: netip.AddrPortFrom(agreed.Client, 2),
		LocalMAC: agreed.MAC, PeerMAC: agreed.NextHop,
	}}
}
