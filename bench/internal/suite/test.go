// SPDX-License-Identifier: MIT

package suite

import (
	"context"
	"flag"
	"fmt"
	"strings"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/path"
	"github.com/xdpath/xdpath/bench/internal/report"
)

// A Test is what the first argument tells the bench to do.
type Test struct {
	Name, What string
	Kind       path.Kind // how it drives paths
	Defaults   Defaults
	// Rows puts the flags that the test alone has into a set, and returns what
	// makes the rows of the plan once these are parsed; it may change its duration
	// too. Nil is no such flags and Product.
	Rows func(*flag.FlagSet) func(*Plan, Common) error
	// Traffic runs one window on one side of a path. Figures go to the totals,
	// those of an unfinished window too.
	Traffic func(context.Context, Side) error
	// Carried tells whether anything came through in a window, from the totals of
	// both sides.
	Carried func(sent, got control.Totals) bool
	// Latency, if not empty, names a test of round trips that follows each run over the
	// same row: what they take is in the run's result.
	Latency string
	// Count makes the figures of a run of its totals.
	Count report.Count
	// Columns are those of the table, beside the ones that tell the rows apart.
	Columns func() []report.Column
	// Notes are the sentences beneath the table that tell how the test was done.
	Notes func(Plan, report.Document) []string
}

// Defaults are those of the flags that all tests have.
type Defaults struct {
	Paths string // empty: the usual ones of the kind
	Sizes string // empty: there is no such flag, the test has sizes of its own
	MTU   string
	Batch int // 0: there is no such flag, a call handles one datagram
}

// A Side is one worker's part in a window.
type Side struct {
	Prepare control.Prepare
	Start   control.Start
	End     path.End
	Totals  *control.Totals
}

// refused notes that a sender had no way to its peer n times, each about a millisecond.
func (s Side) refused(n uint64, why error) {
	if s.Totals.Refused += n; n > 0 {
		// Of a batch every datagram has a line that says the same.
		s.Totals.Why, _, _ = strings.Cut(why.Error(), "\n")
	}
}

// All returns every test, the default first.
func All() []Test {
	return []Test{streamTest(), tripTest(), mtuTest(), cameraTest(),
		batchTest(), ringsTest(), coalesceTest(), rateTest(), loadTest(), queuesTest(), forwardTest()}
}

// Find returns the test of that name.
func Find(name string) (Test, error) {
	var names []string
	for _, t := range All() {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	return Test{}, fmt.Errorf("no test %.40q, there are %s", name, strings.Join(names, ", "))
}
