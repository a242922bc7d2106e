// SPDX-License-Identifier: MIT

package iperf3

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// WriteJSON writes the outcome on one line.
func (o Outcome) WriteJSON(w io.Writer) error { return json.NewEncoder(w).Encode(o) }

// WriteText writes a line for each side of each stream: what was sent, and what came.
func (o Outcome) WriteText(w io.Writer) error {
	sender, receiver := o.Ours, o.Theirs
	here := [2]string{"sender, here", "receiver"}
	if !o.Sends {
		sender, receiver = o.Theirs, o.Ours
		here = [2]string{"sender", "receiver, here"}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%v, %s of %v bytes, cpu here %.1f %% there %.1f %%\n", o.Peer, streams(int(o.Params.Parallel)), o.Params.Len, o.Ours.CPUTotal, o.Theirs.CPUTotal)
	fmt.Fprintf(&b, "%6s  %-14s %8s %10s %11s %16s %10s\n", "stream", "side", "seconds", "Mbit/s", "datagrams", "lost", "jitter ms")
	for n := range sender.Streams {
		s := sender.Streams[n]
		fmt.Fprintf(&b, "%6v  %-14s %8.2f %10.1f %11.0f\n", s.ID, here[0], s.EndTime, s.rate(), s.Packets-s.OmittedPackets)
		if n < len(receiver.Streams) {
			r := receiver.Streams[n]
			lost, of := r.Errors-r.OmittedErrors, r.Packets-r.OmittedPackets
			fmt.Fprintf(&b, "%6v  %-14s %8.2f %10.1f %11.0f %8.0f (%4.2f%%) %10.3f\n", r.ID, here[1], r.EndTime, r.rate(), of, lost, 100*lost/max(of, 1), 1000*r.Jitter)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func streams(n int) string {
	if n == 1 {
		return "1 stream"
	}
	return fmt.Sprintf("%d streams", n)
}

// rate is megabits of payload a second.
func (s StreamResult) rate() float64 {
	if s.EndTime <= 0 {
		return 0
	}
	return s.Bytes * 8 / s.EndTime / 1e6
}
