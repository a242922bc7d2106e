// SPDX-License-Identifier: MIT

package page

import (
	"slices"

	"github.com/xdpath/xdpath/bench/internal/chart"
	"github.com/xdpath/xdpath/bench/internal/report"
)

// preferred are the paths that have the same colour on every page, in the order of
// the colours.
func preferred() []string {
	return []string{"xdp", "socket", "mmsg", "gso", "asavie", "udpconn", "packet", "xdp-packetconn"}
}

// slots gives each path of a page its colour and mark: the one that it has on every
// page, or else one that no other path of this page has, as long as there are any.
func slots(rows []report.Row) map[string]int {
	paint := map[string]int{}
	paths := distinct(rows, func(r report.Row) string { return r.Path })
	taken := map[int]bool{}
	for _, p := range paths {
		if i := slices.Index(preferred(), p); i >= 0 {
			paint[p], taken[i] = i, true
		}
	}
	next := 0
	for _, p := range paths {
		if _, ok := paint[p]; ok {
			continue
		}
		for next < chart.Slots && taken[next] {
			next++
		}
		paint[p] = next
		next++
	}
	return paint
}
