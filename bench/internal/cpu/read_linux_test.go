// SPDX-License-Identifier: MIT

package cpu

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"
)

// readIdle reads the sum of idle and iowait, and of the eight columns, in a way
// of its own.
func readIdle(t *testing.T) (idle, total uint64) {
	t.Helper()
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	for i, f := range bytes.Fields(line)[1:9] {
		v, err := strconv.ParseUint(string(f), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		total += v
		if i == 3 || i == 4 {
			idle += v
		}
	}
	return idle, total
}

// TestMachine compares a window of this package with the same window read
// independently just before and after: it must lie between them.
func TestMachine(t *testing.T) {
	idle0, total0 := readIdle(t)
	before, err := Machine()
	if err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); time.Since(begun) < 100*time.Millisecond; {
	}
	after, err := Machine()
	if err != nil {
		t.Fatal(err)
	}
	idle1, total1 := readIdle(t)
	used := after.Since(before)
	// The idle columns may go back by a tick, the others never do.
	outer := int64(total1-total0) - int64(idle1-idle0)
	if used.Busy() == 0 || int64(used.Busy()) > outer {
		t.Errorf("busy %d of %d ticks; read around it: %d of %d", used.Busy(), used.Total(), outer, total1-total0)
	}
	if used.Wall < 100*time.Millisecond*time.Duration(used.CPUs) || after.At <= before.At {
		t.Errorf("%v of %d processors, from %v to %v", used.Wall, used.CPUs, before.At, after.At)
	}
	if u := used.Utilization(); u <= 0 || u > 100 {
		t.Errorf("%v %%", u)
	}
	if used.CPUs < runtime.NumCPU() {
		t.Errorf("%d processors, the runtime sees %d", used.CPUs, runtime.NumCPU())
	}
}

// TestProcess works until the process is charged for some of it. Others may run
// meanwhile, so that the time it takes says nothing; but one goroutine cannot
// have used more than that.
func TestProcess(t *testing.T) {
	const work = 20 * time.Millisecond
	u0, s0, err := Process()
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	for used := time.Duration(0); used < work; {
		u, s, err := Process()
		if err != nil {
			t.Fatal(err)
		}
		used = u + s - u0 - s0
		if time.Since(begun) > 30*time.Second {
			t.Fatalf("after 30 s of work %v are charged", used)
		}
		if most := time.Since(begun)*time.Duration(runtime.NumCPU()) + work; used > most {
			t.Fatalf("%v are charged after %v", used, time.Since(begun))
		}
	}
}

// TestPinThread runs on a thread that it throws away.
func TestPinThread(t *testing.T) {
	done := make(chan error)
	var before, after []int
	go func() {
		runtime.LockOSThread() // never unlocked: the thread stays pinned
		var err error
		if before, err = Allowed(); err == nil {
			if err = PinThread(before[len(before)-1]); err == nil {
				after, err = Allowed()
			}
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if len(after) != 1 || after[0] != before[len(before)-1] {
		t.Errorf("allowed on %v, pinned to the last, allowed on %v", before, after)
	}
}
