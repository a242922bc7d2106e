// SPDX-License-Identifier: MIT

package export

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/xdpath/xdpath/bench/internal/report"
)

// GoBench writes each run as a line of Go's benchmark format, for benchstat: with
// several files it compares these, with -col /path the paths of one.
//
//	BenchmarkStream/path=xdp/size=64/mtu=1500-2  1400000  714 ns/op  1400000 pkts/s ...
//
// The number behind the name is what was received; ns/op is the time for each of
// these. What the results need to be understood stands in front of them as
// configuration. Benchstat keeps results apart where that differs, unless it is told
// otherwise: benchstat -ignore kernel old new.
func GoBench(w io.Writer, doc report.Document) error {
	var b strings.Builder
	all := runs(doc)
	config := func(key, value string) {
		if v := strings.Join(strings.Fields(value), " "); v != "" {
			fmt.Fprintf(&b, "%s: %s\n", key, v)
		}
	}
	config("goos", "linux") // the bench runs nowhere else
	config("goarch", doc.Env.Arch)
	config("pkg", "github.com/xdpath/xdpath/bench")
	config("cpu", doc.Env.CPUModel)
	config("kernel", doc.Env.Kernel)
	config("link", doc.Env.Link)
	config("modes", modes(all))
	b.WriteString("Unit pkts/s better=higher\nUnit us/KB better=lower\nUnit lost-% better=lower\nUnit cpu-% better=lower\n")
	b.WriteString("Unit p50-us better=lower\nUnit p99-us better=lower\n\n")
	for _, r := range all {
		fmt.Fprintf(&b, "Benchmark%s/path=%s/size=%d/mtu=%d%s-%d\t%8d", name(r.Test), clean(r.Path), r.Size, r.MTU, param(r.Param), max(1, doc.Env.CPUs), r.Received)
		value := func(v float64, unit string) { fmt.Fprintf(&b, "\t%12.6g %s", v, unit) }
		if r.Received > 0 {
			value(1e9*r.Seconds/float64(r.Received), "ns/op")
		}
		value(r.RXPPS, "pkts/s")
		if r.ServiceDemand > 0 {
			value(r.ServiceDemand, "us/KB")
		}
		value(r.CPUUtil, "cpu-%")
		value(r.LostPercent(), "lost-%")
		if r.Latency != nil {
			value(r.Latency.P50, "p50-us")
			value(r.Latency.P99, "p99-us")
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// name makes the name of a test one of a benchmark: a capital first, and nothing
// that would end it.
func name(test string) string {
	word := clean(test)
	return strings.ToUpper(word[:1]) + word[1:]
}

// param adds the parameter of a row, or parameters, to the name.
func param(p string) string {
	s := ""
	for _, part := range strings.FieldsFunc(p, func(r rune) bool { return unicode.IsSpace(r) || r == ',' }) {
		if !strings.Contains(part, "=") {
			part = "with=" + part
		}
		// The MTU has its place already.
		if part = clean(part); !strings.HasPrefix(part, "mtu=") {
			s += "/" + part
		}
	}
	return s
}

// clean keeps what may stand within a part of a name.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '/' || unicode.IsSpace(r):
			return '_'
		case r > unicode.MaxASCII || !unicode.IsPrint(r):
			return -1
		}
		return r
	}, s)
	if s == "" {
		return "Bench"
	}
	return s
}

// modes lists by which mode each path went, where it has any.
func modes(all []report.Result) string {
	var parts []string
	seen := map[string]bool{}
	for _, r := range all {
		if part := r.Path + "=" + strings.ReplaceAll(r.Mode, " ", "-"); r.Mode != "-" && !seen[part] {
			seen[part] = true
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, " ")
}
