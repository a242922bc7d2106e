// SPDX-License-Identifier: MIT

package suite

import (
	"fmt"
	"strings"

	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/report"
)

// mtuColumns have the sender's figure above the receiver's.
func mtuColumns() []report.Column {
	return []report.Column{
		report.Words("mode", "", report.Of(func(m report.Result) string { return strings.Replace(m.Mode, " ", "\n", 1) })),
		report.Words("end", "", report.Of(func(report.Result) string { return "send\nrecv" })),
		report.Figure("socket", "bytes", both(func(m report.Result) (tx, rx any) { return m.TXRoom, m.RXRoom })),
		report.Figure("time", "s", both(func(m report.Result) (tx, rx any) {
			return fmt.Sprintf("%.2f", m.TXSeconds), fmt.Sprintf("%.2f", m.RXSeconds)
		})),
		report.Figure("messages", "okay", both(func(m report.Result) (tx, rx any) { return m.Sent - failed(m), m.Received })),
		report.Figure("errs", "", both(func(m report.Result) (tx, rx any) { return failed(m), "" })),
		report.Figure("rate", "10^6b/s", both(func(m report.Result) (tx, rx any) { return megabits(sentRate(m)), megabits(receivedRate(m)) })),
		report.Figure("min..max", "10^6b/s", func(r report.Row, _ []report.Row) string {
			return span(r.Sorted(sentRate)) + "\n" + span(r.Sorted(receivedRate))
		}),
		report.Figure("CPU", "%", both(func(m report.Result) (tx, rx any) {
			return fmt.Sprintf("%.0f", m.TXCPUUtil), fmt.Sprintf("%.0f", m.RXCPUUtil)
		})),
		report.Figure("demand", "µs/KB", both(func(m report.Result) (tx, rx any) { return report.Digits(m.TXDemand), report.Digits(m.RXDemand) })),
		report.Figure("recv", "/sent", middle(func(m report.Result) float64 {
			return float64(m.Received) / float64(max(m.Sent, 1))
		}, func(v float64) string { return fmt.Sprintf("%.4f", v) })),
		report.Figure("by", "MTU", func(r report.Row, rows []report.Row) string {
			return byMTU(r, rows, sentRate) + "\n" + byMTU(r, rows, receivedRate)
		}),
	}
}

// both shows a figure of the sender and the receiver's below it.
func both(f func(report.Result) (tx, rx any)) func(report.Row, []report.Row) string {
	return report.Of(func(m report.Result) string {
		tx, rx := f(m)
		return fmt.Sprintf("%v\n%v", tx, rx)
	})
}

// failed is how many messages the kernel took and then could not send.
func failed(m report.Result) uint64 { return m.Loss[loss.Send] + m.Loss[loss.TXInvalid] }

// sentRate and receivedRate are bits of payload a second, each over its end's time.
func sentRate(m report.Result) float64 {
	return 8 * report.BytesPerSecond(m.Sent-failed(m), m.Size, m.TXSeconds)
}

func receivedRate(m report.Result) float64 {
	return 8 * report.BytesPerSecond(m.Received, m.Size, m.RXSeconds)
}

func megabits(bps float64) string { return fmt.Sprintf("%.1f", bps/1e6) }

// span shows the first and the last of sorted rates.
func span(all []float64) string {
	return report.Three(all[0]/1e6) + ".." + report.Three(all[len(all)-1]/1e6)
}

// byMTU divides the median of a rate by that of the first row with the same path and
// size, which has the first MTU.
func byMTU(r report.Row, rows []report.Row, rate func(report.Result) float64) string {
	for _, b := range rows {
		if b.Path != r.Path || b.Size != r.Size || len(b.Runs) == 0 {
			continue
		}
		if b.Middle(rate) == 0 {
			break
		}
		return fmt.Sprintf("%.2f", r.Middle(rate)/b.Middle(rate))
	}
	return "-"
}
