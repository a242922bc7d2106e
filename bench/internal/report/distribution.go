// SPDX-License-Identifier: MIT

package report

// A Percentile is how long the round trip at a share of all took, in the order of
// their length. That of 100 is the longest.
type Percentile struct {
	Percent float64 `json:"percent"`
	Micros  float64 `json:"us"`
}

// Distribution returns the percentiles of a run, from the least on: those few that
// every run has where it has no others.
func (l Latency) Distribution() []Percentile {
	if len(l.Percentiles) > 0 {
		return l.Percentiles
	}
	return l.named()
}

// named are those of the percentiles that have fields of their own.
func (l Latency) named() []Percentile {
	return []Percentile{{50, l.P50}, {90, l.P90}, {99, l.P99}, {99.9, l.P999}, {100, l.Max}}
}
