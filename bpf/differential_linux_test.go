// SPDX-License-Identifier: MIT

package bpf

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/xdpath/xdpath/bpf/internal/model"
	"github.com/xdpath/xdpath/internal/testnet"
)

// differ pushes frames through the kernel's program and the model.
type differ struct {
	program  *ebpf.Program
	bench    *bench
	model    *model.Model
	ifindex  int
	expected [model.Reasons]uint64 // what the counters must say by now
	frames   int
}

// check runs one frame. The context (and so the queue) costs time, and is left out
// for queue 0.
func (d *differ) check(frame []byte, queue int) error {
	want := d.model.Decide(frame, queue)
	run := ebpf.RunOptions{Data: frame, Repeat: 1}
	if queue != 0 {
		run.Context = queueContext(len(frame), d.ifindex, queue)
	}
	verdict, err := d.program.Run(&run)
	if err != nil {
		return fmt.Errorf("test run of %d bytes, queue %d: %w", len(frame), queue, err)
	}
	expected := uint32(xdpPass)
	if want == model.Redirected {
		expected = xdpRedirect
	}
	if verdict != expected {
		return fmt.Errorf("verdict %d, the model says %v\n%x", verdict, want, frame)
	}
	d.expected[want]++
	d.frames++
	return nil
}

// counted holds the counters against the sum of the model's reasons.
func (d *differ) counted() error {
	c, err := d.bench.Counters()
	if err != nil {
		return err
	}
	for reason, got := range reasonCounts(c) {
		if want := d.expected[reason]; got != want {
			return fmt.Errorf("counter %v is %d, the model counted %d", model.Reason(reason), got, want)
		}
	}
	return nil
}

// batch checks the counters once for many frames, and finds the frame at fault by
// running each again if they differ.
func (d *differ) batch(list [][]byte, queue int) error {
	for _, frame := range list {
		if err := d.check(frame, queue); err != nil {
			return err
		}
	}
	bad := d.counted()
	if bad == nil {
		return nil
	}
	c, err := d.bench.Counters()
	if err != nil {
		return err
	}
	d.expected = reasonCounts(c)
	for _, frame := range list {
		if err := d.check(frame, queue); err != nil {
			return err
		}
		if err := d.counted(); err != nil {
			return fmt.Errorf("%w\n%x", err, frame)
		}
	}
	return fmt.Errorf("%w, but not when run again", bad)
}

// newDiffer must be called inside the pair's namespace, so that the kernel finds
// the device of the context.
func newDiffer(b *bench, program *ebpf.Program, ifindex int) *differ {
	return &differ{program: program, bench: b, model: modelOf(filters(), 0), ifindex: ifindex}
}

// openBench loads the program, allows the filters and puts a socket on queue 0.
func openBench(t *testing.T) *bench {
	t.Helper()
	testnet.Require(t)
	b := loadBench(t)
	for _, f := range filters() {
		if err := b.Allow(f); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.SetQueue(0, xdpSocket(t)); err != nil {
		t.Fatal(err)
	}
	return b
}

// each runs f for each of the programs.
func each(t *testing.T, f func(t *testing.T, d *differ)) {
	for _, name := range []string{"plain", "frags", "old"} {
		t.Run(name, func(t *testing.T) {
			b := openBench(t)
			program := map[string]*ebpf.Program{"plain": b.plain, "frags": b.frags, "old": b.old}[name]
			if program == nil {
				t.Skip("the kernel has no programs with frags (Linux 5.18)")
			}
			pairIn(t, testnet.Config{Queues: 2}, func(pair *testnet.Pair) error {
				f(t, newDiffer(b, program, pair.B.Index))
				return nil
			})
		})
	}
}

// Every named case, whole and cut at every length, on a queue with a socket and on
// one without.
func TestDecisionCases(t *testing.T) {
	each(t, func(t *testing.T, d *differ) {
		for _, c := range target.Cases() {
			frame := c.Frame.Bytes()
			var list [][]byte
			for n := 14; n <= len(frame); n++ {
				list = append(list, frame[:n])
			}
			for queue := range 2 {
				if err := d.batch(list, queue); err != nil {
					t.Errorf("%s, queue %d: %v", c.Name, queue, err)
					return
				}
			}
		}
		for reason, n := range d.expected {
			if n == 0 {
				t.Errorf("no case ended as %v", model.Reason(reason))
			}
		}
		t.Logf("%d frames: %v", d.frames, d.expected)
	})
}

// Random frames; XDPATH_TEST_SEED repeats a run.
func TestDecisionRandom(t *testing.T) {
	const total, batch = 120_000, 100
	seed := rand.Uint64()
	if s := os.Getenv("XDPATH_TEST_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("XDPATH_TEST_SEED=%d", seed)
	each(t, func(t *testing.T, d *differ) {
		r := rand.New(rand.NewPCG(seed, 0))
		for d.frames < total {
			list := make([][]byte, batch)
			for i := range list {
				list[i] = target.Random(r)
			}
			queue := 0
			if r.IntN(10) == 0 {
				queue = 1
			}
			if err := d.batch(list, queue); err != nil {
				t.Fatal(err)
			}
		}
		for reason, n := range d.expected {
			if n == 0 {
				t.Errorf("no frame ended as %v: the generator is too narrow", model.Reason(reason))
			}
		}
		t.Logf("%d frames: %v", d.frames, d.expected)
	})
}
