// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
)

// What a Deferral without values asks for. The time fits queues of 256 packets, which
// veth has, up to five million packets a second.
const (
	DefaultInterrupts = 2
	DefaultTimeout    = 50 * time.Microsecond
)

// maxTimeout bounds what a lost interrupt could cost, and fits the kernel's
// unsigned long on 32-bit machines.
const maxTimeout = time.Second

// Deferral says how long an interface collects packets before it hands them on
// (Documentation/networking/napi.rst, "Software IRQ coalescing"): after a poll that
// found packets its interrupt stays off, and a timer starts the next poll. A
// receiver that sleeps is woken for many packets instead of one.
//
// It is for receivers that block: one that spins, or sleeps by the clock, is not woken
// for each packet anyhow. The price is latency: a packet waits for up to Timeout, and so
// does what GRO holds back for the kernel's own sockets. What arrives within Timeout must
// fit into the driver's queue, or is lost before anybody sees it.
//
// The zero value is two polls of 50 µs.
type Deferral struct {
	// Interrupts is how many polls in a row may find nothing before the interrupt is
	// switched on again (napi_defer_hard_irqs). 0 stands for DefaultInterrupts.
	Interrupts int
	// Timeout is the time from one poll to the next (gro_flush_timeout), at most a
	// second. 0 stands for DefaultTimeout.
	Timeout time.Duration
}

func (d Deferral) withDefaults() Deferral {
	if d.Interrupts == 0 {
		d.Interrupts = DefaultInterrupts
	}
	if d.Timeout == 0 {
		d.Timeout = DefaultTimeout
	}
	return d
}

func (d Deferral) validate() error {
	var errs []error
	if d.Interrupts < 1 || d.Interrupts > math.MaxInt32 {
		errs = append(errs, fmt.Errorf("nic: Deferral.Interrupts %d: want 1 to %d", d.Interrupts, math.MaxInt32))
	}
	if d.Timeout < 1 || d.Timeout > maxTimeout {
		errs = append(errs, fmt.Errorf("nic: Deferral.Timeout %v: want 1ns to %v", d.Timeout, maxTimeout))
	}
	return errors.Join(errs...)
}

func (d Deferral) String() string {
	return strconv.Itoa(d.Interrupts) + " interrupts, " + d.Timeout.String()
}

// Setting is what DeferNAPI did to one NAPI, the kernel's poller of one or more
// queues, or to the interface as a whole.
type Setting struct {
	// NAPI is the kernel's number of it; 0 for the interface's own setting, which
	// all of its NAPIs follow (before Linux 6.13).
	NAPI int
	// Queues are those of the receive queues asked for that it serves. Empty where
	// the driver does not tell which NAPI serves which queue: all were set then.
	Queues []int
	// Old is what stood there before anybody deferred, and is what will be restored.
	Old, New Deferral
	// Joined tells that another Deferred, of this process or another, had deferred it
	// already with the same values. The last one to restore restores.
	Joined bool
}

func (s Setting) String() string {
	where := "interface"
	if s.NAPI != 0 {
		where = "NAPI " + strconv.Itoa(s.NAPI)
	}
	if len(s.Queues) > 0 {
		where += fmt.Sprintf(" (queues %v)", s.Queues)
	}
	return where + ": " + s.New.String() + ", before " + s.Old.String()
}
