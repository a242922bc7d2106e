// SPDX-License-Identifier: MIT

package udp

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// world is a clock that moves when it is looked at and when somebody sleeps.
type world struct {
	now     time.Duration
	look    time.Duration        // what a look at the clock takes
	late    func() time.Duration // how much too long a sleep is
	spun    time.Duration        // in looks
	sleeps  int
	stopped error // what sleeps end with
}

func (w *world) clock() time.Duration {
	w.now += w.look
	w.spun += w.look
	return w.now
}

func (w *world) Sleep(_ context.Context, limit time.Duration, _ ...int) error {
	w.sleeps++
	w.now += limit
	if w.late != nil {
		w.now += w.late()
	}
	return w.stopped
}

func (w *world) Ended(context.Context) error { return w.stopped }

// newWorld is a pacer in a world in which a look takes 20 ns and a sleep 60 µs too
// long.
func newWorld(t testing.TB, cfg PacerConfig) (*world, *Pacer) {
	t.Helper()
	p, err := NewPacer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{now: time.Hour, look: 20, late: func() time.Duration { return 60 * time.Microsecond }}
	p.clock = w.clock
	return w, p
}

// next lets a datagram leave, and says when.
func (w *world) next(t testing.TB, p *Pacer) time.Duration {
	t.Helper()
	if _, err := p.wait(nil, w, timebase{clock: p.clock}); err != nil {
		t.Fatal(err)
	}
	at := w.now
	p.Sent()
	return at
}

// A rate is exact after any number of datagrams.
func TestScheduleExact(t *testing.T) {
	for _, rate := range []float64{3, 44_000, 123_456.789, 1e6, 7e8} {
		p, err := NewPacer(PacerConfig{Rate: rate})
		if err != nil {
			t.Fatal(err)
		}
		const n = 1_000_000
		s := p.plan
		for range n {
			at := s.next(s.due.ns)
			s.leave(at)
		}
		want := n / rate * 1e9
		if off := float64(s.due.ns) - want; math.Abs(off) > 1+want*1e-12 || s.late != 0 || s.restarts != 0 {
			t.Errorf("rate %v: after %d datagrams the next is due after %v, %v ns off; %d late", rate, n, s.due.ns, off, s.late)
		}
	}
}

func TestFractionCarries(t *testing.T) {
	f, g := fraction{part: 1<<32 - 1}, fraction{ns: 7, part: 3}
	if got := f.plus(g); got != (fraction{8, 2}) {
		t.Errorf("%+v", got)
	}
}

// Whatever the sleeps take, none is early, none follows the one before within half a
// gap, and the average stays.
func TestPacerSteady(t *testing.T) {
	for _, gap := range []time.Duration{time.Microsecond, 20 * time.Microsecond, 130 * time.Microsecond, time.Millisecond, 3 * time.Second} {
		w, p := newWorld(t, PacerConfig{Gap: gap})
		rng := rand.New(rand.NewPCG(1, uint64(gap)))
		w.late = func() time.Duration {
			if rng.IntN(100) == 0 {
				return time.Duration(rng.Int64N(int64(4 * time.Millisecond)))
			}
			return 50*time.Microsecond + time.Duration(rng.Int64N(10_000))
		}
		first := w.next(t, p)
		const n = 5000
		last := first
		for i := time.Duration(1); i <= n; i++ {
			if i%1000 == 0 {
				w.now += time.Duration(rng.Int64N(int64(min(8*time.Millisecond, 200*gap)))) // preempted
			}
			at := w.next(t, p)
			if at < first+i*gap-w.look { // by the look before the first was due
				t.Fatalf("gap %v: datagram %d is %v early", gap, i, first+i*gap-at)
			}
			if at-last < gap/2 {
				t.Fatalf("gap %v: datagram %d is %v after the one before", gap, i, at-last)
			}
			last = at
		}
		st := p.Stats()
		if late := last - first - n*gap; st.Restarts != 0 || late > hopeless || st.Count != n || st.LongestBurst != 0 {
			t.Errorf("gap %v: the last is %v late; %v", gap, late, st)
		}
		if m := float64(st.Median); gap > time.Microsecond && math.Abs(m/float64(gap)-1) > 0.05 {
			t.Errorf("gap %v: %v", gap, st)
		}
	}
}

// After a stall gaps are halved until it is made up for; after a long one the schedule
// is a new one.
func TestPacerStalls(t *testing.T) {
	const gap = 20 * time.Microsecond
	for _, c := range []struct {
		gap, stall     time.Duration
		halved, atMost int // gaps in a row
		restarts       uint64
	}{
		{gap, 5 * time.Millisecond, 490, 510, 0},
		{gap, 9 * time.Millisecond, 890, 910, 0},
		{gap, 11 * time.Millisecond, 0, 0, 1},
		{gap, time.Hour, 0, 0, 1},
		{time.Second, 900 * time.Millisecond, 1, 2, 0},
		{time.Second, 2100 * time.Millisecond, 0, 0, 1},
	} {
		w, p := newWorld(t, PacerConfig{Gap: c.gap})
		for range 10 {
			w.next(t, p)
		}
		w.now += c.gap + c.stall
		last := w.next(t, p)
		halved := 0
		for i := range 2000 {
			at := w.next(t, p)
			if at-last < c.gap/2 {
				t.Fatalf("%+v: %v after the one before", c, at-last)
			}
			if at-last < c.gap*3/4 && halved == i {
				halved++
			}
			last = at
		}
		st := p.Stats()
		if halved < c.halved || halved > c.atMost || st.Restarts != c.restarts || st.Late < 1 || st.LongestBurst != 0 || st.Worst < c.stall {
			t.Errorf("%+v: %d gaps halved; %v", c, halved, st)
		}
	}
}

// A pause is no gap, and no reason to hurry.
func TestPacerPauses(t *testing.T) {
	const gap = time.Millisecond
	w, p := newWorld(t, PacerConfig{Gap: gap})
	for range 10 {
		w.next(t, p)
	}
	p.Pause()
	w.now += time.Minute
	resumed := w.now
	if at := w.next(t, p); at-resumed > time.Microsecond {
		t.Errorf("the first one after a pause leaves %v later", at-resumed)
	}
	p.Pause() // a short one
	last := w.now
	if at := w.next(t, p); at-last < gap-w.look {
		t.Errorf("the first one after a short pause leaves after %v", at-last)
	}
	if st := p.Stats(); st.Late != 0 || st.Restarts != 0 || st.Count != 9 || st.Worst > gap+gap/100 {
		t.Error(st)
	}
}

// The time before a datagram is slept through, but for a little.
func TestPacerSleeps(t *testing.T) {
	for _, c := range []struct {
		gap   time.Duration
		sleep time.Duration // too long by
		most  float64       // part of the time that is spun away
	}{
		{time.Millisecond, 60 * time.Microsecond, 0.03},
		{time.Millisecond, 100 * time.Microsecond, 0.05},
		{time.Millisecond, 2 * time.Microsecond, 0.015}, // as real-time policies have it
		{10 * time.Millisecond, 60 * time.Microsecond, 0.003},
		{20 * time.Microsecond, 60 * time.Microsecond, 1.01},
	} {
		w, p := newWorld(t, PacerConfig{Gap: c.gap})
		w.late = func() time.Duration { return c.sleep }
		for range 200 {
			w.next(t, p) // learns
		}
		begun, spun, sleeps := w.now, w.spun, w.sleeps
		for range 1000 {
			w.next(t, p)
		}
		part := float64(w.spun-spun) / float64(w.now-begun)
		if st := p.Stats(); part > c.most || st.Late != 0 || c.gap >= time.Millisecond && w.sleeps-sleeps != 1000 {
			t.Errorf("%+v: %.3f of the time spun away, %d sleeps, %d late", c, part, w.sleeps-sleeps, st.Late)
		}
	}
}

// Many use one pacer in turn: no more leave than the rate allows.
func TestPacerShared(t *testing.T) {
	const gap, users, each = 50 * time.Microsecond, 8, 100
	p, err := NewPacer(PacerConfig{Gap: gap})
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	var wg sync.WaitGroup
	for range users {
		wg.Go(func() {
			for range each {
				if err := p.Wait(context.Background()); err != nil {
					t.Error(err)
				}
				p.Sent()
				p.Stats()
			}
		})
	}
	wg.Wait()
	if took := time.Since(begun); took < (users*each-1)*gap/catchUp {
		t.Errorf("%d in %v", users*each, took)
	}
	if st := p.Stats(); st.Count != users*each-1 || st.Mean < gap/catchUp {
		t.Error(st)
	}
}

// A context ends a wait: before it begins, while it sleeps, and while others have
// their turn.
func TestPacerContext(t *testing.T) {
	p, err := NewPacer(PacerConfig{Gap: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if err := p.Wait(ctx); err != nil { // due at once
		t.Fatal(err)
	}
	errs := make(chan error)
	for range 3 {
		go func() { errs <- p.Wait(ctx) }()
	}
	cancel()
	for range 3 {
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	if err := p.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	// A clock that stands still holds nobody.
	w, stuck := newWorld(t, PacerConfig{Gap: 10 * time.Microsecond})
	w.next(t, stuck)
	w.look = 0
	looks := 0
	by := timebase{clock: func() time.Duration {
		if looks++; looks == 2*manyLooks {
			w.stopped = context.Canceled
		}
		return w.now
	}}
	if _, err := stuck.wait(nil, w, by); !errors.Is(err, context.Canceled) || looks > 4*manyLooks {
		t.Errorf("%v after %d looks", err, looks)
	}
	quick, err := NewPacer(PacerConfig{Gap: 10 * time.Millisecond}) // by a timer, a sleep and the clock
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := quick.Wait(nil); err != nil {
			t.Error(err)
		}
		quick.Sent()
	}
	if st := quick.Stats(); st.Count != 2 || st.Min < 5*time.Millisecond {
		t.Error(st)
	}
}

func TestPacerConfig(t *testing.T) {
	for _, cfg := range []PacerConfig{
		{}, {Gap: 1, Rate: 1}, {Gap: -1}, {Gap: maxGap + 1}, {Rate: -1}, {Rate: 1e-6}, {Rate: 2e9}, {Rate: math.NaN()}, {Rate: math.Inf(1)},
	} {
		if _, err := NewPacer(cfg); err == nil {
			t.Errorf("%+v is taken", cfg)
		}
	}
	for _, cfg := range []PacerConfig{{Gap: 1}, {Gap: maxGap}, {Rate: 1e9}, {Rate: 1.0 / 86400}} {
		if _, err := NewPacer(cfg); err != nil {
			t.Error(err)
		}
	}
}

// With launch times datagrams are handed over ahead of their times, which are exact.
func TestPacerAhead(t *testing.T) {
	const gap = 20 * time.Microsecond
	w, p := newWorld(t, PacerConfig{Gap: gap})
	c := &Conn{}
	by := timebase{clock: w.clock, conn: c}
	by.ahead.least, by.ahead.wake, by.ahead.most = launchLeast, launchWake, launchMost
	var last time.Duration
	for i := range 10_000 {
		at, err := p.wait(nil, w, by)
		if err != nil {
			t.Fatal(err)
		}
		p.sent(at)
		if in := at - w.now; in < launchLeast || in > launchMost {
			t.Fatalf("datagram %d is handed over %v ahead", i, in)
		}
		if i > 0 && at-last != gap {
			t.Fatalf("datagram %d is to leave %v after the one before", i, at-last)
		}
		last = at
	}
	if st := p.Stats(); st.Late != 0 || st.Min != gap || st.Worst != gap || w.sleeps > 101 {
		t.Errorf("%d sleeps; %v", w.sleeps, st)
	}
	// A thread that was preempted makes none leave late, unless for too long.
	w.now = last - launchWake + time.Millisecond
	if at, _ := p.wait(nil, w, by); at-last != gap {
		t.Errorf("%v after the one before", at-last)
	}
	w.now += 5 * time.Millisecond
	at, _ := p.wait(nil, w, by)
	if at-w.now < launchLeast-w.look {
		t.Errorf("%v ahead", at-w.now)
	}
	if next, _ := p.wait(nil, w, by); next-at != gap/2 {
		t.Errorf("to catch up, %v after the one before", next-at)
	}
	// Another clock, another schedule.
	other := &world{now: time.Second}
	if at, _ := p.wait(nil, other, timebase{clock: other.clock}); at != time.Second {
		t.Errorf("by another clock it leaves at %v", at)
	}
}
