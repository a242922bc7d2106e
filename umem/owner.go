// SPDX-License-Identifier: MIT

package umem

import "fmt"

// owner is who may touch a chunk.
type owner uint64

const (
	free         owner = iota // on its pool's list
	fill                      // the kernel's: it may write it
	received                  // the user's, after RX
	reserved                  // the user's, for writing
	transmitting              // the kernel's: it reads it
	owners
	regional // part of a Region: never in a pool
)

func (o owner) String() string {
	switch o {
	case free:
		return "given back"
	case fill:
		return "in the fill ring"
	case received:
		return "received"
	case reserved:
		return "reserved"
	case transmitting:
		return "being transmitted"
	}
	return "not a pool's"
}

// A chunk's word says all about who has it:
//
//	63          32 31                  8 7       0
//	| generation  | rings                | owner   |
//
// generation counts the uses of the chunk. rings is the number of the pair of
// fill and completion rings that holds it, while owner is fill or transmitting.
// Words are only swapped atomically, so that two goroutines that misuse one
// frame at once cannot both succeed.
type word uint64

func makeWord(gen uint32, rings uint32, o owner) uint64 {
	return uint64(gen)<<32 | uint64(rings&0xffffff)<<8 | uint64(o)
}

func (w word) gen() uint32   { return uint32(w >> 32) }
func (w word) rings() uint32 { return uint32(w) >> 8 }
func (w word) owner() owner  { return owner(w & 0xff) }

// ErrFrame is what errors about a frame that is not the caller's satisfy under
// errors.Is: given back before, another area's, or one that never was.
var ErrFrame = fmt.Errorf("umem: not the caller's frame")

// FrameError says why a frame was refused.
type FrameError struct {
	Frame  Frame
	Reason string
}

func (e *FrameError) Error() string { return fmt.Sprintf("umem: %v: %s", e.Frame, e.Reason) }

// Is makes errors.Is(err, ErrFrame) hold.
func (e *FrameError) Is(target error) bool { return target == ErrFrame }

// held returns the word of the user's frame f, or why f is not the user's.
func (a *Area) held(f Frame) (word, error) {
	if f.area != a.id || int(f.chunk) >= len(a.words) {
		return 0, &FrameError{f, "belongs to another area"}
	}
	w := word(a.words[f.chunk].Load())
	if o := w.owner(); w.gen() != f.gen || o != received && o != reserved {
		return 0, a.stale(f, w)
	}
	return w, nil
}

// stale is the error for a frame of ours that the user does not own.
func (a *Area) stale(f Frame, w word) error {
	if w.gen() != f.gen {
		return &FrameError{f, fmt.Sprintf("stale: given back before; the chunk is %v now (use %d)", w.owner(), w.gen())}
	}
	return &FrameError{f, "stale: it is " + w.owner().String()}
}

// move gives the user's frame f to owner o of the pair rings, under generation
// gen. Only one of several callers with the same frame succeeds.
func (a *Area) move(f Frame, o owner, rings uint32, gen uint32) error {
	w, err := a.held(f)
	if err != nil {
		return err
	}
	return a.swap(f, w, o, rings, gen)
}

// swap is move for a caller that has the word w of f already.
func (a *Area) swap(f Frame, w word, o owner, rings uint32, gen uint32) error {
	if !a.words[f.chunk].CompareAndSwap(uint64(w), makeWord(gen, rings, o)) {
		return a.stale(f, word(a.words[f.chunk].Load()))
	}
	return nil
}
