// SPDX-License-Identifier: MIT

package assemble

import (
	"strings"
	"testing"
)

func TestConfig(t *testing.T) {
	_, err := New(Config{Buffers: -1, MaxImage: -1, ResendRatio: -1, PacketTimeout: -1})
	for _, field := range []string{"PacketSize 0", "Buffers", "MaxImage", "ResendRatio", "PacketTimeout"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("no %s in: %v", field, err)
		}
	}
}

// What arv-camera-test prints is found here under the same name, in the same order.
func TestCounterNames(t *testing.T) {
	want := []string{"n_completed_buffers", "n_failures", "n_underruns", "n_timeouts", "n_aborted", "n_missing_frames",
		"n_size_mismatch_errors", "n_received_packets", "n_missing_packets", "n_error_packets", "n_ignored_packets",
		"n_resend_requests", "n_resent_packets", "n_resend_ratio_reached", "n_resend_disabled", "n_duplicated_packets",
		"n_transferred_bytes", "n_ignored_bytes"}
	lines := strings.Split(Counters{Failures: 3}.String(), "\n")
	for i, name := range want {
		if got, _, _ := strings.Cut(lines[i], " "); got != name {
			t.Errorf("line %d: got %s, want %s", i, got, name)
		}
	}
	if lines[1] != "n_failures             = 3" {
		t.Errorf("%q", lines[1])
	}
}

// Nothing is allocated for a packet, nor for an image once the buffers have grown.
func TestAllocations(t *testing.T) {
	r := newRig(t, small, Config{Buffers: 2})
	var images [][][]byte
	for id := uint64(1); id <= 100; id++ {
		images = append(images, small.packets(id))
	}
	id := 0
	if n := testing.AllocsPerRun(80, func() {
		for _, p := range images[id] {
			r.Packet(p, nil, epoch)
		}
		id++
		m, _ := r.Next()
		r.Release(m)
		r.Next()
	}); n > 0 {
		t.Errorf("%v allocations an image", n)
	}
}
