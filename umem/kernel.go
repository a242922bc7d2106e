// SPDX-License-Identifier: MIT

package umem

import "fmt"

// The methods in this file move chunks between the program and the kernel. They
// are for the code that owns the rings, package xsk: each must go with the ring
// operation that it names, or the kernel and the words disagree.
//
// Rings is the number of the pair of fill and completion rings that a chunk goes
// into or comes from, as given by [Area.Rings].

// ToFill takes chunks from the pool, as many as there are for the addresses of
// the two spans of a fill ring, writes these, and returns how many. A closed pool
// has none.
func (p *Pool) ToFill(rings uint32, a, b []uint64) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := min(len(a)+len(b), len(p.free))
	if p.closed {
		n = 0
	}
	for i := range n {
		c := p.pop()
		gen := word(p.area.words[c].Load()).gen()
		p.area.words[c].Store(makeWord(gen, rings, fill))
		if at := uint64(c) << p.area.shift; i < len(a) {
			a[i] = at
		} else {
			b[i-len(a)] = at
		}
	}
	return n
}

// Recycle gives frames of the user's back: those that were received and are from
// this pool straight to the kernel for filling again, with their addresses
// written to the two spans of a fill ring, the others (and those for which there
// is no room) as [Area.Put] does. It returns how many addresses it wrote, how
// many frames were given back in all, and the first frame's error that was not
// the caller's to give.
func (p *Pool) Recycle(rings uint32, frames []Frame, x, y []uint64) (filled, n int, err error) {
	a := p.area
	var batch putter
	for _, f := range frames {
		w, e := a.held(f)
		again := e == nil && w.owner() == received && a.homes[f.chunk] == p && filled < len(x)+len(y)
		if e == nil {
			to, pair := free, uint32(0)
			if again {
				to, pair = fill, rings
			}
			e = a.swap(f, w, to, pair, f.gen+1)
		}
		switch at := uint64(f.chunk) << a.shift; {
		case e != nil:
			if err == nil {
				err = e
			}
			continue
		case !again:
			batch.put(a, f.chunk)
		case filled < len(x):
			x[filled] = at
			filled++
		default:
			y[filled-len(x)] = at
			filled++
		}
		n++
	}
	batch.done()
	return filled, n, err
}

// Decode makes a frame of an RX descriptor, without looking at the chunk yet:
// [Area.Admit] does.
func (a *Area) Decode(addr uint64, length uint32, more bool) Frame {
	chunk := addr >> a.shift
	if chunk > uint64(len(a.words)) {
		chunk = uint64(len(a.words)) // refused by Admit
	}
	return Frame{chunk: uint32(chunk), off: uint32(addr) & uint32(a.chunk-1), len: length, area: a.id, more: more}
}

// Admit makes the decoded frames the user's. That each chunk was in the hands of
// the kernel for this pair of rings, and that the data lies within it, is
// checked; what fails stays as it is and is left out of frames, whose first n
// are the good ones.
func (a *Area) Admit(rings uint32, frames []Frame) (n int, err error) {
	for _, f := range frames {
		if int(f.chunk) >= len(a.words) || uint64(f.off)+uint64(f.len) > uint64(a.chunk) {
			err = fmt.Errorf("umem: received %v: not within a chunk of this area", f)
			continue
		}
		w := word(a.words[f.chunk].Load())
		if w.owner() != fill || w.rings() != rings {
			err = fmt.Errorf("umem: received %v: it is %v, not in the kernel's hands", f, w.owner())
			continue
		}
		a.words[f.chunk].Store(makeWord(w.gen(), 0, received))
		f.gen = w.gen()
		frames[n] = f
		n++
	}
	return n, err
}

// Transmit gives the user's frame f to the kernel for sending and returns the
// address for the TX ring. Data beyond the chunk is an error and the frame stays
// the user's. Of a region's frame the kernel only gets to read the bytes.
func (a *Area) Transmit(rings uint32, f Frame) (addr uint64, err error) {
	if uint64(f.off)+uint64(f.len) > uint64(a.chunk) {
		return 0, &FrameError{f, fmt.Sprintf("reaches beyond its chunk of %d bytes", a.chunk)}
	}
	if f.region {
		err = a.reads(f)
	} else {
		err = a.move(f, transmitting, rings, f.gen)
	}
	if err != nil {
		return 0, err
	}
	return a.Address(f), nil
}

// Address is what a descriptor of frame f says where it is: where in the area its
// data begins.
func (a *Area) Address(f Frame) uint64 { return uint64(f.chunk)<<a.shift + uint64(f.off) }

// Untransmit gives a frame back to the user that [Area.Transmit] took and that
// was not put into the ring after all.
func (a *Area) Untransmit(f Frame) {
	if f.region {
		return
	}
	a.words[f.chunk].Store(makeWord(f.gen, 0, reserved))
}

// reads tells why f is no frame of a region of the area.
func (a *Area) reads(f Frame) error {
	if f.area != a.id || int(f.chunk) >= len(a.words) {
		return &FrameError{f, "belongs to another area"}
	}
	if word(a.words[f.chunk].Load()).owner() != regional {
		return &FrameError{f, "is a pool's, not a region's"}
	}
	return nil
}

// Completed puts the chunks that the two spans of a completion ring name back on
// their pools' lists; a region's stay where they are. It returns how many were in
// order, and whether one was not in transmission. The rest of such a ring is still
// good.
func (a *Area) Completed(rings uint32, x, y []uint64) (n int, err error) {
	var batch putter
	for _, span := range [2][]uint64{x, y} {
		for _, addr := range span {
			chunk := addr >> a.shift
			if chunk >= uint64(len(a.words)) {
				err = fmt.Errorf("umem: completed %#x: beyond the area", addr)
				continue
			}
			w := word(a.words[chunk].Load())
			if w.owner() == regional {
				n++
				continue
			}
			if w.owner() != transmitting || w.rings() != rings {
				err = fmt.Errorf("umem: completed chunk %d: it is %v, not in transmission", chunk, w.owner())
				continue
			}
			a.words[chunk].Store(makeWord(w.gen()+1, 0, free))
			batch.put(a, uint32(chunk))
			n++
		}
	}
	batch.done()
	return n, err
}

// Unsent makes a frame of the address of a TX ring that a socket leaves behind,
// for [Area.Recall].
func (a *Area) Unsent(rings uint32, addr uint64) (f Frame, ok bool) {
	chunk := addr >> a.shift
	if chunk >= uint64(len(a.words)) {
		return Frame{}, false
	}
	w := word(a.words[chunk].Load())
	return Frame{chunk: uint32(chunk), gen: w.gen(), area: a.id}, w.owner() == transmitting && w.rings() == rings
}

// Recall takes the frames of [Area.Unsent] back that nobody has completed since,
// when the kernel cannot take them any more, and returns how many those are. Not
// to be called during [Area.Completed] of the same rings.
func (a *Area) Recall(rings uint32, frames []Frame) (n int) {
	var batch putter
	for _, f := range frames {
		if a.words[f.chunk].CompareAndSwap(makeWord(f.gen, rings, transmitting), makeWord(f.gen+1, 0, free)) {
			batch.put(a, f.chunk)
			n++
		}
	}
	batch.done()
	return n
}

// Reclaim takes back every chunk that the pair of rings still holds, after its
// last socket was closed and the kernel has let go of them.
func (a *Area) Reclaim(rings uint32) (n int) {
	var batch putter
	for i := range a.words {
		w := word(a.words[i].Load())
		if o := w.owner(); o != fill && o != transmitting || w.rings() != rings {
			continue
		}
		a.words[i].Store(makeWord(w.gen()+1, 0, free))
		batch.put(a, uint32(i))
		n++
	}
	batch.done()
	return n
}

// InTransmission is the number of chunks that the pair of rings holds for
// sending. It looks at every chunk: for the end of a socket, not for its life.
func (a *Area) InTransmission(rings uint32) (n int) {
	for i := range a.words {
		if w := word(a.words[i].Load()); w.owner() == transmitting && w.rings() == rings {
			n++
		}
	}
	return n
}
