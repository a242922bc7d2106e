// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/path"
	"github.com/xdpath/xdpath/bench/internal/report"
	"github.com/xdpath/xdpath/internal/testnet"
)

// A buffer takes what a running process writes.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// hosts are two namespaces that share a veth pair and nothing else, with a server in
// the second.
type hosts struct {
	t     *testing.T
	a, b  testnet.End // the client's and the server's interface
	token string      // the file
	serve *exec.Cmd
	log   buffer
	// control is where the server listens.
	control netip.Addr
}

// twoHosts starts a server on the one side of a link.
func twoHosts(t *testing.T, args ...string) *hosts {
	t.Helper()
	pair := testnet.TestPair(t, testnet.Config{})
	h := &hosts{t: t, a: pair.A, b: pair.B, control: pair.B.IP4, token: filepath.Join(t.TempDir(), "token")}
	h.write(h.token, "a secret that both have\n")
	h.start(args...)
	return h
}

func (h *hosts) write(name, text string) {
	h.t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// start starts the server and waits until it listens.
func (h *hosts) start(args ...string) {
	h.t.Helper()
	cmd := program(append([]string{"serve", "-listen", h.control.String(), "-token", h.token}, args...)...)
	cmd.Stderr = &h.log
	if err := h.b.NS.Start(cmd); err != nil {
		h.t.Fatal(err)
	}
	h.serve = cmd
	h.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if h.t.Failed() {
			h.t.Logf("server: %s", h.log.String())
		}
	})
	eventually(h.t, "the server listens", func() bool { return strings.Contains(h.log.String(), "listens at "+h.control.String()+":9737") })
}

// client is a bench at the other end.
func (h *hosts) client(args ...string) (*exec.Cmd, *buffer) {
	cmd := program(append(args, "-peer", h.control.String(), "-i", h.a.Name, "-cpu", "0")...)
	out := &buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	return cmd, out
}

// run runs a client to its end and returns what it found.
func (h *hosts) run(args ...string) report.Document {
	h.t.Helper()
	file := filepath.Join(h.t.TempDir(), "out.json")
	cmd, out := h.client(append(args, "-token", h.token, "-json", file)...)
	err := h.a.NS.Start(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		h.t.Fatalf("%v: %s", err, out.String())
	}
	h.t.Log("\n" + out.String())
	doc := read(h.t, file)
	for _, s := range doc.Env.Skipped {
		h.t.Logf("%s: not run: %s", s.Key, s.Reason)
	}
	return doc
}

// refused runs a client that must fail at once, and returns what it said.
func (h *hosts) refused(args ...string) string {
	h.t.Helper()
	cmd, out := h.client(args...)
	err := h.a.NS.Start(cmd)
	if err == nil {
		_ = cmd.Wait()
	}
	if err != nil || cmd.ProcessState.ExitCode() != exitBroken {
		h.t.Errorf("%v, %v: %s", err, cmd.ProcessState, out.String())
	}
	return out.String()
}

// quiet waits until nothing of a run is left at the server: no process, no program on
// its interface, no socket but the one that it listens at.
func (h *hosts) quiet() {
	h.t.Helper()
	eventually(h.t, "the server has no children", func() bool { return len(children(h.serve.Process.Pid)) == 0 })
	eventually(h.t, "no program is on the server's interface", func() bool { return !h.attached() })
	eventually(h.t, "only one socket of the server is open", func() bool { return h.sockets() == 1 })
}

// attached tells whether an XDP program is on the server's interface.
func (h *hosts) attached() (yes bool) {
	h.t.Helper()
	err := h.b.NS.Do(func() error {
		l, err := netlink.LinkByName(h.b.Name)
		yes = err == nil && l.Attrs().Xdp != nil && l.Attrs().Xdp.Attached
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return yes
}

// sockets counts those of the server.
func (h *hosts) sockets() (n int) {
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", h.serve.Process.Pid))
	for _, fd := range fds {
		if target, err := os.Readlink(fd); err == nil && strings.HasPrefix(target, "socket:") {
			n++
		}
	}
	return n
}

// running starts a client whose window lasts for minutes, and waits until datagrams
// of it come in.
func (h *hosts) running(name string) (*exec.Cmd, *buffer) {
	h.t.Helper()
	cmd, out := h.client("-paths", name, "-sizes", "64", "-duration", "5m", "-runs", "1", "-token", h.token)
	if err := h.a.NS.Start(cmd); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	eventually(h.t, "traffic at the server: "+out.String(), func() bool { return carries(h.serve.Process.Pid) })
	return cmd, out
}

// TestTwoMachines runs the tests between two processes that share nothing but the
// link, the control connection going over the same one.
func TestTwoMachines(t *testing.T) {
	h := twoHosts(t)
	doc := h.run("-paths", "all", "-sizes", "64", "-duration", "50ms", "-runs", "1")
	for _, s := range doc.Env.Skipped {
		want := map[string]string{
			"asavie":       "the control connection too", // its program would cut that off
			"xdp-zerocopy": "veth has no zero-copy",
		}[s.Path]
		if want == "" || !strings.Contains(s.Reason, want) {
			t.Errorf("%s did not run: %s", s.Path, s.Reason)
		}
	}
	if want := len(path.Names(path.Stream)) - 2; len(doc.Results) != want {
		t.Errorf("%d results, want %d", len(doc.Results), want)
	}
	for _, r := range doc.Results {
		if r.Received == 0 || r.Sent != r.Received+r.Lost || r.Loss.Sum() != r.Lost || r.Loss[loss.Unaccounted] > 0 {
			t.Errorf("%+v", r)
		}
		if want := map[string]string{"gso": "whole", "xdp": "native copy"}[r.Path]; want != "" && r.Mode != want {
			t.Errorf("%s: mode %s, want %s", r.Path, r.Mode, want)
		}
	}
	s, r := doc.Env.Sender, doc.Env.Receiver
	if doc.Env.Peer == "" || s.NIC == nil || r.NIC == nil || s.NIC.Name != h.a.Name || r.NIC.Name != h.b.Name || s.PID == r.PID {
		t.Errorf("sender %+v, receiver %+v", s, r)
	}
	h.quiet()

	doc = h.run("rr", "-paths", "socket,xdp", "-duration", "50ms", "-runs", "1", "-reverse")
	if len(doc.Results) != 2 || doc.Env.Sender.NIC.Name != h.b.Name {
		t.Errorf("results %+v, skipped %+v, sender %+v", doc.Results, doc.Env.Skipped, doc.Env.Sender)
	}
	h.quiet()
}

// TestTwoMachinesMTU has a link of another MTU than the usual: rows that name none get
// it, and rows that want another one have the reason.
func TestTwoMachinesMTU(t *testing.T) {
	h := twoHosts(t)
	for _, e := range []*testnet.End{&h.a, &h.b} {
		if err := e.SetMTU(4000); err != nil {
			t.Fatal(err)
		}
	}
	doc := h.run("-paths", "mmsg", "-sizes", "3000", "-duration", "20ms", "-runs", "1")
	if len(doc.Results) != 1 || doc.Results[0].MTU != 4000 {
		t.Errorf("results %+v, skipped %+v", doc.Results, doc.Env.Skipped)
	}
	doc = h.run("-paths", "mmsg", "-sizes", "64", "-duration", "20ms", "-runs", "1", "-mtu", "1500,4000")
	if len(doc.Results) != 1 || len(doc.Env.Skipped) != 1 || !strings.Contains(doc.Env.Skipped[0].Reason, "ip link set dev "+h.a.Name+" mtu 1500") {
		t.Errorf("results %+v, skipped %+v", doc.Results, doc.Env.Skipped)
	}
	h.quiet()
}

// TestTwoMachinesRefused has clients that are not served.
func TestTwoMachinesRefused(t *testing.T) {
	h := twoHosts(t)
	wrong := filepath.Join(t.TempDir(), "wrong")
	h.write(wrong, "a secret that one has")
	if got := h.refused("-token", wrong); got != "bench: "+h.control.String()+":9737: wrong token\n" {
		t.Errorf("wrong token: said %q", got)
	}
	if got := h.refused(); !strings.Contains(got, "wants a token") {
		t.Errorf("no token: said %q", got)
	}
	h.quiet()
	h.running("mmsg")
	if got := h.refused("-token", h.token); !strings.Contains(got, "busy: a run of "+h.a.IP4.String()+":") || !strings.Contains(got, "is going on, for at most ") {
		t.Errorf("busy: said %q", got)
	}
}

// TestTwoMachinesKilled kills the client in the middle of a run, in a way that leaves
// it no time for anything. The server is as before, and serves the next one.
func TestTwoMachinesKilled(t *testing.T) {
	h := twoHosts(t)
	for _, name := range []string{"xdp", "mmsg"} {
		cmd, _ := h.running(name)
		if name == "xdp" && !h.attached() {
			t.Fatal("no program is on the interface: the test tests nothing")
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		h.quiet()
	}
	if doc := h.run("-paths", "socket", "-sizes", "64", "-duration", "20ms", "-runs", "1"); len(doc.Results) != 1 {
		t.Errorf("skipped %+v", doc.Env.Skipped)
	}
	h.quiet()
}

// TestTwoMachinesWorkerKilled kills the server's worker: a row with the reason.
func TestTwoMachinesWorkerKilled(t *testing.T) {
	h := twoHosts(t)
	cmd, out := h.running("xdp")
	for _, w := range children(h.serve.Process.Pid) {
		if err := unix.Kill(w, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(out.String(), "receiver: ") {
		t.Errorf("%v: %s", err, out.String())
	}
	h.quiet()
}

// TestTwoMachinesServerEnds asks the server to end, and kills it, in the middle of a
// run: the client ends in good order and nothing is left on either side.
func TestTwoMachinesServerEnds(t *testing.T) {
	for _, sig := range []unix.Signal{unix.SIGTERM, unix.SIGKILL} {
		t.Run(unix.SignalName(sig), func(t *testing.T) {
			h := twoHosts(t)
			cmd, out := h.running("xdp")
			workers := append(children(h.serve.Process.Pid), children(cmd.Process.Pid)...)
			_ = h.serve.Process.Signal(sig)
			_ = h.serve.Wait()
			_ = cmd.Wait()
			if status := cmd.ProcessState.ExitCode(); status != exitOK || !strings.Contains(out.String(), "receiver: ") {
				t.Errorf("exit status %d: %s", status, out.String())
			}
			if status := h.serve.ProcessState.ExitCode(); sig == unix.SIGTERM && status != exitOK {
				t.Errorf("exit status %d of the server", status)
			}
			for _, w := range workers {
				eventually(t, fmt.Sprintf("worker %d ends", w), func() bool { return !alive(w) })
			}
			eventually(t, "no program is left", func() bool { return !h.attached() })
		})
	}
}

// TestTwoMachinesHalf loses the server after some runs: what there is is shown, and the
// exit status tells.
func TestTwoMachinesHalf(t *testing.T) {
	h := twoHosts(t)
	file := filepath.Join(t.TempDir(), "out.json")
	cmd, out := h.client("-paths", "mmsg,socket", "-sizes", "64", "-duration", "50ms", "-runs", "500", "-token", h.token, "-json", file)
	if err := h.a.NS.Start(cmd); err != nil {
		t.Fatal(err)
	}
	eventually(t, "several runs are through", func() bool { return h.packets() > 500_000 })
	_ = h.serve.Process.Kill()
	_ = h.serve.Wait()
	_ = cmd.Wait()
	// The client may have been at the door again just then, and heard it slam.
	gone := strings.Contains(out.String(), "no bench serves at") || strings.Contains(out.String(), "receive greeting")
	if status := cmd.ProcessState.ExitCode(); status != exitBroken || !strings.Contains(out.String(), "has not run all") || !gone {
		t.Errorf("exit status %d: %s", status, out.String())
	}
	if doc := read(t, file); len(doc.Results) == 0 {
		t.Error("no results")
	}
}

// packets counts those that the server's interface has received.
func (h *hosts) packets() (n uint64) {
	h.t.Helper()
	err := h.b.NS.Do(func() error {
		l, err := netlink.LinkByName(h.b.Name)
		if err == nil {
			n = l.Attrs().Statistics.RxPackets
		}
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return n
}

// TestTwoLinks has the control connection go over a link of its own, so that a path
// that takes all frames can run.
func TestTwoLinks(t *testing.T) {
	pair, side := testnet.TestPair(t, testnet.Config{}), testnet.TestPair(t, testnet.Config{})
	for _, m := range []struct {
		from *testnet.End
		to   *testnet.NS
		addr string
	}{{&side.A, pair.A.NS, "10.8.0.1/24"}, {&side.B, pair.B.NS, "10.8.0.2/24"}} {
		old, addr := m.from.NS, netip.MustParsePrefix(m.addr)
		if err := errors.Join(m.from.Move(m.to), m.from.AddAddr(addr), m.from.SetUp(true), old.Close()); err != nil {
			t.Fatal(err)
		}
		m.from.IP4 = addr.Addr()
	}
	h := &hosts{t: t, a: pair.A, b: pair.B, control: side.B.IP4, token: filepath.Join(t.TempDir(), "token")}
	h.write(h.token, "a secret that both have\n")
	h.start("-i", pair.B.Name)
	doc := h.run("-paths", "asavie,xdp", "-sizes", "64", "-duration", "20ms", "-runs", "2")
	if len(doc.Results) != 4 || doc.Env.Receiver.NIC.Name != pair.B.Name {
		t.Errorf("results %+v, receiver %+v", doc.Results, doc.Env.Receiver)
	}
	h.quiet()
	// And without its name the server takes the interface that the client comes by,
	// which has no way to the address of the client's.
	_ = h.serve.Process.Kill()
	_ = h.serve.Wait()
	h.log = buffer{}
	h.start()
	if got := h.refused("-token", h.token); !strings.Contains(got, "is neither in a network of "+side.B.Name) {
		t.Errorf("said %q", got)
	}
}

// TestServeUsage has servers that must not start.
func TestServeUsage(t *testing.T) {
	short := filepath.Join(t.TempDir(), "short")
	if err := os.WriteFile(short, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"-listen 0.0.0.0":                  "needs a token",
		"-listen :9737":                    "needs a token",
		"-listen 10.9.0.2 -token " + short: "must have at least 16",
		"-token /nonexistent/token":        "no such file",
		"-limit 0s":                        "-limit 0s",
		"run":                              "takes flags only",
		"-cpu 100000":                      "this process may use",
		"-peer 10.9.0.2":                   "flag provided but not defined",
	} {
		var stderr bytes.Buffer
		if status := run(append([]string{"serve"}, strings.Fields(args)...), &stderr, &stderr); status != exitUsage || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: exit status %d: %s, want %q", args, status, stderr.String(), want)
		}
	}
	for args, want := range map[string]string{
		"-peer 10.9.0.2": "-peer needs -i",
		"-i eth0":        "go with -peer only",
	} {
		var stderr bytes.Buffer
		if status := run(strings.Fields(args), &stderr, &stderr); status != exitUsage || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: exit status %d: %s, want %q", args, status, stderr.String(), want)
		}
	}
}

// TestGuarded knows which addresses others can reach.
func TestGuarded(t *testing.T) {
	for _, listen := range []string{"127.0.0.1:9737", "[::1]:9737", "localhost:9737", "127.8.8.8:1"} {
		if err := guarded(listen, nil); err != nil {
			t.Errorf("%s: %v", listen, err)
		}
	}
	for _, listen := range []string{"0.0.0.0:9737", "[::]:9737", ":9737", "10.9.0.2:9737", "example.org:9737"} {
		if err := guarded(listen, nil); err == nil {
			t.Errorf("%s needs no token", listen)
		}
		if err := guarded(listen, []byte("0123456789abcdef")); err != nil {
			t.Errorf("%s with a token: %v", listen, err)
		}
	}
}
