// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"io"
	"runtime"
	"text/tabwriter"
)

// demand is the time of all processors for each 1024 bytes of images, in
// microseconds: netperf's service demand.
func (r *row) demand() float64 {
	if r.bytes == 0 {
		return 0
	}
	return float64(r.busy.Microseconds()) / (float64(r.bytes) / 1024)
}

// write writes the table.
func write(w io.Writer, p plan, rows []*row) {
	fmt.Fprintf(w, "\n%d x %d Mono8, %v images a second, %.1f MB/s; veth, copy mode; in turns of %v\n\n",
		p.width, p.height, p.rate, p.rate*float64(p.bytes())/1e6, p.slice)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "MTU\tvia\timages sent\tskipped\tcomplete\tlost\tof packets: wire\tring\tconsumer\tchecked\twrong\tMB/s\tCPU %\tus/KB\t")
	for _, r := range rows {
		s := max(r.measured.Seconds(), 1e-9)
		fmt.Fprintf(t, "%d\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%.1f\t%.1f\t%.3f\t\n",
			r.mtu, r.via, r.sent, r.skipped, r.complete, int64(r.sent-r.complete), r.wire, r.ring, r.other, r.checked, r.wrong,
			float64(r.bytes)/1e6/s, 100*r.busy.Seconds()/s/float64(runtime.NumCPU()), r.demand())
	}
	t.Flush()
	fmt.Fprintln(w, "\nCPU % and us/KB are of the whole machine, sender and receiver together: per cent of all processors,\nand busy microseconds for each 1024 bytes of complete images.")
}
