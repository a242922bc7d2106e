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

// Member is a socket on an area: its descriptor, and how it is bound, which the
// kernel makes those inherit that share its memory.
type Member struct {
	FD                    int
	ZeroCopy, MultiBuffer bool
}

// Attach opens one socket on the area, for package xsk. Open gets the memory and
// the sockets that are on the area, oldest first: with none it must register the
// memory. It returns the new one. Sockets of one area open one after another. An
// error of open is returned as it is.
func (a *Area) Attach(open func(mem []byte, members []Member) (Member, error)) error {
	a.opening.Lock()
	defer a.opening.Unlock()
	if a.gone.Load() {
		return errClosed("open a socket")
	}
	m, err := open(a.mem, a.members)
	if err != nil {
		return err
	}
	a.members = append(a.members, m)
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
	a.members = slices.DeleteFunc(a.members, func(m Member) bool { return m.FD == fd })
	err := close()
	a.opening.Unlock()
	if a.gone.Load() {
		a.release()
	}
	return err
}

// InUse tells whether there is a socket on the area.
func (a *Area) InUse() bool {
	a.opening.Lock()
	defer a.opening.Unlock()
	return len(a.members) > 0
}

// CloseWithLast makes the area one that is closed with the last socket on it, see
// [Area.CloseUnused]: that of a socket which made it for itself.
func (a *Area) CloseWithLast() {
	a.opening.Lock()
	defer a.opening.Unlock()
	a.withLast = true
}

// CloseUnused closes an area that was to be closed with its last socket, if no
// socket is left on it, and does nothing else.
func (a *Area) CloseUnused() error {
	a.opening.Lock()
	unused := a.withLast && len(a.members) == 0
	a.opening.Unlock()
	if !unused {
		return nil
	}
	return a.Close()
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
	pools := a.pools
	a.mu.Unlock()
	a.gone.Store(true)
	for _, p := range pools {
		// It takes the pool's lock: who was just reserving frames has done so
		// then. They are seen to be out, and their memory stays.
		p.Closed()
	}
	return a.release()
}

// release unmaps a closed area when nobody needs it any more.
func (a *Area) release() error {
	a.opening.Lock()
	defer a.opening.Unlock()
	// Looked at under the lock: without a socket, nothing is received any more.
	s := a.Snapshot()
	if n := len(a.members); n > 0 || s.Out() > 0 {
		return fmt.Errorf("%w: %d frames and %d sockets; the memory is unmapped when they have returned", ErrFramesOut, s.Out(), n)
	}
	if a.unmap == nil {
		return nil
	}
	unmap := a.unmap
	a.unmap = nil
	return unmap()
}
