// SPDX-License-Identifier: MIT

package suite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xdpath/xdpath/bench/internal/camera"
	"github.com/xdpath/xdpath/bench/internal/path"
	"github.com/xdpath/xdpath/bench/internal/report"
)

// cameraColumns show sums over the runs of what is counted, and medians of the rest,
// each figure for itself.
func cameraColumns() []report.Column {
	demand := func(m report.Result) float64 { return m.ServiceDemand }
	return []report.Column{
		report.Words("mode", "", report.Of(func(m report.Result) string { return m.Mode })),
		report.Figure("images", "sent", total(func(m report.Result) uint64 { return m.ImagesSent })),
		report.Figure("images", "complete", total(func(m report.Result) uint64 { return m.ImagesComplete })),
		report.Figure("packets", "missing", total(func(m report.Result) uint64 { return m.Lost })),
		report.Words("where", "", func(r report.Row, _ []report.Row) string {
			return where(slices.MaxFunc(r.Runs, func(a, b report.Result) int { return int(a.Lost) - int(b.Lost) }))
		}),
		report.Figure("CPU", "%", middle(func(m report.Result) float64 { return m.CPUUtil }, one)),
		report.Figure("demand", "µs/KB", middle(demand, report.Three)),
		report.Figure("min..max", "µs/KB", func(r report.Row, _ []report.Row) string {
			all := r.Sorted(demand)
			return report.Three(all[0]) + ".." + report.Three(all[len(all)-1])
		}),
		report.Figure("demand", "by "+streamBaseline, func(r report.Row, rows []report.Row) string {
			if b, ok := r.Find(streamBaseline, rows); ok && b.Middle(demand) > 0 {
				return fmt.Sprintf("%.2f", r.Middle(demand)/b.Middle(demand))
			}
			return "-"
		}),
	}
}

func one(v float64) string { return fmt.Sprintf("%.1f", v) }

// total shows the sum over the runs of what is counted.
func total(f func(report.Result) uint64) func(report.Row, []report.Row) string {
	return func(r report.Row, _ []report.Row) string {
		var n uint64
		for _, run := range r.Runs {
			n += f(run)
		}
		return fmt.Sprint(n)
	}
}

// middle shows the median over the runs of a figure.
func middle(f func(report.Result) float64, show func(float64) string) func(report.Row, []report.Row) string {
	return func(r report.Row, _ []report.Row) string { return show(r.Middle(f)) }
}

func cameraNotes(p Plan, doc report.Document) []string {
	first := p.Rows[0]
	notes := []string{
		fmt.Sprintf("Images of %d bytes, %g a second, over a %s, each a train of datagrams as long as the MTU allows: a header of %d bytes as of GigE Vision, and pixels. What a row's size does not divide is filled up.", first.Image, first.Rate, doc.Env.Link, camera.HeaderSize),
		"An image is complete if all of its packets came before the next but one began. The sender draws each image in full and the receiver copies each packet to its place in an image, and reads every complete image in full: on every path. A train leaves as fast as it goes, unpaced.",
		"Socket paths send headers and pixels from where they lie, in one call a datagram, a batch (mmsg) or a bundle (gso). xdp sends trains of a region, and gathers or copies as its library thinks best; its receiver takes long datagrams in the pieces that they arrive in.",
		fmt.Sprintf("Counts are sums over %s of %v after a warm-up of %v; the other figures are medians of the runs. CPU is of the whole machine: what is not idle, by /proc/stat in ticks of 10 ms, so that short runs are coarse; demand is that time for each 1,024 bytes received. Paths took turns.", runs(p), p.Duration, p.Warmup),
		machine(doc.Env, "Sender", "receiver", "soft interrupts run on the sender's CPU"),
		fmt.Sprintf("Every path can hold %s unread: two images, but no fewer than 256 and no more than %d. %s", holds(p), path.Hold, sums(doc.Env)),
	}
	notes = append(notes, gsoNotes(p, doc.Env)...)
	if b := buffers(doc.Env.Buffers); b != "" {
		notes = append(notes, b)
	}
	return notes
}

// holds tells how many datagrams each path has room for.
func holds(p Plan) string {
	var parts []string
	for _, row := range p.Rows {
		part := fmt.Sprintf("%d datagrams of %d bytes", path.HoldImages(camera.Shape{Image: row.Image, Size: row.Size}), row.Size)
		if !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, " and ")
}
