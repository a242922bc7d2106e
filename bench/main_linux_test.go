// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/path"
	"github.com/xdpath/xdpath/bench/internal/report"
	"github.com/xdpath/xdpath/internal/testnet"
)

// asBench in the environment makes the test program the bench.
const asBench = "XDPATH_TEST_BENCH"

// TestMain lets the test program stand for the bench and for its workers, which
// the bench starts from /proc/self/exe.
func TestMain(m *testing.M) {
	if os.Getenv(asBench) != "" || len(os.Args) == 2 && os.Args[1] == workerArg {
		main()
	}
	os.Exit(m.Run())
}

// program returns the bench as a program of its own.
func program(args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), asBench+"=1")
	return cmd
}

// TestEndToEnd runs all paths for a moment. It checks that the books balance,
// and that each path says what it did; never how fast.
func TestEndToEnd(t *testing.T) {
	testnet.Require(t)
	file := filepath.Join(t.TempDir(), "out.json")
	var stdout, stderr bytes.Buffer
	if status := run([]string{"-paths", "all", "-duration", "200ms", "-runs", "1", "-json", file}, &stdout, &stderr); status != exitOK {
		t.Fatalf("exit status %d: %s", status, stderr.String())
	}
	t.Log("\n" + stdout.String())
	if stderr.Len() > 0 {
		t.Errorf("standard error, which is no terminal: %s", stderr.String())
	}
	doc := read(t, file)
	modes := map[string]string{"socket": "-", "mmsg": "-", "gso": "segmented", "asavie": "native copy",
		"udpconn": "-", "xdp-packetconn": "native copy", "xdp": "native copy", "xdp-raw": "native copy",
		"xdp-deferred": "native copy", "xdp-copy": "native copy", "xdp-generic": "generic copy", "packet": "ring", "gso-veth": "whole"}
	for _, s := range doc.Env.Skipped {
		if s.Path != "xdp-zerocopy" || !strings.Contains(s.Reason, "zero-copy") {
			t.Errorf("did not run: %+v", s)
		}
	}
	if want := (len(path.Names(path.Stream)) - 1) * 2; len(doc.Results) != want {
		t.Errorf("%d results, want %d", len(doc.Results), want)
	}
	for _, r := range doc.Results {
		balance(t, doc, r)
		if r.Test != "stream" || r.MTU != 1500 || r.Param != "" {
			t.Errorf("%+v", r)
		}
		if r.Mode != modes[r.Path] {
			t.Errorf("%s: mode %q, want %q", r.Path, r.Mode, modes[r.Path])
		}
		if n := r.Loss[loss.Unaccounted]; n > 0 {
			t.Errorf("%s %d: %d datagrams are unaccounted for: %+v", r.Path, r.Size, n, r)
		}
		if !strings.Contains(stdout.String(), r.Path) {
			t.Errorf("%s is not in the table", r.Path)
		}
	}
	checkBuffers(t, doc)
}

// balance checks what must hold between the figures of any result.
func balance(t *testing.T, doc report.Document, r report.Result) {
	t.Helper()
	if r.Sent == 0 || r.Received == 0 || r.Sent != r.Received+r.Lost || r.Loss.Sum() != r.Lost {
		t.Errorf("the books do not balance: %+v", r)
	}
	if r.Run < 1 || r.Batch < 1 || r.Seconds < doc.Env.Duration {
		t.Errorf("%+v", r)
	}
	for _, same := range [][2]float64{
		{r.TXPPS * r.Seconds, float64(r.Sent)},
		{r.RXPPS * r.Seconds, float64(r.Received)},
		{r.GoodputBPS, r.RXPPS * float64(r.Size) * 8},
		{r.ServiceDemand * r.GoodputBPS / 8 / 1024, r.CPUUtil * 10_000 * float64(doc.Env.CPUs)},
		{r.TXDemand * float64(r.Sent) * float64(r.Size) / 1024, r.TXCPUUtil * 10_000 * float64(doc.Env.CPUs) * r.TXSeconds},
		{r.RXDemand * float64(r.Received) * float64(r.Size) / 1024, r.RXCPUUtil * 10_000 * float64(doc.Env.CPUs) * r.RXSeconds},
	} {
		if math.Abs(same[0]-same[1]) > 1e-6*math.Abs(same[1]) {
			t.Errorf("%v is not %v in %+v", same[0], same[1], r)
		}
	}
	if r.CPUUtil < 0 || r.CPUUtil > 100 || r.CPUUtil == 0 && r.Test == "stream" {
		t.Errorf("CPU at %v %%", r.CPUUtil)
	}
}

// checkBuffers checks that the socket paths got the buffers they asked for: the
// tests run with CAP_NET_ADMIN.
func checkBuffers(t *testing.T, doc report.Document) {
	t.Helper()
	if len(doc.Env.Buffers) != 10 {
		t.Errorf("buffers of %d runs, want 10", len(doc.Env.Buffers))
	}
	for _, b := range doc.Env.Buffers {
		if b.Got < b.Asked || b.Asked < path.Hold*b.Size {
			t.Errorf("%+v", b)
		}
	}
}

// measure runs the bench on some arguments and returns what it wrote, as JSON and as
// a table.
func measure(t *testing.T, args string) (report.Document, string) {
	t.Helper()
	testnet.Require(t)
	file := filepath.Join(t.TempDir(), "out.json")
	var stdout, stderr bytes.Buffer
	if status := run(strings.Fields(args+" -json "+file), &stdout, &stderr); status != exitOK || stderr.Len() > 0 {
		t.Fatalf("exit status %d: %s", status, stderr.String())
	}
	t.Log("\n" + stdout.String())
	return read(t, file), stdout.String()
}

func read(t testing.TB, file string) report.Document {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var doc report.Document
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Env.Sender.Pinned) != 1 || len(doc.Env.Receiver.Pinned) != 1 || doc.Env.Kernel == "" || doc.Env.CPUs == 0 {
		t.Errorf("environment %+v", doc.Env)
	}
	return doc
}

// TestJumbo runs where asavie fails half-way, since its program limits the MTU:
// the queue that it leaves taken is free again for the path after it.
func TestJumbo(t *testing.T) {
	testnet.Require(t)
	file := filepath.Join(t.TempDir(), "out.json")
	var stdout, stderr bytes.Buffer
	args := strings.Fields("-paths asavie,xdp-raw -duration 50ms -runs 1 -mtu 9000 -sizes 3000 -json " + file)
	if status := run(args, &stdout, &stderr); status != exitOK {
		t.Fatalf("exit status %d: %s", status, stderr.String())
	}
	doc := read(t, file)
	if len(doc.Results) != 1 || doc.Results[0].Path != "xdp-raw" || doc.Results[0].Received == 0 {
		t.Errorf("results %+v, skipped %+v", doc.Results, doc.Env.Skipped)
	}
}

// TestReasonRow runs a path that cannot carry datagrams of that size. That is a
// row, not the end.
func TestReasonRow(t *testing.T) {
	testnet.Require(t)
	file := filepath.Join(t.TempDir(), "out.json")
	var stdout, stderr bytes.Buffer
	args := strings.Fields("-paths asavie,mmsg -duration 50ms -runs 2 -mtu 9000 -sizes 8000 -json " + file)
	if status := run(args, &stdout, &stderr); status != exitOK {
		t.Fatalf("exit status %d: %s", status, stderr.String())
	}
	doc := read(t, file)
	if len(doc.Results) != 2 || len(doc.Env.Skipped) != 1 || doc.Env.Skipped[0].Path != "asavie" {
		t.Errorf("results %+v, skipped %+v", doc.Results, doc.Env.Skipped)
	}
	if !strings.Contains(stdout.String(), "not run: receiver: asavie has no multi-buffer") {
		t.Errorf("no reason in the table:\n%s", stdout.String())
	}
}

// TestUser runs as somebody without rights: one line, and exit status 2.
func TestUser(t *testing.T) {
	testnet.Require(t) // to become somebody else
	exe, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = exe.Close() }()
	cmd := program()
	// By descriptor: the directory of a test program is closed to others.
	cmd.Path, cmd.ExtraFiles = "/proc/self/fd/3", []*os.File{exe}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	cmd.Dir = "/"
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run()
	got := stderr.String()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != exitUsage || stdout.Len() > 0 {
		t.Errorf("%v, standard output %q, standard error %q", cmd.ProcessState, stdout.String(), got)
	}
	if strings.Count(got, "\n") != 1 || !strings.Contains(got, "CAP_NET_ADMIN") || !strings.Contains(got, "sudo") {
		t.Errorf("standard error %q: must be one line that says what is missing and how to get it", got)
	}
}

// TestUsualPaths are those of the table in the bench's description, no more: all
// of them must fit into a minute.
func TestUsualPaths(t *testing.T) {
	if got, want := path.Usual(path.Stream), []string{"socket", "mmsg", "gso", "asavie", "xdp"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestUsage(t *testing.T) {
	testnet.Require(t) // some of the arguments are looked at after the rights
	for _, tt := range []struct {
		args string
		want int
	}{
		{"-sizes 1", exitUsage},
		{"-h", exitOK},
		{"-json /nonexistent/dir/out.json -duration 1ms", exitBroken},
	} {
		if tt.want == exitBroken && os.Geteuid() != 0 {
			continue // it would end before that
		}
		var stdout, stderr bytes.Buffer
		if got := run(strings.Fields(tt.args), &stdout, &stderr); got != tt.want || stderr.Len() == 0 {
			t.Errorf("%s: exit status %d, want %d: %s", tt.args, got, tt.want, stderr.String())
		}
	}
}
