// SPDX-License-Identifier: MIT

package wait

import (
	"testing"
	"time"
)

// nothing is a source that never has anything and counts how often it was asked.
type nothing struct{ asked int }

func (n *nothing) Ready() bool               { n.asked++; return false }
func (n *nothing) Poke()                     {}
func (n *nothing) Descriptors(f []int) []int { return f }

// A spin looks as often as it can at first, and seldom later. Of many tries the one
// counts that nothing else on the machine has cut short.
func TestSpinEager(t *testing.T) {
	var w Waiter
	defer w.Close()
	most := func(limit time.Duration) (most int) {
		for range 500 {
			src := nothing{}
			if found, err := w.spin(nil, &src, limit); found || err != nil {
				t.Fatal(found, err)
			}
			most = max(most, src.asked)
		}
		return most
	}
	soon, later := most(eager), most(10*eager)
	if rate := (later - soon) / 9; soon < 10 || rate > soon/3 || later <= soon {
		t.Errorf("%d looks in the first %v, %d in as long later", soon, eager, rate)
	}
}

// A busy wait ends with the deadline, and looks now and then without a reason.
func TestSpinForever(t *testing.T) {
	w := Waiter{Mode: Busy}
	defer w.Close()
	begun := time.Now()
	if found, err := w.spin(nil, &nothing{}, Forever); !found || err != nil || time.Since(begun) < lookAgain {
		t.Errorf("found %v, error %v after %v", found, err, time.Since(begun))
	}
	w.SetDeadline(time.Now().Add(5 * time.Millisecond))
	if err := w.Wait(nil, &nothing{}); err == nil {
		t.Error("no end at the deadline")
	}
	if w.Pacer.spin != 0 {
		t.Errorf("who never sleeps has learnt to spin for %v", w.Pacer.spin)
	}
}
