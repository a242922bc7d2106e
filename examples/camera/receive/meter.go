// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/xdpath/xdpath/examples/camera/assemble"
	"github.com/xdpath/xdpath/examples/camera/intake"
	"github.com/xdpath/xdpath/examples/camera/page"
)

// sampling is how often counters are read, window how many samples a rate is over.
const (
	sampling = 250 * time.Millisecond
	window   = 8
)

// meter reads the counters now and then, and makes rates of them.
type meter struct {
	in  *intake.Intake
	src intake.Source

	mu      sync.Mutex // guards what follows
	began   time.Time
	samples []sample // the last few, the newest last; never empty
	err     error    // the last time that drops could not be read
	printed sample
}

type sample struct {
	at       time.Time
	counters assemble.Counters
	drops    intake.Drops
}

func newMeter(in *intake.Intake, src intake.Source) *meter {
	now := time.Now()
	return &meter{in: in, src: src, began: now, samples: []sample{{at: now}}, printed: sample{at: now}}
}

// read reads the counters. The lock is held.
func (m *meter) read(now time.Time) sample {
	drops, err := m.src.Drops()
	if m.err = err; err != nil {
		drops = m.samples[len(m.samples)-1].drops
	}
	return sample{now, m.in.Counters(), drops}
}

func (m *meter) sample(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.samples) > window {
		m.samples = append(m.samples[:0], m.samples[1:]...)
	}
	m.samples = append(m.samples, m.read(now))
}

// rates are a second, from one sample to a later one.
func rates(a, b sample) (images, bytes, packets float64) {
	d := b.at.Sub(a.at).Seconds()
	if d <= 0 {
		return 0, 0, 0
	}
	per := func(a, b uint64) float64 { return float64(b-a) / d }
	return per(a.counters.CompletedBuffers, b.counters.CompletedBuffers),
		per(a.counters.TransferredBytes, b.counters.TransferredBytes),
		per(a.counters.ReceivedPackets, b.counters.ReceivedPackets)
}

// line is how it went since the last one.
func (m *meter) line(now time.Time) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.read(now)
	images, bytes, packets := rates(m.printed, s)
	before := m.printed.counters
	m.printed = s
	return fmt.Sprintf("%6.1f s  %6.1f images/s  %7.2f MB/s  %7.0f packets/s  incomplete %d, missing packets %d, resent %d, underruns %d",
		now.Sub(m.began).Seconds(), images, bytes/1e6, packets,
		s.counters.Failures-before.Failures, s.counters.MissingPackets-before.MissingPackets,
		s.counters.ResentPackets-before.ResentPackets, s.counters.Underruns-before.Underruns)
}

// end is all counters, where loss happened, and what to do about it.
func (m *meter) end() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.samples[len(m.samples)-1]
	var b strings.Builder
	fmt.Fprintf(&b, "%v%v\n", s.counters, s.counters.Loss(s.drops.All()))
	if s.drops.Other > 0 {
		fmt.Fprintf(&b, "%d datagrams came from elsewhere\n", s.drops.Other)
	}
	if n, err := m.in.Unasked(); n > 0 {
		fmt.Fprintf(&b, "%d requests to resend could not be sent: %v\n", n, err)
	}
	if m.err != nil {
		fmt.Fprintf(&b, "what the kernel dropped could not be read: %v\n", m.err)
	}
	if note := advice(s.counters, s.drops); note != "" {
		fmt.Fprintln(&b, note)
	}
	return b.String()
}

// status is what the page shows.
func (s *session) status() page.Status {
	m := s.meter
	m.mu.Lock()
	defer m.mu.Unlock()
	first, last := m.samples[0], m.samples[len(m.samples)-1]
	st := page.Status{
		Camera: s.name(), Via: s.src.String(), Counters: last.counters, Loss: last.counters.Loss(last.drops.All()),
		Note: advice(last.counters, last.drops), State: "receiving",
	}
	st.Images, st.Bytes, st.Packets = rates(first, last)
	switch {
	case st.Packets == 0:
		st.State, st.Bad = "no packets come", true
	case last.counters.Failures > first.counters.Failures || last.counters.Underruns > first.counters.Underruns:
		st.State, st.Bad = "receiving, with losses", true
	}
	return st
}

// advice is what to do about the losses that there are.
func advice(c assemble.Counters, d intake.Drops) string {
	var s []string
	if d.Large > 0 {
		s = append(s, fmt.Sprintf("%d packets were too big for a frame: the MTU was lower when this program began, begin again.", d.Large))
	}
	if d.Ring > 0 {
		s = append(s, "Ring: a larger one (-ring, -socket-buffer), or a delay from packet to packet (-delay), takes the bursts.")
	}
	if c.Underruns > 0 {
		s = append(s, "Consumer: save fewer images (-every), or as pgm, or give it more buffers (-buffers).")
	}
	switch gone := c.Loss(d.All()).Wire; {
	case c.CompletedBuffers == 0 && c.Failures > 0 && c.ReceivedPackets <= 3*c.Failures:
		s = append(s, "Little more than leaders and trailers comes: packets are larger than what gets through (-size).")
	case gone > 0:
		s = append(s, "Wire: look at cable and switch; several cameras on one port need a delay (-delay) of about a packet's time for each other.")
	}
	return strings.Join(s, " ")
}
