// SPDX-License-Identifier: MIT

package xsk

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/xdpath/xdpath/umem"
)

// bare is a simulated kernel whose driver wants an XDP program attached first.
type bare struct{ *sim }

func (b *bare) wakeTx() error { return syscall.ENXIO }
func (b *bare) wakeRx() error { return syscall.ENXIO }

// In zero-copy mode ENXIO means that the interface is gone only if it is, and
// nothing is decided for ever before.
func TestSimZeroCopyENXIO(t *testing.T) {
	s, k := newSim(t, simConfig{wait: Block})
	s.info.Mode = ZeroCopy
	s.os = &bare{k}
	frames, in := make([]umem.Frame, 4), make([]umem.Frame, 8)
	s.Reserve(frames)
	numbered(t, s, frames, 0)
	s.Send(frames)
	if left, err := s.Flush(); left != 4 || !errors.Is(err, syscall.ENXIO) || errors.Is(err, ErrNoInterface) {
		t.Errorf("%d left, %v", left, err)
	}
	// Long enough for several questions.
	ctx, cancel := context.WithTimeout(context.Background(), 3*askEvery)
	defer cancel()
	if _, err := s.ReceiveContext(ctx, in); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("receive without a program: %v", err)
	}
	s.os = k
	if left, err := s.Flush(); left != 0 || err != nil {
		t.Errorf("with a program: %d left, %v", left, err)
	}
	n, err := s.ReceiveContext(within(t, time.Second), in)
	if n != 4 || err != nil {
		t.Errorf("with a program: %d received, %v", n, err)
	}
	s.Release(in[:n])

	s.os = &bare{k}
	k.left.Store(true)
	if _, err := s.ReceiveContext(within(t, 5*time.Second), in); !errors.Is(err, ErrNoInterface) || !errors.Is(err, syscall.ENXIO) {
		t.Errorf("receive without the interface: %v", err)
	}
	s.os = k
}

// In zero-copy mode the driver takes frames as it goes: that it did so during a
// wakeup that it refused does not make them lost.
func TestSimZeroCopyBusy(t *testing.T) {
	s, k := newSim(t, simConfig{})
	s.info.Mode = ZeroCopy
	k.errnos = []syscall.Errno{syscall.EBUSY, syscall.EBUSY}
	frames := make([]umem.Frame, 8)
	s.Reserve(frames)
	numbered(t, s, frames, 0)
	s.Send(frames)
	if _, err := s.Flush(); err != nil {
		t.Error(err)
	}
	if st, _ := s.Stats(); st.TxLost != 0 {
		t.Errorf("%d lost", st.TxLost)
	}
}
