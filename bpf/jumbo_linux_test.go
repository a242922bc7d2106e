// SPDX-License-Identifier: MIT

package bpf

import (
	"errors"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/bpf/internal/frames"
	"github.com/xdpath/xdpath/bpf/internal/model"
)

// Frames of several buffers: the lengths must be held against the whole frame,
// not against its first buffer.
func TestDecisionJumbo(t *testing.T) {
	b := openBench(t)
	if b.frags == nil {
		t.Skip("the kernel has no programs with frags (Linux 5.18)")
	}
	d := newDiffer(b, b.frags, 0)
	for _, payload := range []int{3000, 3472, 3500, 4000, 8972} {
		for _, off := range []int{-1, 0, 1} {
			for _, f := range []frames.Frame{target.UDP4(make([]byte, payload)), target.UDP6(make([]byte, payload))} {
				f.UDP.Length = 8 + payload + off
				if err := d.batch([][]byte{f.Bytes()}, 0); err != nil {
					t.Errorf("payload %d, UDP length %+d: %v", payload, off, err)
				}
				f.UDP.Length = -1
				if f.IP4 != nil {
					f.IP4.Length = 28 + payload + off
				} else {
					f.IP6.Length = 8 + payload + off
				}
				if err := d.batch([][]byte{f.Bytes()}, 0); err != nil {
					t.Errorf("payload %d, IP length %+d: %v", payload, off, err)
				}
			}
		}
	}
}

// Headers that do not lie in the first buffer are left to the kernel, although the
// frame is long enough. Linux takes the size of the first buffer from 6.18 on.
func TestDecisionHeadersSplit(t *testing.T) {
	b := openBench(t)
	if b.frags == nil {
		t.Skip("the kernel has no programs with frags (Linux 5.18)")
	}
	for _, c := range []struct {
		name    string
		frame   frames.Frame
		headers int
	}{
		{"IPv4", target.UDP4(make([]byte, 1000)), 14 + 20 + 8},
		{"IPv6", target.UDP6(make([]byte, 1000)), 14 + 40 + 8},
	} {
		for first := 14; first < 80; first++ {
			frame := c.frame.Bytes()
			before, err := b.Counters()
			if err != nil {
				t.Fatal(err)
			}
			verdict, err := b.frags.Run(&ebpf.RunOptions{Data: frame, Context: xdpContext{End: uint32(first)}, Repeat: 1})
			if errors.Is(err, unix.EINVAL) {
				t.Skip("the kernel splits no test frames")
			}
			if err != nil {
				t.Fatal(err)
			}
			want, reason := uint32(xdpRedirect), model.Redirected
			if first < c.headers {
				want, reason = xdpPass, model.Malformed
			}
			after, err := b.Counters()
			if err != nil {
				t.Fatal(err)
			}
			if verdict != want || reasonCounts(after)[reason] != reasonCounts(before)[reason]+1 {
				t.Errorf("%s, first buffer %d bytes: verdict %d, want %d (%v)", c.name, first, verdict, want, reason)
			}
		}
	}
}
