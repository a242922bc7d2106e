// SPDX-License-Identifier: MIT

package suite

import (
	"flag"
	"fmt"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/path"
	"github.com/xdpath/xdpath/bench/internal/report"
)

// mtuTest sends small messages over a link of a small and of a large MTU, and tells
// what netperf's UDP_STREAM tells. A receiver whose buffers grow with the MTU shows
// here: it receives less than was sent, or less at one MTU than at the other.
func mtuTest() Test {
	return Test{
		Name: "mtu", What: "small messages on a link of a small and of a large MTU", Kind: path.Stream,
		Defaults: Defaults{Paths: "socket,mmsg,xdp", Sizes: "64,512", MTU: "1500,8000", Batch: 64},
		Rows: func(*flag.FlagSet) func(*Plan, Common) error {
			return func(p *Plan, c Common) error {
				p.Rows = mtuRows(c)
				return nil
			}
		},
		Traffic: streamTraffic, Carried: arrived, Count: report.OneWay,
		Columns: mtuColumns, Notes: mtuNotes,
	}
}

// mtuRows has the MTUs of one path next to each other: they compare.
func mtuRows(c Common) []control.Row {
	var rows []control.Row
	for _, size := range c.Sizes {
		for _, name := range c.Paths {
			for _, mtu := range c.MTUs {
				row := c.Row(name, size, mtu)
				row.Param = mtuParam(mtu)
				rows = append(rows, row)
			}
		}
	}
	return rows
}

func mtuNotes(p Plan, doc report.Document) []string {
	notes := []string{
		fmt.Sprintf("UDP messages one way, as fast as they go, over a %s whose MTU is %s. A message of any size here fits into either.", doc.Env.Link, words(p.MTUs())),
		"Each row has two lines, as netperf -c -C has for UDP_STREAM: the sender's and the receiver's. Socket is the memory in which messages wait, in bytes: a socket's buffer, which counts more than payload, or the chunks of an AF_XDP ring. Okay are messages sent, and received; errs are those that the kernel took and then could not send; the rate is in 10^6 bits/s of payload, over the time of each end.",
		fmt.Sprintf("Each row is the run with the median receive rate of %s of %v after a warm-up of %v; min..max is of all runs. Recv/sent is the median of all runs, of messages; by MTU is the median rate of the line divided by that at the first MTU.", runs(p), p.Duration, p.Warmup),
		machine(doc.Env, "Sender", "receiver", "soft interrupts run on the sender's CPU"),
		"CPU is of the whole machine, what is not idle by /proc/stat in ticks of 10 ms, and the same for both ends on one machine; demand is busy CPU time for each 1,024 bytes that the end sent or received.",
	}
	if b := buffers(doc.Env.Buffers); b != "" {
		notes = append(notes, b)
	}
	return notes
}
