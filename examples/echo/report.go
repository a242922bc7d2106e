// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/xdpath/xdpath/udp"
)

// report prints each second what came in and went out in it, by lane, until ctx ends.
func report(ctx context.Context, c *udp.Conn, w io.Writer) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var last udp.Stats
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		// An interface that is gone has no statistics; the receiver tells.
		now, err := c.Stats()
		if err != nil {
			continue
		}
		fmt.Fprintln(w, line(last, now))
		last = now
	}
}

// line is the difference of two statistics.
func line(last, now udp.Stats) string {
	in, out := now.FastRx-last.FastRx, now.FastTx-last.FastTx
	kernelIn, kernelOut := now.KernelRx-last.KernelRx, now.KernelTx-last.KernelTx
	return fmt.Sprintf("in %d (fast %d, kernel %d), out %d (fast %d, kernel %d)",
		in+kernelIn, in, kernelIn, out+kernelOut, out, kernelOut)
}
