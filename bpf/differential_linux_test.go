// SPDX-License-Identifier: MIT

package bpf

import (
	"bytes"
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
	stamp    stamp      // of the program with metadata, else 0
	room     [2048]byte // for what the run leaves
}

// check runs one frame. The context (and so the queue) costs time, and is left out
// for queue 0.
func (d *differ) check(frame []byte, queue int) error {
	want := d.model.Decide(frame, queue)
	run := ebpf.RunOptions{Data: frame, Repeat: 1}
	if d.stamp != 0 {
		run.DataOut = d.room[:]
	}
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
	if d.stamp != 0 {
		if err := checkRoom(run.DataOut, frame, want, d.stamp); err != nil {
			return fmt.Errorf("%w\n%x", err, frame)
		}
	}
	d.expected[want]++
	d.frames++
	return nil
}

// checkRoom holds what a run left of the frame against what it must leave: for a
// socket a block in front, which says nothing as there is no driver; else nothing.
func checkRoom(left, frame []byte, want model.Reason, s stamp) error {
	if want == model.Redirected {
		m, ok := parseMetadata(left[:min(MetadataSize, len(left))], s)
		if !ok || m != (Metadata{}) {
			return fmt.Errorf("metadata %v, %+v", ok, m)
		}
		left = left[MetadataSize:]
	}
	if !bytes.Equal(left, frame) {
		return fmt.Errorf("the frame became %x", left)
	}
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
	for _, name := range []string{"plain", "frags", "old", "meta", "meta frags"} {
		t.Run(name, func(t *testing.T) {
			b := openBench(t)
			program := map[string]*ebpf.Program{
				"plain": b.plain, "frags": b.frags, "old": b.old, "meta": b.meta, "meta frags": b.metaFrags,
			}[name]
			if program == nil {
				t.Skip("the kernel has no programs with frags (Linux 5.18)")
			}
			pairIn(t, testnet.Config{Queues: 2}, func(pair *testnet.Pair) error {
				d := newDiffer(b, program, pair.B.Index)
				if program == b.meta || program == b.metaFrags {
					d.stamp = stamp(b.stamp.Load())
				}
				f(t, d)
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
			if n == 0 && model.Reason(reason) != model.NoRoom {
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
		frames := total
		if d.stamp != 0 {
			frames /= 3 // what they leave is looked at too; the decision is the same code
		}
		for d.frames < frames {
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
			if n == 0 && model.Reason(reason) != model.NoRoom {
				t.Errorf("no frame ended as %v: the generator is too narrow", model.Reason(reason))
			}
		}
		t.Logf("%d frames: %v", d.frames, d.expected)
	})
}
