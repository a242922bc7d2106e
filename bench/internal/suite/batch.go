// SPDX-License-Identifier: MIT

package suite

import (
	"fmt"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/path"
	"github.com/xdpath/xdpath/bench/internal/report"
	"github.com/xdpath/xdpath/bench/internal/stream"
)

// batchTest shows what it is worth to handle several datagrams in a call.
func batchTest() Test {
	return Test{
		Name: "batch", What: "a stream, by datagrams a call", Kind: path.Stream,
		Defaults: Defaults{Paths: "mmsg,gso,xdp", Sizes: "64", MTU: "1500"},
		Rows: sweepFlag(values{name: "batches", usual: "1,8,32,64,128,256", quick: "1,64", least: 1, most: stream.MaxBatch},
			"datagrams a call", "batch", func(r *control.Row, n int) { r.Batch = n }),
		Traffic: streamTraffic, Carried: arrived, Count: report.OneWay,
		Columns: sweepColumns, Notes: batchNotes,
	}
}

func batchNotes(p Plan, doc report.Document) []string {
	return sweepNotes(p, doc,
		fmt.Sprintf("UDP datagrams one way, as fast as they go, over a %s (MTU %s), so many a call at both ends: a system call of sockets, or a call of the library, which makes a system call when it must. gso takes 64 in a bundle at most.", doc.Env.Link, words(p.MTUs())),
		fmt.Sprintf("Batch 1 is what a program has that handles one datagram after the other. Every path can hold %d datagrams unread.", path.Hold),
	)
}
