// SPDX-License-Identifier: MIT

package rr_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/xdpath/xdpath/bench/internal/pathtest"
	"github.com/xdpath/xdpath/bench/internal/rr"
	"github.com/xdpath/xdpath/bench/internal/stream"
)

const (
	size = 64
	run  = 5
)

// An exchange is what both ends found out in a window.
type exchange struct {
	trips        rr.Trips
	served       rr.Served
	client, asks stream.Tally // of answers, and of requests
	late         uint64       // answers: a few on a machine that is very busy
}

// exchanged runs a window over a line.
func exchanged(t *testing.T, l *pathtest.Line, d time.Duration) (e exchange) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	requests, answers := stream.NewChecker(size, run), stream.NewChecker(size, run)
	done := make(chan error, 1)
	go func() {
		var err error
		e.served, err = rr.Echo(ctx, l.Server(), requests)
		done <- err
	}()
	trips, err := rr.Ping(t.Context(), l.Client(), stream.NewGenerator(size, run), answers, d)
	cancel()
	if err := errors.Join(err, <-done); err != nil {
		t.Fatal(err)
	}
	e.trips, e.client, e.asks = trips, answers.Tally(), requests.Tally()
	e.late = e.client.Received - trips.Latency.Count
	// These hold whatever is done to the datagrams.
	if n := e.trips.Latency.Count; n > e.client.Received || e.client.Received > e.trips.Sent || e.asks.Received > e.trips.Sent ||
		e.served.Answered != e.asks.Received+e.asks.Duplicated-e.served.Late {
		t.Errorf("the books do not balance: %+v", e)
	}
	return e
}

func TestTrips(t *testing.T) {
	e := exchanged(t, pathtest.NewLine(size), 50*time.Millisecond)
	n := e.trips.Sent
	e.client.Reordered = 0 // a late one is
	if n < 100 || e.client != (stream.Tally{Received: n}) || e.asks != (stream.Tally{Received: n}) || e.served != (rr.Served{Answered: n}) {
		t.Errorf("%+v", e)
	}
	l := e.trips.Latency
	if l.P50 <= 0 || l.P50 > l.P90 || l.P90 > l.P99 || l.P99 > l.P999 || l.P999 > l.Max || l.Max > e.trips.Elapsed*101/100 {
		t.Errorf("%+v", l)
	}
	if e.trips.Elapsed < 50*time.Millisecond {
		t.Errorf("a window of %v", e.trips.Elapsed)
	}
}

// TestTripsLost: a datagram that gets lost on its way costs its timeout, and the
// test goes on.
func TestTripsLost(t *testing.T) {
	for name, set := range map[string]func(*pathtest.Line){
		"request": func(l *pathtest.Line) { l.Requests.Drop = 50 },
		"answer":  func(l *pathtest.Line) { l.Answers.Hide = 50 },
		"spoiled": func(l *pathtest.Line) { l.Answers.Spoil = 50 },
	} {
		t.Run(name, func(t *testing.T) {
			l := pathtest.NewLine(size)
			set(l)
			e := exchanged(t, l, 6*rr.Timeout)
			lost := e.trips.Sent - e.client.Received
			if lost < 1 || lost > 6 || lost != e.trips.Sent/50 {
				t.Errorf("%d lost: %+v", lost, e)
			}
			if e.trips.Latency.Max > rr.Timeout*101/100 {
				t.Errorf("a lost one is in the times: %+v", e.trips.Latency)
			}
			if name == "spoiled" && e.client.Corrupt != lost {
				t.Errorf("%+v", e.client)
			}
		})
	}
}

// TestTripsLate: an answer that comes after its time is lost, and known to be
// late, also if it is the last one.
func TestTripsLate(t *testing.T) {
	l := pathtest.NewLine(size)
	l.Answers.Late, l.Answers.By = 1, rr.Timeout*3/2
	e := exchanged(t, l, 2*rr.Timeout)
	if e.trips.Latency.Count != 0 || e.trips.Sent == 0 || e.client.Received != e.trips.Sent {
		t.Errorf("%+v", e)
	}
}

// TestTripsGivenUp has a request come when nobody waits for an answer any more: it
// is counted and not answered.
func TestTripsGivenUp(t *testing.T) {
	l := pathtest.NewLine(size)
	client, gen := l.Client(), stream.NewGenerator(size, run)
	b, err := client.Request()
	if err != nil {
		t.Fatal(err)
	}
	gen.Write(b, 0)
	if err := client.Send(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	check := stream.NewChecker(size, run)
	served, err := rr.Echo(ctx, l.Server(), check)
	if err != nil || served.Answered+served.Late != 1 || check.Tally().Received != 1 {
		t.Errorf("%+v, %v", served, err)
	}
}

// TestTripsDouble: who answers twice is no faster.
func TestTripsDouble(t *testing.T) {
	l := pathtest.NewLine(size)
	l.Answers.Double = 1
	e := exchanged(t, l, 20*time.Millisecond)
	n := e.trips.Sent
	if n < 10 || e.client.Received != n || e.client.Duplicated < n-1-e.late || e.client.Foreign != 0 {
		t.Errorf("%+v", e)
	}
}

// TestTripsStrangers: what is not of the test is neither an answer nor answered.
func TestTripsStrangers(t *testing.T) {
	l := pathtest.NewLine(size)
	other := stream.NewGenerator(size, run+1)
	for _, from := range []rr.Peer{l.Client(), l.Server()} {
		b, _ := from.Request()
		other.Write(b, 0)
		if err := from.Send(); err != nil {
			t.Fatal(err)
		}
	}
	e := exchanged(t, l, 20*time.Millisecond)
	if e.client.Foreign != 1 || e.asks.Foreign != 1 || e.client.Received != e.trips.Sent {
		t.Errorf("%+v", e)
	}
}

func TestTripsErrors(t *testing.T) {
	cut := errors.New("cable cut")
	l := pathtest.NewLine(size)
	l.Requests.Err = cut
	trips, err := rr.Ping(t.Context(), l.Client(), stream.NewGenerator(size, run), stream.NewChecker(size, run), time.Minute)
	if !errors.Is(err, cut) || trips.Sent != 0 {
		t.Errorf("%+v, %v", trips, err)
	}
	l = pathtest.NewLine(size)
	l.Answers.Err = cut
	gen := stream.NewGenerator(size, run)
	client := l.Client()
	if b, err := client.Request(); err == nil {
		gen.Write(b, 0)
	}
	if err := client.Send(); err != nil {
		t.Fatal(err)
	}
	if served, err := rr.Echo(t.Context(), l.Server(), stream.NewChecker(size, run)); !errors.Is(err, cut) || served.Answered != 0 {
		t.Errorf("%+v, %v", served, err)
	}
}

// TestTripsStop ends a long window early, while an answer is being waited for.
func TestTripsStop(t *testing.T) {
	l := pathtest.NewLine(size) // and no server
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	begun := time.Now()
	if _, err := rr.Ping(ctx, l.Client(), stream.NewGenerator(size, run), stream.NewChecker(size, run), time.Minute); err != nil {
		t.Error(err)
	}
	if _, err := rr.Echo(ctx, l.Server(), stream.NewChecker(size, run)); err != nil {
		t.Error(err)
	}
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("ended after %v", took)
	}
}

// A mirror answers at once.
type mirror struct{ b []byte }

func (m *mirror) Request() ([]byte, error)          { return m.b, nil }
func (m *mirror) Send() error                       { return nil }
func (m *mirror) Receive(time.Time) ([]byte, error) { return m.b, nil }
func (m *mirror) Reply() error                      { return nil }

// TestTripsAllocations counts what a whole window allocates: some for its
// beginning and nothing for each of its many round trips.
func TestTripsAllocations(t *testing.T) {
	m := &mirror{make([]byte, size)}
	var trips rr.Trips
	got := testing.AllocsPerRun(1, func() {
		var err error
		if trips, err = rr.Ping(t.Context(), m, stream.NewGenerator(size, run), stream.NewChecker(size, run), 20*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	})
	if got > 40 || trips.Sent < 1000 {
		t.Errorf("%v allocations in a window of %d round trips", got, trips.Sent)
	}
}
