// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/bench/internal/suite"
)

// redraw is the time between two drawings of the progress line.
const redraw = 200 * time.Millisecond

// stepOverhead is what a step takes beside its run and warm-up, before there
// are steps to judge by.
const stepOverhead = 200 * time.Millisecond

// A progress is one line on a terminal that tells what runs and how long the
// rest will take. On anything else it is silent.
type progress struct {
	w     io.Writer // nil: be silent
	total int
	guess time.Duration // of one step
	done  chan struct{}
	wg    sync.WaitGroup

	mu      sync.Mutex // guards what follows
	begun   time.Time
	stepped time.Time // begin of the present step
	n       int       // steps that are done
	now     suite.Step
}

func newProgress(w io.Writer, plan suite.Plan) *progress {
	p := &progress{total: len(plan.Steps()), guess: time.Duration(plan.Windows())*plan.Duration + plan.Warmup + stepOverhead, done: make(chan struct{})}
	if !isTerminal(w) {
		return p
	}
	p.w = w
	p.wg.Go(p.draw)
	return p
}

// step notes that done steps are through and next begins.
func (p *progress) step(done int, next suite.Step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stepped = time.Now()
	if done == 0 {
		p.begun = p.stepped
	}
	p.n, p.now = done, next
}

// end takes the line away.
func (p *progress) end() {
	close(p.done)
	p.wg.Wait()
	if p.w != nil {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

func (p *progress) draw() {
	tick := time.NewTicker(redraw)
	defer tick.Stop()
	for {
		select {
		case <-p.done:
			return
		case now := <-tick.C:
			fmt.Fprintf(p.w, "\r\x1b[K%s", fitLine(p.line(now), columnsOf(p.w)))
		}
	}
}

// line is what there is to tell at a moment.
func (p *progress) line(now time.Time) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.begun.IsZero() {
		return "bench: making namespaces"
	}
	each := p.guess
	if p.n > 0 {
		each = p.stepped.Sub(p.begun) / time.Duration(p.n)
	}
	left := time.Duration(p.total-p.n)*each - now.Sub(p.stepped)
	return fmt.Sprintf("bench: %d of %d, %s, run %d, %s left", p.n+1, p.total, p.now.Key(), p.now.Run, span(left))
}

// span writes a length of time as people say it.
func span(d time.Duration) string {
	s := int(max(0, d).Round(time.Second).Seconds())
	if s < 100 {
		return fmt.Sprintf("%d s", s)
	}
	return fmt.Sprintf("%d min %02d s", s/60, s%60)
}

// fitLine cuts a line to the width of the terminal: a longer one would wrap, and each
// drawing would leave a line behind. A width of 0 is not known.
func fitLine(line string, width int) string {
	if runes := []rune(line); width > 1 && len(runes) >= width {
		return string(runes[:width-1])
	}
	return line
}

// columnsOf is the width of the terminal now, 0 if it does not say.
func columnsOf(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}

// isTerminal tells whether w is one.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
