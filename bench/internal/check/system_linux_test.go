// SPDX-License-Identifier: MIT

package check

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"

	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/xsk"
)

// holderArg makes this test binary a process that has an AF_XDP socket.
const holderArg = "hold-a-socket"

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == holderArg {
		hold(os.Args[2])
		return
	}
	os.Exit(m.Run())
}

// hold opens queue 1, says so, and waits for its input to end.
func hold(name string) {
	s, err := xsk.Open(xsk.Config{Interface: name, Queue: 1, Mode: xsk.Copy})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("open")
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = s.Close()
}

// startHolder returns when the socket is open; the test's end ends the process.
func startHolder(t *testing.T, e *testnet.End) int {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", holderArg, e.Name)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := e.NS.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	said := make([]byte, 200)
	if n, err := out.Read(said); err != nil || string(said[:n]) != "open\n" {
		t.Fatalf("the holder says %q, %v", said[:n], err)
	}
	return cmd.Process.Pid
}

// attach puts a program of somebody else's on an interface.
func attach(t *testing.T, e *testnet.End) {
	t.Helper()
	const xdpPass = 2
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "somebody_elses", Type: ebpf.XDP, License: "MIT",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, xdpPass), asm.Return()},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = prog.Close() }()
	var l link.Link
	err = e.NS.Do(func() (err error) {
		l, err = link.AttachXDP(link.XDPOptions{Program: prog, Interface: e.Index, Flags: link.XDPDriverMode})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
}

// A veth with several queues, on which somebody else has a program, and another
// process a socket.
func TestOccupied(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{Queues: 3})
	testnet.Leaks(t)
	pid := startHolder(t, &p.B)
	attach(t, &p.B)
	var r Report
	err := p.B.NS.Do(func() (err error) {
		r, err = Examine(System{}, p.B.Name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	m, i := r.Machine.Facts, r.Interfaces[0].Facts
	if m.XSKs != 1 || len(m.Owners) != 1 || m.Owners[0].PID != pid || m.Owners[0].Name == "" {
		t.Errorf("%d sockets, owners %+v; want one of %d", m.XSKs, m.Owners, pid)
	}
	if i.Driver != "veth" || i.RxQueues != 3 || i.MTU != 1500 || !i.Up || !i.Carrier || !i.Features.Known || i.Features.ZeroCopy {
		t.Errorf("interface %+v", i)
	}
	if len(i.Programs) != 1 || i.Programs[0].Name != "somebody_elses" || i.Programs[0].Mode != "native" || i.Programs[0].Link == 0 {
		t.Errorf("programs %+v", i.Programs)
	}
	all := r.Interfaces[0].Findings
	if running().has(tellsBound) {
		if !slices.Equal(i.Bound, []int{1}) {
			t.Errorf("bound queues %v, want 1", i.Bound)
		}
		expect(t, all, "bound queues", Warning, "queue 1 of 3", fmt.Sprintf("(pid %d)", pid))
	}
	expect(t, all, "XDP program", Problem, "somebody_elses", "bpftool link detach")
	expect(t, all, "queues", Note, "3 to receive", "ethtool -L "+i.Name+" rx 1 tx 1")
	expect(t, all, "mode", OK, "native", "no kernel's veth")
	expect(t, all, "offloads", Note, "checksums")
	if r.Worst != Problem {
		t.Errorf("worst is %v:\n%s", r.Worst, write(all))
	}
}

// A free veth is told to be free, and an interface that is down to be down.
func TestFree(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{})
	look := func() Report {
		t.Helper()
		var r Report
		err := p.B.NS.Do(func() (err error) {
			r, err = Examine(System{}, p.B.Name)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	all := look().Interfaces[0].Findings
	expect(t, all, "XDP program", OK, "none")
	expect(t, all, "link", OK, "veth")
	if running().has(tellsBound) {
		expect(t, all, "bound queues", OK, "none")
	}
	if err := p.B.SetUp(false); err != nil {
		t.Fatal(err)
	}
	expect(t, look().Interfaces[0].Findings, "link", Problem, "ip link set "+p.B.Name+" up")
}

// Whoever runs it and whatever there is, it has an answer.
func TestHere(t *testing.T) {
	r, err := Examine(System{}, "")
	if err != nil {
		t.Fatal(err)
	}
	if !r.Brief || r.Machine.Facts.Version == (Version{}) || r.Machine.Facts.Online < r.Machine.Facts.CPUs {
		t.Errorf("%+v", r.Machine.Facts)
	}
	for _, i := range r.Interfaces {
		if i.Facts.Loopback {
			expect(t, i.Findings, "stacked", Warning, "loopback")
		}
	}
	if _, err := Examine(System{}, "none-such"); !errors.Is(err, ErrNoInterface) || !strings.Contains(err.Error(), "none-such") {
		t.Errorf("no such interface: %v", err)
	}
}

// The list of sockets, where the kernel has one.
func TestListSockets(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{Queues: 2})
	pid := startHolder(t, &p.B)
	var i Interface
	var listed bool
	err := p.B.NS.Do(func() (err error) {
		_, listed = listSockets()
		i, err = System{}.Interface(p.B.Name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if !listed && len(i.Sockets) != 0 {
		t.Errorf("sockets without a list: %+v", i.Sockets)
	}
	if listed && (len(i.Sockets) != 1 || i.Sockets[0].Queue != 1 || len(i.Sockets[0].Owners) == 0 || i.Sockets[0].Owners[0].PID != pid) {
		t.Errorf("sockets %+v, want one of %d", i.Sockets, pid)
	}
	// The way from a socket to its process does not depend on the list.
	var inodes []uint64
	if err := p.B.NS.Do(func() error { inodes = look().sockets[pid]; return nil }); err != nil || len(inodes) != 1 {
		t.Fatalf("sockets of %d: %v, %v", pid, inodes, err)
	}
	if owners := holding(inodes[0]); !slices.ContainsFunc(owners, func(o Owner) bool { return o.PID == pid }) {
		t.Errorf("socket %d is held by %+v, not by %d", inodes[0], owners, pid)
	}
}
