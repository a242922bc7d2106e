// SPDX-License-Identifier: MIT

package wait

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// blocked starts n sleeps without end and returns when all of them are asleep;
// their errors come over the channel.
func blocked(s *Set, ctx context.Context, n int) <-chan error {
	errs := make(chan error, n)
	for range n {
		go func() {
			for {
				if err := s.Sleep(ctx, Forever); err != nil {
					errs <- err
					return
				}
			}
		}()
	}
	for asleep := 0; asleep < n; {
		s.mu.Lock()
		asleep = len(s.active)
		s.mu.Unlock()
	}
	return errs
}

func want(t *testing.T, errs <-chan error, n int, target error) {
	t.Helper()
	for range n {
		select {
		case err := <-errs:
			if !errors.Is(err, target) {
				t.Errorf("ended with %v, want %v", err, target)
			}
		case <-time.After(5 * time.Second):
			t.Fatalf("still asleep, want %v", target)
		}
	}
}

func TestSleepEnds(t *testing.T) {
	t.Run("close", func(t *testing.T) {
		var s Set
		errs := blocked(&s, nil, 3)
		s.Close()
		want(t, errs, 3, net.ErrClosed)
		if err := s.Sleep(nil, Forever); !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		s.Close()
	})
	t.Run("context", func(t *testing.T) {
		var s Set
		defer s.Close()
		ctx, cancel := context.WithCancel(context.Background())
		errs := blocked(&s, ctx, 3)
		cancel()
		want(t, errs, 3, context.Canceled)
	})
	t.Run("deadline set while asleep", func(t *testing.T) {
		var s Set
		defer s.Close()
		errs := blocked(&s, nil, 3)
		s.SetDeadline(time.Now().Add(time.Hour))
		s.SetDeadline(time.Now().Add(20 * time.Millisecond))
		want(t, errs, 3, os.ErrDeadlineExceeded)
		s.SetDeadline(time.Unix(1, 0))
		if err := s.Sleep(nil, Forever); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
		s.SetDeadline(time.Time{})
		if err := s.Sleep(nil, time.Millisecond); err != nil {
			t.Error(err)
		}
	})
	t.Run("readable descriptor", func(t *testing.T) {
		var s Set
		defer s.Close()
		var p [2]int
		if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		defer unix.Close(p[0])
		defer unix.Close(p[1])
		unix.Write(p[1], []byte{1})
		if err := s.Sleep(nil, Forever, p[0]); err != nil {
			t.Error(err)
		}
	})
}

// A signal ends no wait, and the deadline is kept all the same (case 106).
func TestSignals(t *testing.T) {
	var s Set
	defer s.Close()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				syscall.Kill(syscall.Getpid(), syscall.SIGURG)
				time.Sleep(200 * time.Microsecond)
			}
		}
	})
	begin := time.Now()
	s.SetDeadline(begin.Add(200 * time.Millisecond))
	var err error
	for err == nil {
		err = s.Sleep(nil, Forever)
	}
	close(stop)
	wg.Wait()
	if !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begin) < 200*time.Millisecond {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
}

// Contexts of many calls share the sleepers: an old one's end does not end, and
// a new one's does, whatever came before.
func TestContextsTakeTurns(t *testing.T) {
	var s Set
	defer s.Close()
	for range 200 {
		old, cancelOld := context.WithCancel(context.Background())
		if err := s.Sleep(old, 0); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		errs := blocked(&s, ctx, 1)
		cancelOld()
		select {
		case err := <-errs:
			t.Fatalf("another's context ended the wait: %v", err)
		default:
		}
		cancel()
		want(t, errs, 1, context.Canceled)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.idle) != 1 {
		t.Errorf("%d sleepers for one wait at a time", len(s.idle))
	}
}

func TestCloseRaces(t *testing.T) {
	for range 200 {
		var s Set
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for s.Sleep(ctx, 10*time.Microsecond) == nil {
				}
			})
		}
		wg.Go(cancel)
		wg.Go(s.Close)
		wg.Go(func() { s.SetDeadline(time.Now()) })
		wg.Wait()
		s.Close()
	}
}

func TestNoAllocations(t *testing.T) {
	var s Set
	defer s.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if n := testing.AllocsPerRun(100, func() { s.Sleep(ctx, time.Microsecond, 0) }); n != 0 {
		t.Errorf("%v allocations a wait", n)
	}
	w := Waiter{Mode: Block}
	defer w.Close()
	var src Source = &readable{t: t}
	if n := testing.AllocsPerRun(100, func() { w.Wait(ctx, src) }); n != 0 {
		t.Errorf("%v allocations a wait of a Waiter", n)
	}
	if n := w.Stats().Sleeps; n != 101 {
		t.Errorf("%d sleeps in the kernel", n)
	}
}

// readable is a source of one descriptor that can always be read, and that never
// has anything.
type readable struct {
	t  *testing.T
	fd int
}

func (r *readable) Ready() bool { return false }
func (r *readable) Poke()       {}
func (r *readable) Descriptors(fds []int) []int {
	if r.fd == 0 {
		fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			r.t.Fatal(err)
		}
		r.fd = fd
		r.t.Cleanup(func() { unix.Close(fd) })
	}
	return append(fds, r.fd)
}

// A deadline that is set while a wait begins counts, whichever comes first.
func TestDeadlineWhileEntering(t *testing.T) {
	for range 2000 {
		var s Set
		errs := make(chan error, 1)
		begin := time.Now()
		go func() {
			err := s.Sleep(nil, 5*time.Second)
			if err == nil { // the bell
				err = s.Sleep(nil, 5*time.Second)
			}
			errs <- err
		}()
		s.SetDeadline(time.Now())
		if err := <-errs; !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begin) > 4*time.Second {
			t.Fatalf("%v after %v", err, time.Since(begin))
		}
		s.Close()
	}
}
