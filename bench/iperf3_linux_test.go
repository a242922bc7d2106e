// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/xdpath/xdpath/bench/internal/iperf3"
	"github.com/xdpath/xdpath/internal/testnet"
)

// needIperf3 skips where iperf3 is not installed, and fails where everything must run.
func needIperf3(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("iperf3"); err != nil {
		if os.Getenv("XDPATH_TEST_REQUIRE") == "1" {
			t.Fatalf("required here, but %v; install Debian's package iperf3", err)
		}
		t.Skipf("%v; install Debian's package iperf3", err)
	}
}

// iperf3Report is what is of interest in iperf3 -J.
type iperf3Report struct {
	Error string
	End   struct {
		Streams  []struct{ UDP iperf3Sum }
		Sum      iperf3Sum
		Received iperf3Sum `json:"sum_received"` // a server's bytes stand here only
		CPU      struct {
			Host   float64 `json:"host_total"`
			Remote float64 `json:"remote_total"`
		} `json:"cpu_utilization_percent"`
	}
}

type iperf3Sum struct {
	Bytes, Packets float64
	Bits           float64 `json:"bits_per_second"`
	Jitter         float64 `json:"jitter_ms"`
	Lost           float64 `json:"lost_packets"`
}

// output is what a process of others printed.
func output(t testing.TB, cmd *exec.Cmd) iperf3Report {
	t.Helper()
	var r iperf3Report
	text := cmd.Stdout.(*bytes.Buffer).Bytes()
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatalf("%v: %v:\n%s", cmd, err, text)
	}
	return r
}

// iperf3In starts an iperf3 at one end; it is killed when the test ends.
func iperf3In(t testing.TB, e *testnet.End, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("iperf3", append(args, "-J")...)
	cmd.Stdout, cmd.Stderr = new(bytes.Buffer), os.Stderr
	if err := e.NS.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd
}

// client runs an iperf3 client against a server at the other end until it ends.
func (s *iperf3Server) client(args ...string) iperf3Report {
	s.t.Helper()
	return iperf3At(s.t, s.pair, args...)
}

// iperf3Server is our server at end B of a pair.
type iperf3Server struct {
	t    *testing.T
	pair *testnet.Pair
}

// startServer returns when the server serves; it ends with the test.
func startServer(t *testing.T, cfg testnet.Config, flags ...string) *iperf3Server {
	t.Helper()
	needIperf3(t)
	p := testnet.TestPair(t, cfg)
	testnet.Leaks(t)
	ctx, cancel := context.WithCancel(context.Background())
	out, ended := newNotifier("serving on"), make(chan int, 1)
	go func() {
		_ = p.B.NS.Do(func() error {
			ended <- runIperf3Server(ctx, append([]string{"-i", p.B.Name}, flags...), out, os.Stderr)
			return nil
		})
	}()
	t.Cleanup(func() {
		cancel()
		if status := <-ended; status != exitOK {
			t.Errorf("the server's exit status is %d", status)
		}
	})
	select {
	case <-out.seen:
	case status := <-ended:
		ended <- status
		t.Fatalf("the server ends with %d", status)
	}
	return &iperf3Server{t, p}
}

// A notifier is a writer that tells when a text was written to it.
type notifier struct {
	text string
	seen chan struct{}
}

func newNotifier(text string) *notifier { return &notifier{text, make(chan struct{}, 1)} }

func (n *notifier) Write(b []byte) (int, error) {
	if strings.Contains(string(b), n.text) {
		select {
		case n.seen <- struct{}{}:
		default:
		}
	}
	return len(b), nil
}

// roomy is a socket buffer, as a flag of iperf3's, that this system allows anybody.
func roomy(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("/proc/sys/net/core/rmem_max")
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(min(n, 4<<20))
}

// tries is how often a test that must lose nothing may run: on a machine that does
// other things a socket's buffer overflows while its owner waits for a processor.
const tries = 4

// lossless repeats a measurement until nothing is lost, and checks the rest of it.
func lossless(t *testing.T, rate float64, measure func() (iperf3Report, iperf3Sum)) {
	t.Helper()
	for try := 1; ; try++ {
		r, sum := measure()
		if r.Error != "" {
			t.Fatal(r.Error)
		}
		// The clock of a busy machine's sender may run out early; nothing may be lost.
		if sum.Packets < 100 || sum.Bytes < sum.Packets*100 || sum.Bits > 1.1*rate || sum.Jitter <= 0 || sum.Jitter > 50 {
			t.Fatalf("%+v", sum)
		}
		if sum.Lost == 0 {
			t.Logf("%.1f Mbit/s, %.0f datagrams, none lost, jitter %.3f ms, cpu %.1f %% and %.1f %%",
				sum.Bits/1e6, sum.Packets, sum.Jitter, r.End.CPU.Host, r.End.CPU.Remote)
			return
		}
		if try == tries {
			t.Fatalf("%v of %v lost, after %d tries", sum.Lost, sum.Packets, tries)
		}
	}
}

// An unmodified client is told of no loss at 100 Mb/s, either way, by its own report.
func TestIperf3Server(t *testing.T) {
	for _, path := range []string{"xdp", "socket"} {
		t.Run(path, func(t *testing.T) {
			s := startServer(t, testnet.Config{Queues: 2}, "-path", path)
			for _, flags := range [][]string{nil, {"-R"}} {
				lossless(t, 100e6, func() (iperf3Report, iperf3Sum) {
					r := s.client(append(flags, "-u", "-b", "100M", "-t", "1", "-w", roomy(t))...)
					if len(r.End.Streams) != 1 || r.Error == "" && r.End.CPU.Remote <= 0 {
						t.Fatalf("%q: %+v", flags, r)
					}
					return r, r.End.Sum
				})
			}
		})
	}
}

// Its options that concern UDP work, and what does not is refused in its words.
func TestIperf3Options(t *testing.T) {
	s := startServer(t, testnet.Config{}, "-longest", "5s")
	for name, tc := range map[string]struct {
		flags   []string
		streams int
		packets float64
	}{
		"parallel":      {[]string{"-b", "5M", "-P", "4", "-n", "400K"}, 4, 0},
		"and reverse":   {[]string{"-b", "5M", "-P", "4", "-n", "400K", "-R"}, 4, 0},
		"64 bits":       {[]string{"-b", "20M", "-n", "400K", "--udp-counters-64bit"}, 1, 0},
		"and reverse ":  {[]string{"-b", "20M", "-n", "400K", "--udp-counters-64bit", "-R"}, 1, 0},
		"bytes":         {[]string{"-b", "20M", "-n", "200000", "-l", "1000"}, 1, 200},
		"blocks":        {[]string{"-b", "20M", "-k", "50", "-l", "9000"}, 1, 50},
		"small":         {[]string{"-b", "1M", "-n", "20K", "-l", "16"}, 1, 0},
		"unlimited":     {[]string{"-b", "0", "-n", "20M"}, 1, 0},
		"and reverse  ": {[]string{"-b", "0", "-n", "20M", "-R"}, 1, 0},
		"omit":          {[]string{"-b", "5M", "-t", "1", "-O", "1"}, 1, 0},
	} {
		t.Run(strings.TrimSpace(name), func(t *testing.T) {
			r := s.client(append(tc.flags, "-u")...)
			if r.Error != "" || len(r.End.Streams) != tc.streams || r.End.Sum.Packets < 10 || tc.packets > 0 && r.End.Sum.Packets != tc.packets {
				t.Errorf("%q: %+v", tc.flags, r)
			}
		})
	}
	for want, flags := range map[string][]string{
		"not implemented": {"-t", "1"}, // TCP
		"duration":        {"-u", "-t", "60"},
	} {
		if r := s.client(flags...); !strings.Contains(r.Error, want) {
			t.Errorf("%q: %q, want %q", flags, r.Error, want)
		}
	}
	first := iperf3In(t, &s.pair.A, "-c", s.pair.B.IP4.String(), "-u", "-t", "2")
	for end := time.Now().Add(10 * time.Second); ; {
		r := s.client("-u", "-n", "10K")
		if strings.Contains(r.Error, "busy") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("beside another one: %+v", r)
		}
	}
	if _ = first.Wait(); output(t, first).Error != "" {
		t.Errorf("the first one: %s", output(t, first).Error)
	}
}

// An unmodified server reports no loss at 100 Mb/s, either way.
func TestIperf3Client(t *testing.T) {
	needIperf3(t)
	for _, path := range []string{"xdp", "socket"} {
		for _, reverse := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s reverse %t", path, reverse), func(t *testing.T) {
				p := testnet.TestPair(t, testnet.Config{})
				testnet.Leaks(t)
				lossless(t, 100e6, func() (iperf3Report, iperf3Sum) { return againstTheirs(t, p, path, reverse) })
			})
		}
	}
}

// againstTheirs runs our client against their server, once, and returns what the
// server says, and of it and us the receiver's sum.
func againstTheirs(t *testing.T, p *testnet.Pair, path string, reverse bool) (iperf3Report, iperf3Sum) {
	t.Helper()
	server := iperf3In(t, &p.B, "-s", "-1")
	args := []string{p.B.IP4.String(), "-i", p.A.Name, "-path", path, "-b", "100M", "-t", "1", "-w", roomy(t), "-J"}
	if reverse {
		args = append(args, "-R")
	}
	var out, errs bytes.Buffer
	for end := time.Now().Add(10 * time.Second); ; { // until the server listens
		out.Reset()
		errs.Reset()
		status := 0
		if err := p.A.NS.Do(func() error { status = runIperf3Client(context.Background(), args, &out, &errs); return nil }); err != nil {
			t.Fatal(err)
		}
		if status == exitOK {
			break
		}
		if !strings.Contains(errs.String(), "refused") || time.Now().After(end) {
			t.Fatalf("status %d: %s", status, errs.String())
		}
	}
	if err := server.Wait(); err != nil {
		t.Fatal(err)
	}
	theirs := output(t, server)
	var ours iperf3.Outcome
	if err := json.Unmarshal(out.Bytes(), &ours); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	if !reverse {
		sum := theirs.End.Sum
		sum.Bytes, sum.Bits = theirs.End.Received.Bytes, theirs.End.Received.Bits
		return theirs, sum
	}
	r := ours.Ours.Streams[0]
	return theirs, iperf3Sum{Bytes: r.Bytes, Packets: r.Packets, Bits: 8 * r.Bytes / r.EndTime, Jitter: 1000 * r.Jitter, Lost: r.Errors}
}

// What is not understood is told before anything is opened.
func TestIperf3Flags(t *testing.T) {
	for want, args := range map[string][]string{
		"-i: an interface": {"iperf3-server"},
		"-path udp":        {"iperf3-server", "-i", "lo", "-path", "udp"},
		"-p 0":             {"iperf3-server", "-i", "lo", "-p", "0"},
		"argument":         {"iperf3-server", "-i", "lo", "more"},
		"-longest":         {"iperf3-server", "-i", "lo", "-longest", "100h"},
		"-i none-such":     {"iperf3-server", "-i", "none-such"},
		"no host":          {"iperf3-client", "-i", "lo"},
		"-b lots":          {"iperf3-client", "::1", "-i", "lo", "-b", "lots"},
		"-n -1":            {"iperf3-client", "-i", "lo", "-n", "-1", "::1"},
		"-t 0":             {"iperf3-client", "::1", "-i", "lo", "-t", "0"},
		"argument \"b\"":   {"iperf3-client", "-i", "lo", "a", "b"},
	} {
		var out, errs bytes.Buffer
		if status := run(args, &out, &errs); status != exitUsage || !strings.Contains(errs.String(), want) || out.Len() != 0 {
			t.Errorf("%q: status %d, %q, want %q", args, status, errs.String(), want)
		}
	}
	for _, name := range []string{"iperf3-server", "iperf3-client"} {
		var out, errs bytes.Buffer
		if status := run([]string{name, "-h"}, &out, &errs); status != exitOK || !strings.Contains(out.String(), "usage: bench "+name) {
			t.Errorf("%s -h: status %d, %q", name, status, out.String())
		}
	}
	var v float64
	for text, want := range map[string]float64{"5": 5, "1.5k": 1500, "2M": 2e6, "1G": 1e9, "1T": 1e12} {
		if err := amount("-b", text, 1000, &v); err != nil || v != want {
			t.Errorf("%s: %v, %v", text, v, err)
		}
	}
}
