// SPDX-License-Identifier: MIT

package udp

import (
	"context"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BenchmarkPacing sends b.N datagrams at a rate to a Conn whose rings have 256 entries,
// each on a CPU of its own, as on two machines. It reports the gaps, what was lost, and
// the CPU time of the sending thread, the kernel's part included. What the issue asks for:
//
//	go test -run '^$' -bench Pacing/20us -benchtime 1000x ./udp
//	go test -run '^$' -bench Pacing/44k -benchtime 440000x ./udp
func BenchmarkPacing(b *testing.B) {
	for _, c := range []struct {
		name string
		cfg  PacerConfig
	}{
		{"20us", PacerConfig{Gap: 20 * time.Microsecond}}, {"44k", PacerConfig{Rate: 44_000}},
		{"1k", PacerConfig{Rate: 1000}}, {"10k", PacerConfig{Rate: 10_000}}, {"100k", PacerConfig{Rate: 100_000}},
	} {
		b.Run(c.name, func(b *testing.B) { benchmarkPacing(b, c.cfg) })
	}
}

func benchmarkPacing(b *testing.B, cfg PacerConfig) {
	_, from, to := twoConns(b, Config{}, Config{RingSize: 256})
	f := resolve(b, from, to)
	p, err := NewPacer(cfg)
	if err != nil {
		b.Fatal(err)
	}
	arrived := to.stats.fastRx.Load()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	got := make(chan int)
	go func() {
		pin(b, 1)
		urgent()
		got <- drain(ctx, to.queues[0])
	}()
	pin(b, 0)
	before := threadTime(b)
	b.ResetTimer()
	paced(b, from.queues[0], f, p, b.N, 1472)
	b.StopTimer()
	used := threadTime(b) - before
	// What is on its way arrives; what is lost does not.
	for end := time.Now().Add(time.Second); to.stats.fastRx.Load()-arrived < uint64(b.N) && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	cancel()
	st := p.Stats()
	b.Log(st)
	b.ReportMetric(float64(b.N-<-got), "lost")
	b.ReportMetric(float64(st.Median)/1e3, "µs-median")
	b.ReportMetric(float64(st.P999)/1e3, "µs-p99.9")
	b.ReportMetric(float64(st.Worst)/1e3, "µs-worst")
	b.ReportMetric(float64(st.LongestBurst), "burst")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "datagrams/s")
	b.ReportMetric(used.Seconds()/b.Elapsed().Seconds()*100, "%cpu")
}

// drain receives until ctx ends, and counts. It looks now and then: on veth, a receiver
// that sleeps until something comes is woken by the sender's kick, at its cost.
func drain(ctx context.Context, q *Queue) (n int) {
	for ds := make([]Received, batch); ctx.Err() == nil; {
		k, err := q.Receive(ds)
		if n += k; err != nil {
			return n
		}
		q.Release(ds[:k])
		if k < len(ds) {
			nap(300 * time.Microsecond)
		}
	}
	return n
}

// pin keeps the goroutine on a CPU, if there are as many; its thread ends with it.
func pin(b *testing.B, cpu int) {
	runtime.LockOSThread()
	var set unix.CPUSet
	set.Set(cpu % runtime.NumCPU())
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		b.Error(err)
	}
}

// urgent lets nothing that is less so take the thread's CPU, if the caller may ask for
// that: what the machine does beside is no part of a receiver that is another machine.
func urgent() {
	_ = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}, 0)
}

// threadTime is the CPU time of the thread so far, user and system.
func threadTime(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
