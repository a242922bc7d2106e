// SPDX-License-Identifier: MIT

package wait

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// Mode is how a Waiter waits.
type Mode int

const (
	Adaptive Mode = iota // as a Pacer plans
	Block                // asleep in the kernel at once
	Busy                 // never asleep
)

// Source is what a wait is for.
type Source interface {
	// Ready tells whether it is worth while to try again: something is
	// there, or nothing will ever come.
	Ready() bool
	// Poke is called between looks of a busy wait, for what must be driven.
	Poke()
	// Descriptors appends the descriptors to sleep on. None: try again.
	Descriptors(fds []int) []int
}

// Waiter is the waits of one kind on one object, and how they are done. The
// fields are set before its first use; its methods may be called by any number
// of goroutines at once.
type Waiter struct {
	Set
	Mode Mode

	mu    sync.Mutex // guards what follows
	Pacer Pacer
	stats WaitStats
	lists [][]int // of descriptors, for the next waits, so that waiting allocates nothing
}

// WaitStats counts waits.
type WaitStats struct {
	Sleeps uint64 // in the kernel
	Naps   uint64 // by the clock
}

// Got notes that n frames were received.
func (w *Waiter) Got(n int) {
	if w.Mode == Adaptive {
		w.mu.Lock()
		w.Pacer.Got(n)
		w.mu.Unlock()
	}
}

// Stats counts the waits so far.
func (w *Waiter) Stats() WaitStats {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stats
}

// lookAgain bounds a wait without news. A source may have something to do that no
// descriptor tells of: frames that others gave back are to go to the kernel, or
// its device is gone, of which poll(2) says nothing.
const lookAgain = 100 * time.Millisecond

// Wait returns nil when it is worth while to look at src again, which is every
// 100 ms at the latest. Errors are those of [Set.Sleep].
func (w *Waiter) Wait(ctx context.Context, src Source) error {
	plan := w.plan()
	if plan.Nap > 0 {
		return w.Sleep(ctx, plan.Nap)
	}
	if plan.Spin > 0 {
		if found, err := w.spin(ctx, src, plan.Spin); found || err != nil {
			return err
		}
	}
	wakes := w.woken() // before the source says that there is nothing
	fds := src.Descriptors(w.list())
	defer w.keep(fds)
	if len(fds) == 0 {
		return w.Sleep(ctx, 0)
	}
	w.mu.Lock()
	w.stats.Sleeps++
	w.Pacer.Sleeps(time.Since(epoch))
	w.mu.Unlock()
	return w.sleep(ctx, lookAgain, wakes, fds)
}

// list is an empty list for one wait, which gives it back with keep.
func (w *Waiter) list() []int {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := len(w.lists) - 1
	if last < 0 {
		return make([]int, 0, 8)
	}
	fds := w.lists[last]
	w.lists = w.lists[:last]
	return fds
}

func (w *Waiter) keep(fds []int) {
	w.mu.Lock()
	w.lists = append(w.lists, fds[:0])
	w.mu.Unlock()
}

func (w *Waiter) plan() Plan {
	switch w.Mode {
	case Block:
		return Plan{}
	case Busy:
		return Plan{Spin: Forever}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	plan := w.Pacer.Next(time.Since(epoch))
	if plan.Nap > 0 {
		w.stats.Naps++
	}
	return plan
}

const (
	// eager is how long a spin looks at the source as often as it can: what
	// answers us comes soon or takes longer.
	eager = 4 * time.Microsecond
	// looks is how many looks at the clock lie between two at the source after
	// that: a spinning consumer must not keep the producer's cache line to
	// itself.
	looks = 8
	// checks is how many looks at the source lie between two at what else
	// may end a spin.
	checks = 64
)

// spin looks at the source again and again for up to limit.
func (w *Waiter) spin(ctx context.Context, src Source, limit time.Duration) (found bool, err error) {
	start := time.Since(epoch)
	for i := 1; ; i++ {
		took := time.Since(epoch) - start
		for k := 1; k < looks && took > eager; k++ {
			took = time.Since(epoch) - start
		}
		if found = src.Ready(); found || took >= limit {
			if limit != Forever { // there is nothing to learn for who always spins
				w.mu.Lock()
				w.Pacer.Spun(found, took)
				w.mu.Unlock()
			}
			return found, nil
		}
		if limit == Forever {
			src.Poke()
		}
		if i%checks == 0 {
			if err := w.Ended(ctx); err != nil {
				return false, err
			}
			if limit == Forever {
				if took >= lookAgain {
					return true, nil
				}
				runtime.Gosched() // others may share the CPU
			}
		}
	}
}
