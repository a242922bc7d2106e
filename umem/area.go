// SPDX-License-Identifier: MIT

package umem

import (
	"fmt"
	"net"
	"reflect"
	"sync"
	"sync/atomic"
)

// Area is one region of memory to be shared with the kernel, cut into chunks.
//
// All methods may be called by any number of goroutines at once.
type Area struct {
	id       uint32
	mem      []byte
	chunk    int
	shift    uint
	headroom int
	front    uint32 // where a reserved frame begins in its chunk
	info     Info
	words    []atomic.Uint64 // one a chunk, see owner.go
	homes    []*Pool         // the pool of each chunk; nil: a region's, or nobody's yet

	opening  sync.Mutex   // held while a socket is opened or closed, taken before mu; guards what follows
	members  []Member     // the sockets that share the area, oldest first
	withLast bool         // to be closed with the last of them
	unmap    func() error // nil: the caller's memory, or unmapped already

	mu     sync.Mutex // guards what follows
	vacant []chunks   // ranges that no pool or region has, in order, none adjacent
	pools  []*Pool
	pairs  uint32
	closed bool
	gone   atomic.Bool // closed, for the paths without the lock
}

// Info describes an area as it was obtained.
type Info struct {
	ChunkSize int    // bytes
	Headroom  int    // bytes before each received frame, beyond the kernel's 256
	Chunks    int    // number of chunks
	Bytes     int    // length of the memory: what is locked when a socket registers it
	HugePages bool   // whether it lies on huge pages
	Note      string // why not, where HugeAuto asked for them

	TxMetadata       int  // bytes before a frame for sending
	SoftwareChecksum bool // the kernel computes what they ask for
}

var lastID atomic.Uint32

// New makes an area as cfg says. Nothing is registered with the kernel before
// the first socket opens on it.
//
// A rule that cfg breaks is an error that names field, value and rule. Missing
// huge pages are an error that says how many.
func New(cfg Config) (*Area, error) {
	cfg = cfg.withDefaults()
	page := pageSize()
	if err := cfg.validate(page); err != nil {
		return nil, err
	}
	a := &Area{id: lastID.Add(1), chunk: cfg.ChunkSize, headroom: cfg.Headroom, mem: cfg.Memory}
	for 1<<a.shift < a.chunk {
		a.shift++
	}
	a.front = uint32(cfg.Headroom)
	if cfg.TxMetadata > 0 {
		// The kernel wants room for metadata before every frame, and the
		// metadata on a multiple of their alignment.
		a.front = uint32(roundUp(max(cfg.Headroom, cfg.TxMetadata), 8))
	}
	a.info = Info{ChunkSize: cfg.ChunkSize, Headroom: cfg.Headroom, Chunks: cfg.Chunks, TxMetadata: cfg.TxMetadata, SoftwareChecksum: cfg.SoftwareChecksum}
	if a.mem == nil {
		bytes := roundUp(cfg.Chunks*cfg.ChunkSize, page)
		m, err := mapMemory(bytes, cfg.Huge)
		if err != nil {
			return nil, fmt.Errorf("umem: map %d bytes (%d chunks of %d): %w", bytes, cfg.Chunks, cfg.ChunkSize, err)
		}
		a.mem, a.unmap, a.info.HugePages, a.info.Note = m.bytes, m.unmap, m.huge, m.note
	}
	a.info.Bytes = len(a.mem)
	a.words = make([]atomic.Uint64, cfg.Chunks)
	for i := range a.words {
		a.words[i].Store(makeWord(1, 0, regional))
	}
	a.homes = make([]*Pool, cfg.Chunks)
	a.vacant = []chunks{{0, cfg.Chunks}}
	return a, nil
}

// Info tells what was obtained.
func (a *Area) Info() Info { return a.info }

// ChunkSize is the size of a chunk in bytes.
func (a *Area) ChunkSize() int { return a.chunk }

// Headroom is the room in bytes before each received frame, beyond the kernel's.
func (a *Area) Headroom() int { return a.headroom }

// Front is where in its chunk a reserved frame begins, in bytes, see [Pool.Get].
func (a *Area) Front() int { return int(a.front) }

// MaxFrame is the length in bytes of the largest frame that can be received
// into one chunk: without multi-buffer the kernel drops larger ones and counts
// them as rx_dropped (xsk_rcv_check, net/xdp/xsk.c).
func (a *Area) MaxFrame() int { return a.chunk - packetHeadroom - a.headroom }

// Bytes returns the data of the frame f, which the caller must own: received
// and not given back, or reserved and not sent. The slice's capacity ends with
// the chunk, so appending beyond it copies instead of writing into a neighbour.
//
// The bytes are the caller's until f is given back or sent. After that the
// kernel may write them at any time, and once the area is closed and all frames
// have returned, TOUCHING THEM CRASHES THE PROGRAM: copy what must live longer.
func (a *Area) Bytes(f Frame) ([]byte, error) {
	if _, err := a.held(f); err != nil {
		return nil, err
	}
	if uint64(f.off)+uint64(f.len) > uint64(a.chunk) {
		return nil, &FrameError{f, fmt.Sprintf("reaches beyond its chunk of %d bytes", a.chunk)}
	}
	base := uint64(f.chunk) << a.shift
	return a.mem[base+uint64(f.off) : base+uint64(f.off)+uint64(f.len) : base+uint64(a.chunk)], nil
}

// Shift returns the frame with its data beginning n bytes later (the front cut
// off) or, for a negative n, earlier (room for a header in front); its end stays
// where it was. A beginning outside the chunk or beyond the end is an error.
func (a *Area) Shift(f Frame, n int) (Frame, error) {
	off, length := int64(f.off)+int64(n), int64(f.len)-int64(n)
	if off < 0 || off > int64(a.chunk) || length < 0 {
		return f, &FrameError{f, fmt.Sprintf("cannot begin %d bytes later: chunk of %d bytes", n, a.chunk)}
	}
	f.off, f.len = uint32(off), uint32(length)
	return f, nil
}

// errClosed is what calls on a closed area return; errors.Is(err, net.ErrClosed).
func errClosed(what string) error {
	return fmt.Errorf("umem: %s: area is closed: %w", what, net.ErrClosed)
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// address is where b lies, for telling whether it begins on a page.
func address(b []byte) uintptr { return reflect.ValueOf(b).Pointer() }
