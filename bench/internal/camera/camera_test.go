// SPDX-License-Identifier: MIT

package camera

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

var small = Shape{Image: 1000, Size: 120} // ten packets, the last one with padding

func TestShape(t *testing.T) {
	for _, tt := range []struct {
		s               Shape
		packets, padded int
	}{
		{Shape{1000, 120}, 10, 1000},
		{Shape{1001, 120}, 11, 1100},
		{Shape{1, 21}, 1, 1},
		{Shape{1280 * 1024, 1472}, 903, 903 * 1452},
	} {
		if err := tt.s.Validate(); err != nil || tt.s.Packets() != tt.packets || tt.s.Padded() != tt.padded {
			t.Errorf("%+v: %v, %d packets, %d bytes", tt.s, err, tt.s.Packets(), tt.s.Padded())
		}
	}
	for _, s := range []Shape{{}, {0, 120}, {1, 20}, {MaxImage + 1, 120}, {-1, 120}} {
		if s.Validate() == nil {
			t.Errorf("%+v is fine", s)
		}
	}
}

func TestHeader(t *testing.T) {
	b := make([]byte, HeaderSize+3)
	if n := PutHeader(b, 7, 1<<31, 902); n != HeaderSize {
		t.Errorf("%d bytes", n)
	}
	if h, ok := parse(b); !ok || h != (header{7, 1 << 31, 902}) {
		t.Errorf("%+v, %t", h, ok)
	}
	if _, ok := parse(b[:HeaderSize-1]); ok {
		t.Error("a short one")
	}
	for i := range 8 { // status, flags, format
		b[i] ^= 1
		if h, ok := parse(b); ok {
			t.Errorf("byte %d changed: %+v", i, h)
		}
		b[i] ^= 1
	}
}

// TestScene: images that follow each other differ, and a changed byte shows.
func TestScene(t *testing.T) {
	c := NewScene(small)
	a, b := make([]byte, small.Padded()), make([]byte, small.Padded())
	for i := range uint32(2 * phases) {
		c.Draw(a, i)
		c.Draw(b, i+1)
		if slices.Equal(a, b) || !c.Shows(a, i) || c.Shows(a, i+1) || !NewScene(small).Shows(a, i) {
			t.Errorf("image %d", i)
		}
		a[int(i)*17] ^= 4
		if c.Shows(a, i) {
			t.Errorf("image %d: a changed byte does not show", i)
		}
	}
}

// packet is one datagram of an image as it is on the wire.
func packet(c *Scene, run, image uint32, i int) []byte {
	pixels := make([]byte, small.Padded())
	c.Draw(pixels, image)
	b := make([]byte, HeaderSize, small.Size)
	PutHeader(b, run, image, i)
	return append(b, pixels[i*small.Pixels():(i+1)*small.Pixels()]...)
}

// each calls f with the numbers of an image's packets.
func each(f func(i int)) {
	for i := range small.Packets() {
		f(i)
	}
}

func TestAssemble(t *testing.T) {
	c := NewScene(small)
	type fix func(a *assembler, whole func(image uint32), one func(image uint32, i int))
	for name, tt := range map[string]struct {
		f                        fix
		complete, received, late uint64
	}{
		"in order": {func(_ *assembler, whole func(uint32), _ func(uint32, int)) {
			for k := range uint32(5) {
				whole(k)
			}
		}, 5, 50, 0},
		"backwards": {func(_ *assembler, _ func(uint32), one func(uint32, int)) {
			each(func(i int) { one(0, small.Packets()-1-i) })
		}, 1, 10, 0},
		"two mixed": {func(_ *assembler, _ func(uint32), one func(uint32, int)) {
			each(func(i int) { one(1, i); one(0, i) })
		}, 2, 20, 0},
		"twice": {func(_ *assembler, whole func(uint32), _ func(uint32, int)) { whole(0); whole(0) }, 1, 10, 0},
		"a packet missing": {func(_ *assembler, whole func(uint32), one func(uint32, int)) {
			each(func(i int) {
				if i != 4 {
					one(0, i)
				}
			})
			whole(1)
		}, 1, 19, 0},
		"late, when the next one is through": {func(_ *assembler, whole func(uint32), one func(uint32, int)) {
			each(func(i int) {
				if i != 4 {
					one(0, i)
				}
			})
			whole(1)
			one(0, 4)
		}, 2, 20, 0},
		"too late, when the next but one began": {func(_ *assembler, whole func(uint32), one func(uint32, int)) {
			each(func(i int) {
				if i != 4 {
					one(0, i)
				}
			})
			whole(1)
			one(2, 0)
			one(0, 4)
		}, 1, 21, 1},
		"images missing": {func(_ *assembler, whole func(uint32), _ func(uint32, int)) { whole(0); whole(7); whole(6); whole(5) }, 3, 40, 10},
		"given up and again": {func(_ *assembler, whole func(uint32), one func(uint32, int)) {
			one(0, 0)
			one(3, 0)
			whole(0)
		}, 0, 11, 10},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAssembler(c, small, 9)
			one := func(image uint32, i int) { a.add(packet(c, 9, image, i), nil) }
			tt.f(a, func(image uint32) { each(func(i int) { one(image, i) }) }, one)
			if a.got.Complete != tt.complete || a.tracker.Received() != tt.received || a.got.Late != tt.late || a.got.Wrong != 0 {
				t.Errorf("%d received, %+v", a.tracker.Received(), a.got)
			}
		})
	}
}

// TestAssembleStrangers: what is no packet of the run counts for nothing.
func TestAssembleStrangers(t *testing.T) {
	c := NewScene(small)
	a := newAssembler(c, small, 9)
	for _, b := range [][]byte{{}, make([]byte, 5), make([]byte, small.Size), packet(c, 8, 0, 0)} {
		a.add(b, nil)
	}
	beyond := packet(c, 9, 0, 0)
	PutHeader(beyond, 9, 0, small.Packets())
	a.add(beyond, nil)
	last := packet(c, 9, 0, 0) // whose number no sender reaches
	PutHeader(last, 9, 1<<32-1, 0)
	a.add(last, nil)
	if a.got.Tally.Foreign != 6 || a.tracker.Received() != 0 {
		t.Errorf("%+v", a.got)
	}
	short := packet(c, 9, 0, 0)
	a.add(short[:len(short)-1], nil)
	a.add(short, [][]byte{{1}})
	if a.got.Tally.Truncated != 2 || a.tracker.Received() != 0 {
		t.Errorf("%+v", a.got)
	}
	each(func(i int) {
		p := packet(c, 9, 0, i)
		if i == 3 {
			p[HeaderSize+1] ^= 1
		}
		a.add(p, nil)
	})
	if a.got.Wrong != 1 || a.got.Complete != 0 {
		t.Errorf("%+v", a.got)
	}
}

// TestAssembleSegments cuts datagrams anywhere behind their header.
func TestAssembleSegments(t *testing.T) {
	c := NewScene(small)
	for cut := HeaderSize; cut <= small.Size; cut++ {
		a := newAssembler(c, small, 1)
		each(func(i int) {
			p := packet(c, 1, 0, i)
			mid := (cut + small.Size) / 2
			a.add(p[:cut], [][]byte{p[cut:mid], p[mid:]})
		})
		if a.got.Complete != 1 {
			t.Errorf("cut at %d: %+v", cut, a.got)
		}
	}
}

// A loop is a path from a camera to itself.
type loop struct {
	shape  Shape
	image  []byte
	none   int // calls of Image that find none
	fail   error
	flying [][]byte
	rest   [][][]byte // of the views of the last Receive
	in     bool       // datagrams come in pieces
	queue  chan [][]byte
}

func (l *loop) Image() ([]byte, error) {
	if l.none > 0 {
		l.none--
		return nil, nil
	}
	return l.image, nil
}

func (l *loop) Send(label Label) (int, error) {
	if l.fail != nil {
		return 3, l.fail
	}
	var train [][]byte
	for i := range l.shape.Packets() {
		room := make([]byte, 256)
		b := append(room[:label(i, room)], l.image[i*l.shape.Pixels():(i+1)*l.shape.Pixels()]...)
		train = append(train, b)
	}
	l.queue <- train
	return len(train), nil
}

func (l *loop) Flush() (int, error) { return 1, nil }

func (l *loop) Receive(ctx context.Context, views [][]byte) (int, error) {
	if len(l.flying) == 0 {
		select {
		case l.flying = <-l.queue:
		case <-ctx.Done():
			return 0, nil
		}
	}
	n := copy(views, l.flying)
	l.flying = l.flying[n:]
	l.rest = make([][][]byte, n)
	for i := range views[:n] {
		if l.in {
			views[i], l.rest[i] = views[i][:50], [][]byte{views[i][50:]}
		}
	}
	return n, nil
}

func (l *loop) Rest(i int) [][]byte { return l.rest[i] }

func TestShootAndAssemble(t *testing.T) {
	for _, in := range []bool{false, true} {
		l := &loop{shape: small, image: make([]byte, small.Padded()), none: 2, in: in, queue: make(chan [][]byte, 100)}
		scene := NewScene(small)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan Got, 1)
		go func() {
			got, err := Assemble(ctx, l, scene, small, 3, 4)
			if err != nil {
				t.Error(err)
			}
			done <- got
		}()
		sent, err := Shoot(t.Context(), l, scene, 3, 200, 100*time.Millisecond)
		cancel()
		got := <-done
		// A machine that is busy with other things sends less.
		if err != nil || sent.Images == 0 || sent.Images > 20 || sent.Datagrams != 10*sent.Images || sent.Left != 1 || sent.Elapsed < 100*time.Millisecond {
			t.Errorf("%v: sent %+v", err, sent)
		}
		if got.Complete != sent.Images || got.Tally.Received != sent.Datagrams || got.Elapsed > sent.Elapsed {
			t.Errorf("sent %+v, got %+v", sent, got)
		}
	}
}

func TestShootEnds(t *testing.T) {
	l := &loop{shape: small, image: make([]byte, small.Padded()), queue: make(chan [][]byte, 100)}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if sent, err := Shoot(ctx, l, NewScene(small), 1, 1, time.Hour); err != nil || sent.Images != 0 {
		t.Errorf("%v: %+v", err, sent)
	}
	l.fail = errors.New("cable cut")
	if sent, err := Shoot(t.Context(), l, NewScene(small), 1, 1, time.Hour); err == nil || !strings.Contains(err.Error(), "cable cut") || sent.Datagrams != 3 || sent.Images != 0 {
		t.Errorf("%v: %+v", err, sent)
	}
}

// TestAssembleAllocates nothing a datagram.
func TestAssembleAllocates(t *testing.T) {
	c := NewScene(small)
	a := newAssembler(c, small, 1)
	image := uint32(0)
	var train [][]byte
	each(func(i int) { train = append(train, packet(c, 1, 0, i)) })
	if n := testing.AllocsPerRun(100, func() {
		for i, p := range train {
			PutHeader(p, 1, phases*image, i)
			a.add(p, nil)
		}
		image++
	}); n != 0 {
		t.Errorf("%v allocations an image", n)
	}
	if a.got.Complete != uint64(image) {
		t.Errorf("%+v of %d", a.got, image)
	}
}
