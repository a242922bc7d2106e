// SPDX-License-Identifier: MIT

package xsk

import (
	"fmt"
	"strings"
	"testing"

	"github.com/xdpath/xdpath/umem"
)

// sendChains sends packets of so many frames each, numbered frame by frame.
func sendChains(t *testing.T, s *Socket, sizes []int) {
	t.Helper()
	no := uint64(0)
	for _, n := range sizes {
		frames := make([]umem.Frame, n)
		if k, err := s.Reserve(frames); k != n || err != nil {
			t.Fatalf("reserved %d of %d: %v", k, n, err)
		}
		numbered(t, s, frames, no)
		no += uint64(n)
		for i := range frames[:n-1] {
			frames[i] = frames[i].WithMore(true)
		}
		if k, err := s.Send(frames); k != n || err != nil {
			t.Fatalf("sent %d of %d: %v", k, n, err)
		}
		if left, err := s.Flush(); left != 0 || err != nil {
			t.Fatal(left, err)
		}
	}
}

// Room for few packets, and for the frames of the longest, delivers all packets
// whole and in order, wherever the ring's end lies, and never more than asked for.
func TestSimPackets(t *testing.T) {
	sizes := []int{1, 1, 5, 18, 1, 2, 2, 1, 1, 1, 3, 18, 1}
	for most := 1; most <= 14; most++ {
		for _, room := range []int{18, 19, 82} {
			t.Run(fmt.Sprintf("packets=%d room=%d", most, room), func(t *testing.T) {
				s, _ := newSim(t, simConfig{multi: true, rx: 64, tx: 64, txFrames: 64, start: ^uint32(0) - 70})
				for range 3 {
					sendChains(t, s, sizes)
					frames := make([]umem.Frame, room)
					next, no := 0, uint64(0)
					for next < len(sizes) {
						n, err := s.ReceivePackets(frames, most)
						if n == 0 || err != nil {
							t.Fatalf("after %d packets: %d frames, %v", next, n, err)
						}
						packets := 0
						for i := 0; i < n; packets, next = packets+1, next+1 {
							for k := range sizes[next] {
								f := frames[i]
								if got := number(t, s, f); got != no || f.More() != (k < sizes[next]-1) {
									t.Fatalf("packet %d, frame %d: number %d, want %d, more %v", next, k, got, no, f.More())
								}
								i, no = i+1, no+1
							}
						}
						if packets > most {
							t.Fatalf("%d packets", packets)
						}
						if err := s.Release(frames[:n]); err != nil {
							t.Fatal(err)
						}
					}
					if n, err := s.ReceivePackets(frames, most); n != 0 || err != nil {
						t.Fatalf("%d frames of nothing: %v", n, err)
					}
				}
			})
		}
	}
}

// A packet that is longer than the room is told of with the room that the longest
// one needs, and stays.
func TestSimPacketTooLong(t *testing.T) {
	s, _ := newSim(t, simConfig{multi: true, rx: 64, tx: 64, txFrames: 64})
	sendChains(t, s, []int{5})
	for _, most := range []int{1, 2, 4} {
		n, err := s.ReceivePackets(make([]umem.Frame, 4), most)
		if n != 0 || err == nil || !strings.Contains(err.Error(), "more than the 4 frames asked for; ask for 37") {
			t.Errorf("room for 4 of 5: %d, %v", n, err)
		}
	}
	for _, most := range []int{0, -1} {
		if n, err := s.ReceivePackets(make([]umem.Frame, 8), most); n != 0 || err != nil {
			t.Errorf("%d packets: %d, %v", most, n, err)
		}
	}
	frames := make([]umem.Frame, 5)
	if n, err := s.ReceivePackets(frames, 1); n != 5 || err != nil {
		t.Errorf("%d: %v", n, err)
	}
	s.Release(frames)
}
