// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/xdpath/xdpath/examples/internal/iperf"
	"github.com/xdpath/xdpath/examples/internal/program"
	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/udp"
)

func TestMain(m *testing.M) {
	if program.IsExample() {
		main()
		return
	}
	os.Exit(m.Run())
}

const port = 5001

// start runs source at an end, towards another, with more arguments.
func start(t *testing.T, from testnet.End, to netip.Addr, args string) *program.Program {
	t.Helper()
	all := append([]string{"-i", from.Name, "-to", netip.AddrPortFrom(to, port).String()}, strings.Fields(args)...)
	return program.Example(t, from.NS.Start, all...)
}

// counts reads the numbers of lost and of all datagrams in a line.
func counts(t *testing.T, line string) (lost, all int) {
	t.Helper()
	_, after, _ := strings.Cut(line, " ms ")
	if _, err := fmt.Sscanf(after, "%d/%d", &lost, &all); err != nil {
		t.Errorf("%v in %q", err, line)
	}
	return lost, all
}

// checkSource reads source's output: it ended well, with a report of no loss, and sent
// all but its first datagrams by the fast lane.
func checkSource(t *testing.T, out string, atLeast int) {
	t.Helper()
	_, report, ok := strings.Cut(out, "Server Report:\n"+iperf.ReceiverTitle+"\n")
	if !ok {
		t.Errorf("no report in:\n%s", out)
		return
	}
	line, rest, _ := strings.Cut(report, "\n")
	lost, all := counts(t, line)
	if lost != 0 || all < atLeast {
		t.Errorf("of at least %d: %s", atLeast, line)
	}
	if want := fmt.Sprintf("Sent %d datagrams", all); !strings.Contains(out, want) {
		t.Errorf("no %q in:\n%s", want, out)
	}
	var fast, kernel int
	_, total, _ := strings.Cut(rest, "; sent ")
	fmt.Sscanf(total, "%d fast, %d kernel", &fast, &kernel) // 0 if it is not there
	// The last is sent again if the report takes its time.
	if sent := fast + kernel; sent < all || sent > all+attempts || kernel > all/4 {
		t.Errorf("%d were sent fast and %d by the kernel, of %d", fast, kernel, all)
	}
	t.Log("source:", line)
	t.Log("source:", strings.TrimSpace(rest))
}

// A stock iperf 2 sees no loss at 50 Mb/s, by its own report.
func TestIperfReceives(t *testing.T) {
	program.Installed(t, "iperf", "iperf")
	pair := testnet.TestPair(t, testnet.Config{Queues: 2, IPv6: true})
	for _, c := range []struct {
		name    string
		to      netip.Addr
		server  string
		args    string
		atLeast int
	}{
		{"IPv4", pair.B.IP4, "", "-b 50m -t 2s -gaps", 5000},
		{"IPv6", pair.B.IP6, " -V", "-b 50m -t 1s -l 1450", 2000},
		{"smallest", pair.B.IP4, "", "-b 1m -t 1s -l 20", 3000},
		{"by the second queue", pair.B.IP4, "", "-b 10m -t 1s -queue 1", 500},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := strings.Fields("-s -u -p 5001 -w 2M" + c.server)
			theirs := program.Other(t, pair.B.NS.Start, "iperf", server...)
			theirs.Line("Server listening")
			ours := start(t, pair.A, c.to, c.args)
			t.Log(ours.Line("sending to"))
			line := theirs.Line(" ms ", "%)")
			out, err := ours.Wait()
			if err != nil {
				t.Fatal(err)
			}
			checkSource(t, out, c.atLeast)
			if lost, all := counts(t, line); lost != 0 || all < c.atLeast || !strings.Contains(out, fmt.Sprintf("0/%d (0%%)", all)) {
				t.Errorf("iperf: %s", line)
			}
			t.Log("iperf:", line)
			if strings.Contains(c.args, "-gaps") && (!strings.Contains(out, " gaps of 235.2µs: ") || !strings.Contains(out, "longest burst 0\n")) {
				t.Errorf("no gaps, or bursts:\n%s", out)
			}
		})
	}
}

// With examples/sink at the other end.
func TestSink(t *testing.T) {
	testnet.Require(t)
	sink := program.Build(t, "../sink")
	t.Run("agrees", func(t *testing.T) { agrees(t, sink) })
	t.Run("interrupted", func(t *testing.T) { interrupted(t, sink) })
	t.Run("link", func(t *testing.T) { linkGoes(t, sink) })
}

// Source and sink agree, and lose nothing.
func agrees(t *testing.T, sink string) {
	pair := testnet.TestPair(t, testnet.Config{Queues: 2, IPv6: true})
	for _, c := range []struct {
		to   netip.Addr
		args string
	}{
		{pair.B.IP4, "-b 50m -t 2s"},
		{pair.B.IP6, "-b 50m -t 1s -l 1400"},
	} {
		t.Run(c.to.String(), func(t *testing.T) {
			theirs := program.Other(t, pair.B.NS.Start, sink, "-i", pair.B.Name, "-interval", "0")
			theirs.Line("listening")
			out, err := start(t, pair.A, c.to, c.args).Wait()
			if err != nil {
				t.Fatal(err)
			}
			checkSource(t, out, 2000)
			line := theirs.Line(" ms ")
			if lost, all := counts(t, line); lost != 0 || !strings.Contains(out, fmt.Sprintf("0/%d (0%%)", all)) {
				t.Errorf("sink: %s", line)
			}
			t.Log("sink:", line)
			total := theirs.Interrupt()
			if !strings.Contains(total, "lost: ring 0, socket 0, bad checksum 0, malformed 0, other source 0;") {
				t.Errorf("sink lost some:\n%s", total)
			}
		})
	}
}

// Ctrl-C ends the sending early, and the receiver's report still comes.
func interrupted(t *testing.T, sink string) {
	pair := testnet.TestPair(t, testnet.Config{})
	program.Other(t, pair.B.NS.Start, sink, "-i", pair.B.Name).Line("listening")
	ours := start(t, pair.A, pair.B.IP4, "-b 10m -t 1h")
	ours.Line("sec", "Bytes") // of the first second
	checkSource(t, ours.Interrupt(), 500)
}

// Where nobody listens, source says so, and soon.
func TestNobodyListens(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	begun := time.Now()
	out, err := start(t, pair.A, pair.B.IP4, "-t 1h").Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(out, "nobody listens at 10.9.0.2:5001") {
		t.Errorf("%v:\n%s", err, out)
	}
	if d := time.Since(begun); d > 10*time.Second {
		t.Errorf("after %v", d)
	}
}

// inside runs source in this process, at an end.
func inside(end testnet.End, s settings) (string, error) {
	s.name = end.Name
	var out bytes.Buffer
	err := end.NS.Do(func() error { return run(context.Background(), s, &out) })
	return out.String(), err
}

// A receiver that is no iperf gets what it is sent, but source gets no report.
func TestNoReport(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	testnet.Leaks(t)
	to := netip.AddrPortFrom(pair.B.IP4, port)
	var mute *net.UDPConn
	if err := pair.B.NS.Do(func() (err error) {
		mute, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(to))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	_, err := inside(pair.A, settings{to: to, rate: 1e6, size: 100, time: 10 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "no report from "+to.String()) {
		t.Error(err)
	}
	b := make([]byte, 200)
	n, err := mute.Read(b)
	if h, ok := iperf.ParseHeader(b[:n]); err != nil || n != 100 || !ok || h.Number != 1 {
		t.Errorf("the first of %d bytes is %v, %v", n, h, err)
	}
}

func TestSourceRefuses(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	testnet.Leaks(t)
	good := settings{to: netip.AddrPortFrom(pair.B.IP4, port), rate: 1e6, size: 1000, time: time.Second}
	bad := good
	bad.size = 5000
	if _, err := inside(pair.A, bad); err == nil || !strings.Contains(err.Error(), "-l 5000: a frame has room for") {
		t.Errorf("too large: %v", err)
	}
	bad = good
	bad.to = netip.MustParseAddrPort("192.0.2.1:5001")
	if _, err := inside(pair.A, bad); !errors.Is(err, syscall.ENETUNREACH) {
		t.Errorf("no route: %v", err)
	}
	if _, err := inside(testnet.End{NS: pair.A.NS, Name: "none"}, good); !errors.Is(err, udp.ErrNoInterface) {
		t.Errorf("no such interface: %v", err)
	}
}

// A link that is down for a while costs datagrams and not the test; an interface that is gone ends it.
func linkGoes(t *testing.T, sink string) {
	pair := testnet.TestPair(t, testnet.Config{})
	theirs := program.Other(t, pair.B.NS.Start, sink, "-i", pair.B.Name)
	theirs.Line("listening")
	ours := start(t, pair.A, pair.B.IP4, "-b 10m -t 3s")
	ours.Line("sec", "Bytes")
	if err := pair.A.SetUp(false); err != nil {
		t.Fatal(err)
	}
	theirs.Line("0.00 bits/sec")
	if err := errors.Join(pair.A.SetUp(true), pair.A.WaitUp()); err != nil {
		t.Fatal(err)
	}
	out, err := ours.Wait()
	if err != nil || !strings.Contains(out, "Server Report:") || !strings.Contains(out, "datagrams could not be sent, the latest: udp: send datagram") {
		t.Errorf("after the link was down: %v:\n%s", err, out)
	}
	ours = start(t, pair.A, pair.B.IP4, "-b 10m -t 1h")
	ours.Line("sec", "Bytes")
	if err := pair.A.Delete(); err != nil {
		t.Fatal(err)
	}
	if out, err := ours.Wait(); err == nil || !strings.Contains(out, "no such interface") {
		t.Errorf("after its interface was deleted: %v:\n%s", err, out)
	}
	if out, err := theirs.Wait(); err == nil || !strings.Contains(out, "no such interface") {
		t.Errorf("sink, after its interface was deleted: %v:\n%s", err, out)
	}
}
