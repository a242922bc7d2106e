// SPDX-License-Identifier: MIT

package report

import "github.com/xdpath/xdpath/bench/internal/stats"

// A Group is what all runs of a row say together. It has no figures of losses:
// those are of the runs.
type Group struct {
	Test  string `json:"test"`
	Path  string `json:"path"`
	Mode  string `json:"mode"`
	Size  int    `json:"size"`
	Param string `json:"param"`
	MTU   int    `json:"mtu"`
	Runs  int    `json:"runs"`
	// Confidence is the probability with which each interval covers its median.
	Confidence    float64        `json:"ci_confidence"`
	RXPPS         stats.Summary  `json:"rx_pps"`
	GoodputBPS    stats.Summary  `json:"goodput_bps"`
	ServiceDemand stats.Summary  `json:"service_demand_us_per_kb"`
	P50           *stats.Summary `json:"latency_p50_us,omitempty"`
	P99           *stats.Summary `json:"latency_p99_us,omitempty"`
}

// Summarize sums up the rows that have runs.
func Summarize(rows []Row) []Group {
	groups := []Group{}
	for _, r := range rows {
		if len(r.Runs) > 0 {
			groups = append(groups, r.group())
		}
	}
	return groups
}

func (r Row) group() Group {
	first := r.Runs[0]
	g := Group{
		Test: first.Test, Path: r.Path, Mode: first.Mode, Size: r.Size, Param: r.Param, MTU: first.MTU, Runs: len(r.Runs),
		RXPPS:         r.Spread(func(m Result) float64 { return m.RXPPS }),
		GoodputBPS:    r.Spread(func(m Result) float64 { return m.GoodputBPS }),
		ServiceDemand: r.Spread(func(m Result) float64 { return m.ServiceDemand }),
	}
	g.Confidence = g.RXPPS.Confidence
	if r.HasLatency() {
		p50 := r.Spread(func(m Result) float64 { return m.Latency.P50 })
		p99 := r.Spread(func(m Result) float64 { return m.Latency.P99 })
		g.P50, g.P99 = &p50, &p99
	}
	return g
}

// Spread is what the runs say about one figure.
func (r Row) Spread(f func(Result) float64) stats.Summary { return stats.Summarize(r.Sorted(f)) }

// HasLatency tells whether the runs have latencies, all of them.
func (r Row) HasLatency() bool {
	for _, run := range r.Runs {
		if run.Latency == nil {
			return false
		}
	}
	return len(r.Runs) > 0
}
