// SPDX-License-Identifier: MIT

package umem

import (
	"errors"
	"fmt"
	"slices"
)

// ErrFramesOut is what [Area.Close] returns, under errors.Is, while the program
// still holds frames.
var ErrFramesOut = errors.New("umem: frames are still out")

// Attach opens one socket on the area, for package xsk. Open gets the memory and
// the descriptor of a bound socket that shares it, or -1 when it is the first
// and must register the memory, and returns the new socket's descriptor. Sockets
// of one area open one after another. An error of open is returned as it is.
func (a *Area) Attach(open func(mem []byte, shared int) (fd int, err error)) error {
	a.opening.Lock()
	defer a.opening.Unlock()
	if a.gone.Load() {
		return errClosed("open a socket")
	}
	shared := -1
	if len(a.socks) > 0 {
		shared = a.socks[0]
	}
	fd, err := open(a.mem, shared)
	if err != nil {
		return err
	}
	a.socks = append(a.socks, fd)
	return nil
}

// Rings numbers a new pair of fill and completion rings.
func (a *Area) Rings() uint32 {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pairs++
	return a.pairs
}

// Detach takes the descriptor of a socket off the area; close then closes it.
// Both happen under one lock, so that no other socket is opened through a
// descriptor that is being closed.
func (a *Area) Detach(fd int, close func() error) error {
	a.opening.Lock()
	if i := slices.Index(a.socks, fd); i >= 0 {
		a.socks = slices.Delete(a.socks, i, i+1)
	}
	err := close()
	a.opening.Unlock()
	if a.gone.Load() {
		a.release()
	}
	return err
}

// Close gives the area up: nothing can be opened on it or reserved from it any
// more. The memory is unmapped at once if no socket uses it and no frame is out;
// else when the last of them has returned, and the error, which satisfies
// errors.Is(err, [ErrFramesOut]), says how many are. Closing again asks again.
//
// Regions and views of frames are invalid after the memory is unmapped: touching
// them then crashes the program.
func (a *Area) Close() error {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.gone.Store(true)
	return a.release()
}

// release unmaps a closed area when nobody needs it any more.
func (a *Area) release() error {
	s := a.Snapshot()
	a.opening.Lock()
	defer a.opening.Unlock()
	if n := len(a.socks); n > 0 || s.Out() > 0 {
		return fmt.Errorf("%w: %d frames and %d sockets; the memory is unmapped when they have returned", ErrFramesOut, s.Out(), n)
	}
	if a.unmap == nil {
		return nil
	}
	unmap := a.unmap
	a.unmap = nil
	return unmap()
}
