// SPDX-License-Identifier: MIT

package worker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/cpu"
	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/path"
	"github.com/xdpath/xdpath/bench/internal/pathtest"
	"github.com/xdpath/xdpath/bench/internal/stream"
)

const wait = 10 * time.Second

// A rig is a worker under test and the controller's end of its stream.
type rig struct {
	t    *testing.T
	raw  net.Conn
	conn *control.Conn
	done chan error // what Serve returned
}

// serve starts a worker whose paths are the ends of wire.
func serve(t *testing.T, wire *pathtest.Wire) *rig {
	t.Helper()
	return serveEnds(t, func(p control.Prepare) (path.End, error) {
		switch {
		case p.Path != "wire":
			return nil, pathtest.ErrNoPath
		case p.Role == control.RoleSender:
			return wire.Sender(), nil
		default:
			return wire.Receiver(), nil
		}
	})
}

// serveEnds starts a worker that opens paths that way.
func serveEnds(t *testing.T, open func(control.Prepare) (path.End, error)) *rig {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	raw, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, raw: raw, conn: control.NewConn(raw), done: make(chan error, 1)}
	var tick uint64
	cfg := Config{
		Facts: control.Facts{Machine: "test", CPUs: 2},
		Open:  func(_ context.Context, p control.Prepare) (path.End, error) { return open(p) },
		Meter: func(control.Prepare) (Gauges, error) {
			tick++
			return Gauges{RXDropped: 5 * tick, TXDropped: 3 * tick, Machine: cpu.Times{User: 100 * tick, CPUs: 2}, User: time.Duration(tick)}, nil
		},
	}
	go func() { r.done <- Serve(control.NewConn(theirs), cfg) }()
	t.Cleanup(func() { _ = r.conn.Close() })
	return r
}

func (r *rig) ask(m control.Message) (control.Message, error) {
	r.t.Helper()
	return r.conn.Call(m, wait)
}

// must asks and wants an answer of that type.
func (r *rig) must(m control.Message, want control.Type) control.Message {
	r.t.Helper()
	a, err := r.ask(m)
	if err != nil || a.Type != want {
		r.t.Fatalf("%s: answer %q, error %v, want %q", m.Type, a.Type, err, want)
	}
	return a
}

// refused asks and wants an error with a text in it.
func (r *rig) refused(m control.Message, want string) {
	r.t.Helper()
	var reason *control.Error
	if a, err := r.ask(m); !errors.As(err, &reason) || !strings.Contains(reason.Reason, want) {
		r.t.Errorf("%s: answer %q, error %v, want %q in it", m.Type, a.Type, err, want)
	}
}

// ended wants Serve to return, and returns its error.
func (r *rig) ended() error {
	r.t.Helper()
	select {
	case err := <-r.done:
		return err
	case <-time.After(wait):
		r.t.Fatal("the worker serves on")
		return nil
	}
}

func hello() control.Message {
	return control.Message{Type: control.TypeHello, Hello: &control.Hello{Version: control.Version}}
}

func prepare(role control.Role, name string) control.Message {
	return control.Message{Type: control.TypePrepare, Prepare: &control.Prepare{
		Test: stream.Name, Role: role, Interface: "x",
		Row:   control.Row{Path: name, Size: 64, Batch: 8, MTU: 1500},
		Local: netip.MustParseAddrPort("10.9.0.1:1"), Peer: netip.MustParseAddrPort("10.9.0.2:2"),
		LocalMAC: "02:00:00:00:00:01", PeerMAC: "02:00:00:00:00:02",
	}}
}

func start(run uint32, d time.Duration) control.Message {
	return control.Message{Type: control.TypeStart, Start: &control.Start{Run: run, Duration: d}}
}

var (
	stop   = control.Message{Type: control.TypeStop}
	totals = control.Message{Type: control.TypeTotals}
	closed = control.Message{Type: control.TypeClose}
	bye    = control.Message{Type: control.TypeBye}
)

func TestSenderWindow(t *testing.T) {
	wire := pathtest.NewWire(64, 8)
	r := serve(t, wire)
	r.must(hello(), control.TypeHello)
	r.must(prepare(control.RoleSender, "wire"), control.TypeReady)
	for run := uint32(1); run <= 2; run++ {
		r.must(start(run, 20*time.Millisecond), control.TypeOK)
		got := r.must(totals, control.TypeTotals).Totals
		if got.Run != run || got.Sent == 0 || got.Elapsed < 20*time.Millisecond {
			t.Errorf("totals %+v", got)
		}
		if got.Lost.Get(loss.DeviceTX) != 3 || got.Machine.User != 100 || got.User != 1 {
			t.Errorf("gauges in %+v", got)
		}
	}
	r.must(closed, control.TypeOK)
	r.must(bye, control.TypeOK)
	if err := r.ended(); err != nil || wire.Closed() != 1 {
		t.Errorf("%v, %d ends closed", err, wire.Closed())
	}
}

func TestReceiverWindow(t *testing.T) {
	wire := pathtest.NewWire(64, 8)
	wire.DropNth = 10
	tx, rx := serve(t, wire), serve(t, wire)
	for r, role := range map[*rig]control.Role{tx: control.RoleSender, rx: control.RoleReceiver} {
		r.must(hello(), control.TypeHello)
		r.must(prepare(role, "wire"), control.TypeReady)
	}
	rx.must(start(7, 20*time.Millisecond), control.TypeOK)
	tx.must(start(7, 20*time.Millisecond), control.TypeOK)
	sent := tx.must(totals, control.TypeTotals).Totals
	rx.must(stop, control.TypeOK)
	got := rx.must(totals, control.TypeTotals).Totals
	lost := sent.Sent - got.Tally.Received
	if got.Run != 7 || got.Tally.Received == 0 || lost == 0 || got.Lost.Get(loss.Socket) != lost || got.Lost.Get(loss.DeviceRX) != 5 {
		t.Errorf("sent %d, totals %+v", sent.Sent, got)
	}
}

// TestOrder asks for things before their time.
func TestOrder(t *testing.T) {
	r := serve(t, pathtest.NewWire(64, 8))
	relay := prepare(control.RoleSender, "wire")
	relay.Prepare.Test = "relay race"
	r.refused(prepare(control.RoleSender, "wire"), "prepare before hello")
	r.refused(control.Message{Type: control.TypeHello, Hello: &control.Hello{Version: control.Version + 1}}, fmt.Sprintf("protocol version %d, this worker has %d", control.Version+1, control.Version))
	r.refused(start(1, time.Second), "start before hello")
	r.must(hello(), control.TypeHello)
	r.refused(start(1, time.Second), "without a path")
	r.refused(stop, "without a window")
	r.refused(totals, "without a window")
	r.must(closed, control.TypeOK)
	r.refused(prepare(control.RoleSender, "carrier pigeon"), "no such path")
	r.refused(relay, `no test "relay race", there are stream, rr, mtu, camera`)
	r.must(prepare(control.RoleReceiver, "wire"), control.TypeReady)
	r.refused(prepare(control.RoleReceiver, "wire"), "while a path is open")
	r.refused(control.Message{Type: control.TypeOK}, "no question")
	r.must(start(1, time.Second), control.TypeOK)
	r.refused(start(2, time.Second), "while a window is open")
	r.must(stop, control.TypeOK)
	r.must(start(2, time.Second), control.TypeOK)
	r.must(closed, control.TypeOK)
	r.refused(totals, "without a window")
}

// TestFailingPath proves that neither an error nor a panic of a path is the end
// of its worker.
func TestFailingPath(t *testing.T) {
	wire := pathtest.NewWire(64, 8)
	r := serve(t, wire)
	r.must(hello(), control.TypeHello)
	r.must(prepare(control.RoleSender, "wire"), control.TypeReady)
	for want, set := range map[string]func(*pathtest.Wire){
		"cable cut": func(w *pathtest.Wire) { w.SendErr, w.Panic = errors.New("cable cut"), "" },
		"panicked":  func(w *pathtest.Wire) { w.Panic = "sendto failed with errno 100" },
	} {
		wire.Set(set)
		r.must(start(1, time.Minute), control.TypeOK)
		r.refused(totals, want)
	}
	wire.Set(func(w *pathtest.Wire) { w.SendErr, w.Panic = nil, "" })
	r.must(start(1, 10*time.Millisecond), control.TypeOK)
	r.must(totals, control.TypeTotals)
}

// TestControllerVanishes closes the stream at every stage: the worker ends at
// once and closes what was open.
func TestControllerVanishes(t *testing.T) {
	stages := map[string][]control.Message{
		"before hello":    nil,
		"with a path":     {hello(), prepare(control.RoleSender, "wire")},
		"in a window":     {hello(), prepare(control.RoleSender, "wire"), start(1, 10*time.Minute)},
		"receiving":       {hello(), prepare(control.RoleReceiver, "wire"), start(1, 10*time.Minute)},
		"in an answer":    {hello(), prepare(control.RoleSender, "wire"), start(1, 10*time.Minute), totals},
		"after the close": {hello(), prepare(control.RoleSender, "wire"), closed},
	}
	for name, messages := range stages {
		t.Run(name, func(t *testing.T) {
			wire := pathtest.NewWire(64, 8)
			r := serve(t, wire)
			for _, m := range messages {
				if m.Type == control.TypeTotals {
					if err := r.conn.Send(m); err != nil {
						t.Fatal(err)
					}
					continue
				}
				if _, err := r.ask(m); err != nil {
					t.Fatal(err)
				}
			}
			if err := r.conn.Close(); err != nil {
				t.Fatal(err)
			}
			// Not even an answer under way makes an error of it.
			if err := r.ended(); err != nil {
				t.Error(err)
			}
			if len(messages) > 1 && wire.Closed() != 1 {
				t.Errorf("%d ends closed", wire.Closed())
			}
		})
	}
}

// TestGarbage ends the worker, with an error.
func TestGarbage(t *testing.T) {
	for name, bytes := range map[string]string{
		"HTTP":             "GET / HTTP/1.1\r\n\r\n",
		"too long":         "\xff\xff\xff\xff",
		"not our business": "\x00\x00\x00\x10{\"type\":\"exec\"} ",
	} {
		t.Run(name, func(t *testing.T) {
			wire := pathtest.NewWire(64, 8)
			r := serve(t, wire)
			r.must(hello(), control.TypeHello)
			r.must(prepare(control.RoleSender, "wire"), control.TypeReady)
			if _, err := r.raw.Write([]byte(bytes)); err != nil {
				t.Fatal(err)
			}
			if err := r.ended(); err == nil {
				t.Error("no error")
			}
			if wire.Closed() != 1 {
				t.Errorf("%d ends closed", wire.Closed())
			}
		})
	}
}

// TestFlood sends questions without waiting for answers.
func TestFlood(t *testing.T) {
	r := serve(t, pathtest.NewWire(64, 8))
	r.must(hello(), control.TypeHello)
	r.must(prepare(control.RoleSender, "wire"), control.TypeReady)
	r.must(start(1, time.Minute), control.TypeOK)
	for range 4 {
		if err := r.conn.Send(totals); err != nil {
			break
		}
	}
	if err := r.ended(); err == nil || !strings.Contains(err.Error(), "before the answer") {
		t.Errorf("error %v", err)
	}
}
