// SPDX-License-Identifier: MIT

package iperf

import (
	"fmt"
	"time"
)

// The lines of both ends. They have iperf's columns, so that what reads iperf's
// output reads ours.
const (
	SenderTitle   = "[ ID] Interval       Transfer     Bandwidth"
	ReceiverTitle = SenderTitle + "        Jitter   Lost/Total Datagrams"
)

// SenderLine tells what a sender sent in an interval, which is given as two times
// since the beginning.
func SenderLine(id int, from, to time.Duration, bytes int64) string {
	return fmt.Sprintf("[%3d] %.4f-%.4f sec  %sBytes  %sbits/sec",
		id, from.Seconds(), to.Seconds(), scaled(float64(bytes), 1024), scaled(rate(bytes, to-from), 1000))
}

// ReceiverLine tells what a receiver received in an interval; r is of it alone.
func ReceiverLine(id int, from, to time.Duration, r Report) string {
	return fmt.Sprintf("%s  %6.3f ms %d/%d (%s%%)",
		SenderLine(id, from, to, r.Bytes), r.Jitter.Seconds()*1000, r.Lost, r.Datagrams, percent(r.Lost, r.Datagrams))
}

// ReorderedLine goes after a ReceiverLine if there are any.
func ReorderedLine(id int, from, to time.Duration, r Report) string {
	return fmt.Sprintf("[%3d] %.4f-%.4f sec  %d datagrams received out-of-order", id, from.Seconds(), to.Seconds(), r.Reordered)
}

// percent has two digits, as much as losses are worth.
func percent(part, whole int64) string {
	switch {
	case part == 0 || whole <= 0:
		return "0"
	case float64(part)/float64(whole) >= 0.995:
		return "100"
	}
	return fmt.Sprintf("%.2g", float64(part)/float64(whole)*100)
}

// rate is bits per second, 0 for no time.
func rate(bytes int64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(bytes) * 8 / d.Seconds()
}

// scaled is a number of three digits, in four columns, with a prefix: of 1024s for bytes, of 1000s
// for bits.
func scaled(v, step float64) string {
	prefix := ""
	for _, p := range []string{"K", "M", "G", "T"} {
		if v < 999.5 {
			break
		}
		v, prefix = v/step, p
	}
	switch {
	case v < 9.995:
		return fmt.Sprintf("%.2f %s", v, prefix)
	case v < 99.95:
		return fmt.Sprintf("%.1f %s", v, prefix)
	}
	return fmt.Sprintf("%4.0f %s", v, prefix)
}
