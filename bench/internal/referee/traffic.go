// SPDX-License-Identifier: MIT

package referee

import (
	"context"
	"fmt"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/report"
	"github.com/xdpath/xdpath/bench/internal/suite"
)

// A measured is what came of a window.
type measured struct {
	result    report.Result
	sent, got control.Totals
}

// traffic opens a path, runs a window of a test, or those of a search, and closes the
// path.
func (r *runner) traffic(ctx context.Context, step suite.Step, test suite.Test, tx, rx *End) (measured, error) {
	defer rx.close()
	defer tx.close()
	// The receiver is open before the sender, and closed after it: what is sent
	// always finds someone.
	if err := rx.prepare(question(test, step, control.RoleReceiver, rx, tx)); err != nil {
		return measured{}, fmt.Errorf("receiver: %w", err)
	}
	p := question(test, step, control.RoleSender, tx, rx)
	if err := tx.prepare(p); err != nil {
		return measured{}, fmt.Errorf("sender: %w", err)
	}
	if middle, ok := r.link.(Middle); ok {
		if err := middle.Open(); err != nil {
			return measured{}, err
		}
		defer func() { r.shut(middle) }()
	}
	if err := r.warmUp(ctx, step, test, tx, rx); err != nil {
		return measured{}, fmt.Errorf("warm-up: %w", err)
	}
	if step.Search {
		return r.search(ctx, p, test, tx, rx)
	}
	return r.window(p, test, tx, rx)
}

// shut closes what lies in the middle. What goes wrong then is worth a note.
func (r *runner) shut(m Middle) {
	if err := m.Shut(); err != nil {
		r.note(err.Error())
	}
}

// window runs one window on an open path, at the rate of p. What was lost in the middle
// counts as the receiver's does.
func (r *runner) window(p control.Prepare, test suite.Test, tx, rx *End) (m measured, err error) {
	middle, forwards := r.link.(Middle)
	var before, after loss.Counts
	if forwards {
		if before, err = middle.Counters(); err != nil {
			return m, err
		}
	}
	if m.sent, m.got, err = r.open(tx, rx, r.plan.Duration, p.Rate); err != nil {
		return m, err
	}
	if forwards {
		if after, err = middle.Counters(); err != nil {
			return m, err
		}
		m.got.Lost = m.got.Lost.Plus(after.Since(before))
	}
	m.result, err = report.Compute(p, report.Side{Facts: tx.Facts, Totals: m.sent}, report.Side{Facts: rx.Facts, Totals: m.got}, test.Count)
	if forwards {
		m.result.Mode = middle.Mode()
	}
	return m, err
}

// search runs windows at one rate after the other.
func (r *runner) search(ctx context.Context, p control.Prepare, test suite.Test, tx, rx *End) (measured, error) {
	var best measured
	s := suite.NewSearch(p.Limit)
	for rate, more := s.Next(); more; rate, more = s.Next() {
		p.Rate = rate
		m, err := r.window(p, test, tx, rx)
		if err != nil {
			return best, err
		}
		if ctx.Err() != nil {
			return best, ctx.Err()
		}
		if s.Tried(rate, m.result) {
			best = m
		}
	}
	return best, s.Err()
}
