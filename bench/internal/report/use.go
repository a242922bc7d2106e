// SPDX-License-Identifier: MIT

package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/xdpath/xdpath/bench/internal/control"
)

// A Use is what a run took: processor time by what it went into, in percent of all
// processors, so that the parts add up to the utilization; that of the two processes
// alone, in percent of one processor; and memory. The kernel charges a process with
// soft interrupts or does not, as it happens: what both processes took and the
// machine's figure are not to be added.
type Use struct {
	User      float64 `json:"user_pct"`
	System    float64 `json:"system_pct"`
	SoftIRQ   float64 `json:"softirq_pct"`
	IRQ       float64 `json:"irq_pct"`
	Steal     float64 `json:"steal_pct"` // taken by a hypervisor
	TXProcess float64 `json:"tx_process_pct"`
	RXProcess float64 `json:"rx_process_pct"`
	// PerDatagram is busy processor time for each datagram, or round trip, received.
	PerDatagram float64 `json:"service_demand_us_per_datagram"`
	BufferAsked int     `json:"rx_buffer_asked_bytes"` // of a socket, 0 on other paths
	BufferGot   int     `json:"rx_buffer_got_bytes"`
	Refused     uint64  `json:"refused"` // calls to send, for want of a way to the peer
}

// use fills in what a run took. All other figures are there.
func use(r Result, tx, rx Side) *Use {
	times := machines(tx, rx)
	s := times.Split()
	u := &Use{
		User: s.User, System: s.System, SoftIRQ: s.SoftIRQ, IRQ: s.IRQ, Steal: s.Steal,
		TXProcess: process(tx.Totals), RXProcess: process(rx.Totals),
		BufferAsked: rx.Totals.Info.BufferAsked, BufferGot: rx.Totals.Info.BufferGot,
		Refused: tx.Totals.Refused + rx.Totals.Refused,
	}
	if r.RXPPS > 0 {
		u.PerDatagram = r.CPUUtil * 10_000 * float64(times.CPUs) / r.RXPPS
	}
	return u
}

// process is what a worker took of one processor, in percent.
func process(t control.Totals) float64 {
	const least = time.Nanosecond // of a side that nothing came to
	return 100 * (t.User + t.System).Seconds() / max(t.Elapsed, least).Seconds()
}

// HasUse tells whether a row has runs that tell what they took.
func (r Row) HasUse() bool {
	return len(r.Runs) > 0 && !slices.ContainsFunc(r.Runs, func(m Result) bool { return m.Use == nil })
}

// UseColumns are those of a second table, of rows that HasUse tells of. All figures of
// a row are of its median run.
func UseColumns() []Column {
	figure := func(head, unit, format string, f func(Use) float64) Column {
		return Figure(head, unit, Of(func(m Result) string { return fmt.Sprintf(format, f(*m.Use)) }))
	}
	buffer := func(unit string, f func(Use) int) Column {
		return Figure("buffer", unit, Of(func(m Result) string {
			if m.Use.BufferAsked == 0 {
				return "-"
			}
			return fmt.Sprint(f(*m.Use))
		}))
	}
	return []Column{
		Figure("CPU", "%", Of(func(m Result) string { return fmt.Sprintf("%.1f", m.CPUUtil) })),
		figure("user", "%", "%.1f", func(u Use) float64 { return u.User }),
		figure("system", "%", "%.1f", func(u Use) float64 { return u.System }),
		figure("softirq", "%", "%.1f", func(u Use) float64 { return u.SoftIRQ }),
		figure("irq", "%", "%.1f", func(u Use) float64 { return u.IRQ }),
		figure("steal", "%", "%.1f", func(u Use) float64 { return u.Steal }),
		figure("sender", "% of one", "%.0f", func(u Use) float64 { return u.TXProcess }),
		figure("receiver", "% of one", "%.0f", func(u Use) float64 { return u.RXProcess }),
		Figure("demand", "µs/datagram", Of(func(m Result) string { return Digits(m.Use.PerDatagram) })),
		buffer("asked", func(u Use) int { return u.BufferAsked }),
		buffer("got", func(u Use) int { return u.BufferGot }),
	}
}
