// SPDX-License-Identifier: MIT

package export

import (
	"fmt"
	"io"
	"strings"

	"github.com/xdpath/xdpath/bench/internal/cpu"
	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/report"
)

// Netperf writes each run as netperf -c -C does its own: UDP_STREAM where datagrams
// go one way, UDP_RR where there are round trips. Whoever has a script for these can
// use it.
//
// Netperf has no loss column: loss is the difference between the two lines. The CPU
// is from /proc/stat, which is what the S stands for. The size of a socket's buffer is
// what datagrams can wait in, also where that is a ring. Of round trips the CPU is that
// of all machines of the bench, in both columns, and the size that which the receiver's
// socket got, 0 for a path that has none.
func Netperf(w io.Writer, doc report.Document) error {
	var b strings.Builder
	for _, r := range runs(doc) {
		if r.Latency != nil && !r.Stream() {
			netperfTrips(&b, doc, r)
		} else {
			netperfStream(&b, doc, r)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

const streamTitle = `Socket  Message  Elapsed      Messages                   CPU      Service
Size    Size     Time         Okay Errors   Throughput   Util     Demand
bytes   bytes    secs            #      #   10^6bits/sec % SS     us/KB

`

func netperfStream(b *strings.Builder, doc report.Document, r report.Result) {
	r = bothEnds(doc.Env, r)
	fmt.Fprintf(b, "UDP UNIDIRECTIONAL SEND TEST from sender to receiver : %s\n%s", what(r), streamTitle)
	failed := failures(r)
	okay := r.Sent - min(r.Sent, failed)
	rate := func(n uint64, seconds float64) float64 { return 8 * report.BytesPerSecond(n, r.Size, seconds) / 1e6 }
	fmt.Fprintf(b, "%6d  %6d   %-7.2f   %7d %6d    %7.1f     %-6.2f   %-6.3f\n",
		r.TXRoom, r.Size, r.TXSeconds, okay, failed, rate(okay, r.TXSeconds), r.TXCPUUtil, r.TXDemand)
	fmt.Fprintf(b, "%6d           %-7.2f   %7d           %7.1f     %-6.2f   %-6.3f\n\n",
		r.RXRoom, r.RXSeconds, r.Received, rate(r.Received, r.RXSeconds), r.RXCPUUtil, r.RXDemand)
}

// failures are the datagrams that did not leave the sender.
func failures(r report.Result) uint64 {
	return r.Loss[loss.Send] + r.Loss[loss.TXInvalid] + r.Loss[loss.TXRing]
}

// bothEnds has what an older bench did not tell of either end: the figures of both.
func bothEnds(env report.Env, r report.Result) report.Result {
	if r.TXSeconds > 0 && r.RXSeconds > 0 {
		return r
	}
	r.TXSeconds, r.RXSeconds, r.TXCPUUtil, r.RXCPUUtil = r.Seconds, r.Seconds, r.CPUUtil, r.CPUUtil
	r.RXRoom = buffer(env, r.Key())
	demand := func(n uint64) float64 {
		return cpu.ServiceDemand(r.CPUUtil, processors(env), report.BytesPerSecond(n, r.Size, r.Seconds))
	}
	r.TXDemand, r.RXDemand = demand(r.Sent-min(r.Sent, failures(r))), demand(r.Received)
	return r
}

const tripTitle = `Local /Remote
Socket Size   Request Resp.  Elapsed Trans.   CPU    CPU    S.dem   S.dem
Send   Recv   Size    Size   Time    Rate     local  remote local   remote
bytes  bytes  bytes   bytes  secs.   per sec  % S    % S    us/Tr   us/Tr

`

func netperfTrips(b *strings.Builder, doc report.Document, r report.Result) {
	fmt.Fprintf(b, "UDP REQUEST/RESPONSE TEST from client to server : %s : first burst 0\n%s", what(r), tripTitle)
	size := buffer(doc.Env, r.Key())
	// Netperf's demand of a transaction is that of its KB, for one byte of 1,024.
	demand := cpu.ServiceDemand(r.CPUUtil, processors(doc.Env), 1024*r.RXPPS)
	fmt.Fprintf(b, "%-6d %-6d %-6d  %-6d %-6.2f  %-6.2f  %-6.2f %-6.2f %-6.3f  %-6.3f\n",
		0, size, r.Size, r.Size, r.Seconds, r.RXPPS, r.CPUUtil, r.CPUUtil, demand, demand)
	fmt.Fprintf(b, "%-6d %-6d\n\n", 0, size)
}

// what names the run in the place where netperf tells of options.
func what(r report.Result) string {
	parts := []string{r.Path}
	if r.Mode != "-" {
		parts = append(parts, r.Mode)
	}
	if r.Param != "" {
		parts = append(parts, r.Param)
	}
	return strings.Join(append(parts, fmt.Sprintf("run %d", r.Run)), " : ")
}

// processors is how many CPUs the utilization is of: those of both machines, if they
// are two.
func processors(env report.Env) int {
	if env.Sender.Machine != env.Receiver.Machine {
		return env.Sender.CPUs + env.Receiver.CPUs
	}
	return env.CPUs
}

// buffer is what the receiving socket of a row got, in bytes.
func buffer(env report.Env, key report.Key) int {
	for _, b := range env.Buffers {
		if b.Key == key {
			return b.Got
		}
	}
	return 0
}
