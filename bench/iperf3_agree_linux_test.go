// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdpath/xdpath/internal/testnet"
)

// BenchmarkIperf3Agreement measures the same stream, over kernel sockets between two
// namespaces, by iperf3 itself and by this bench's socket path, in turns: as fast as it
// goes, one datagram a call, sender on processor 0 and receiver on 1, receive buffers as
// large as the system allows. It reports the medians of what was received. On a machine
// that does nothing else the two are a few percent apart:
//
//	go test ./bench -run '^$' -bench Iperf3Agreement -benchtime 5x
func BenchmarkIperf3Agreement(b *testing.B) {
	for _, size := range []int{64, 1472} {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			needIperf3(b)
			p := testnet.TestPair(b, testnet.Config{})
			iperf3In(b, &p.B, "-s")
			waitForServer(b, p)
			var ours, theirs []float64
			for b.Loop() {
				ours = append(ours, bySocketPath(b, size))
				theirs = append(theirs, byIperf3(b, p, size))
			}
			mine, its := median(ours), median(theirs)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(mine/1e6, "Mpps-bench")
			b.ReportMetric(its/1e6, "Mpps-iperf3")
			b.ReportMetric(100*math.Abs(mine-its)/its, "%-apart")
		})
	}
}

// waitForServer waits until an iperf3 server at end B answers.
func waitForServer(b *testing.B, p *testnet.Pair) {
	b.Helper()
	for end := time.Now().Add(10 * time.Second); ; {
		r := iperf3At(b, p, "-u", "-n", "1K")
		if r.Error == "" {
			return
		}
		if !strings.Contains(r.Error, "refused") || time.Now().After(end) {
			b.Fatal(r.Error)
		}
	}
}

// iperf3At runs a client at end A against end B.
func iperf3At(tb testing.TB, p *testnet.Pair, args ...string) iperf3Report {
	tb.Helper()
	cmd := iperf3In(tb, &p.A, append([]string{"-c", p.B.IP4.String()}, args...)...)
	_ = cmd.Wait() // what went wrong stands in its report
	return output(tb, cmd)
}

// byIperf3 is what iperf3's receiver received, in datagrams a second.
func byIperf3(b *testing.B, p *testnet.Pair, size int) float64 {
	b.Helper()
	r := iperf3At(b, p, "-u", "-b", "0", "-l", fmt.Sprint(size), "-t", "1", "-A", "0,1", "-w", roomy(b))
	if r.Error != "" || r.End.Received.Bits == 0 {
		b.Fatalf("%+v", r)
	}
	return r.End.Received.Bits / 8 / float64(size)
}

// bySocketPath is the same of the bench's receiver.
func bySocketPath(b *testing.B, size int) float64 {
	b.Helper()
	file := filepath.Join(b.TempDir(), "out.json")
	args := []string{"-paths", "socket", "-sizes", fmt.Sprint(size), "-runs", "1", "-duration", "1s", "-json", file}
	if status := run(args, io.Discard, io.Discard); status != exitOK {
		b.Fatalf("exit status %d", status)
	}
	return read(b, file).Results[0].RXPPS
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
