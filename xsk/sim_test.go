// SPDX-License-Identifier: MIT

package xsk

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/xdpath/xdpath/internal/ring"
	"github.com/xdpath/xdpath/internal/wait"
	"github.com/xdpath/xdpath/umem"
)

// sim plays the kernel over rings on the heap: what is sent comes back as
// received, copied from one chunk to another. The race detector sees all that
// the socket does then, and errnos come when a test wants them.
type sim struct {
	t      testing.TB
	area   *umem.Area
	mem    []byte
	budget int // frames a wakeup

	mu     sync.Mutex // one system call at a time, as the kernel's socket lock has it
	tx     ring.Consumer[desc]
	done   ring.Producer[uint64]
	fill   ring.Consumer[uint64]
	rx     ring.Producer[desc]
	lazy   bool            // completions come later, by complete
	owed   []uint64        // completions not given yet
	errnos []syscall.Errno // the next wakeups' errors
	stats  kernelStats     // rxDropped and rxRingFull, as the kernel counts
	kicks  atomic.Int64
	closes atomic.Int64
	left   atomic.Bool // the interface
	bell   *os.File    // readable for ever: a poll returns at once
}

// simConfig is a socket's shape over a simulated kernel.
type simConfig struct {
	rx, tx, fill, done uint32
	start              uint32 // where all indexes begin
	rxFrames, txFrames int
	budget             int
	multi              bool
	region             int // chunks of it that no pool has
	wait               Wait
}

func newSim(t testing.TB, c simConfig) (*Socket, *sim) {
	t.Helper()
	def := func(v *uint32, d uint32) {
		if *v == 0 {
			*v = d
		}
	}
	def(&c.rx, 64)
	def(&c.tx, 64)
	def(&c.fill, c.rx)
	def(&c.done, c.tx)
	if c.rxFrames == 0 {
		c.rxFrames = int(c.fill)
	}
	if c.txFrames == 0 {
		c.txFrames = int(c.tx)
	}
	if c.budget == 0 {
		c.budget = defaultTxBudget
	}
	chunks := c.rxFrames + c.txFrames + c.region
	mem := alignedMemory(chunks * 2048)
	area, err := umem.New(umem.Config{Memory: mem, Chunks: chunks})
	if err != nil {
		t.Fatal(err)
	}
	rxPool, err := area.NewPool(c.rxFrames)
	if err != nil {
		t.Fatal(err)
	}
	txPool, err := area.NewPool(c.txFrames)
	if err != nil {
		t.Fatal(err)
	}
	rx, tx := ring.Heap[desc](c.rx, c.start), ring.Heap[desc](c.tx, c.start)
	fill, done := ring.Heap[uint64](c.fill, c.start), ring.Heap[uint64](c.done, c.start)
	tx.Flags.Store(1)
	k := &sim{
		t: t, area: area, mem: mem, budget: c.budget,
		tx: ring.NewConsumer(tx), done: ring.NewProducer(done), fill: ring.NewConsumer(fill), rx: ring.NewProducer(rx),
	}
	if k.bell, err = os.Open(os.DevNull); err != nil {
		t.Fatal(err)
	}
	s := &Socket{cfg: Config{Wait: c.wait, Linger: defaultLinger}.withDefaults(), area: area, os: k, txPool: txPool, own: true, opened: time.Now()}
	s.info = Info{Interface: "sim0", Mode: Copy, TxBudget: c.budget, MultiBuffer: c.multi, MaxSegments: maxSegments}
	s.SetMTU(9000)
	s.rxWait.Mode = wait.Mode(c.wait)
	s.rxWait.Pacer = wait.Pacer{MaxSpin: defaultSpin, Room: int(c.rx)}
	rc, tp := ring.NewConsumer(rx), ring.NewProducer(tx)
	fp, dc := ring.NewProducer(fill), ring.NewConsumer(done)
	s.rx, s.tx = &rc, &tp
	s.rings = newPair(area, rxPool, k.poller(), mapping{&fp, &dc, func() error { return nil }})
	s.rings.refill()
	area.CloseWithLast()
	if err := area.Attach(func([]byte, []umem.Member) (umem.Member, error) { return umem.Member{FD: k.poller()}, nil }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		checkArea(t, area)
		k.bell.Close()
	})
	return s, k
}

// checkArea asserts conservation and that lists and words agree.
func checkArea(t testing.TB, a *umem.Area) {
	t.Helper()
	if s := a.Snapshot(); s.Sum() != s.Total {
		t.Errorf("chunks are lost: %v", s)
	}
	if err := a.Check(); err != nil {
		t.Error(err)
	}
}

// within is a context that ends the wait of a test that failed.
func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// alignedMemory is n bytes of the heap on a page boundary.
func alignedMemory(n int) []byte {
	page := os.Getpagesize()
	n = (n + page - 1) / page * page
	for b := make([]byte, n+page); ; b = b[1:] {
		if _, err := umem.New(umem.Config{Memory: b[:n:n], Chunks: 1}); err == nil {
			return b[:n:n]
		}
	}
}

func (k *sim) poller() int   { return int(k.bell.Fd()) }
func (k *sim) wakeRx() error { return nil }
func (k *sim) present() bool { return !k.left.Load() }
func (k *sim) close() error  { k.closes.Add(1); return nil }
func (k *sim) statistics() (kernelStats, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.stats, nil
}

// wakeTx sends up to the budget, as copy mode does.
func (k *sim) wakeTx() error {
	k.kicks.Add(1)
	k.mu.Lock()
	defer k.mu.Unlock()
	var errno syscall.Errno
	if len(k.errnos) > 0 {
		errno, k.errnos = k.errnos[0], k.errnos[1:]
	}
	switch errno {
	case syscall.EBUSY: // one packet consumed, completed and lost
		if d, ok := k.next(); ok {
			k.finish(d.Addr)
		}
		return errno
	case 0:
	default:
		return errno
	}
	for range k.budget {
		d, ok := k.next()
		if !ok {
			return nil
		}
		k.deliver(d)
		k.finish(d.Addr)
	}
	if k.tx.Len() > 0 {
		return syscall.EAGAIN
	}
	return nil
}

func (k *sim) next() (desc, bool) {
	a, _ := k.tx.Peek(1)
	if len(a) == 0 {
		return desc{}, false
	}
	d := a[0]
	if d.Options&^contd != 0 {
		k.t.Errorf("descriptor with options %#x", d.Options)
	}
	k.tx.Release(1)
	return d, true
}

// deliver copies a sent frame into a chunk of the fill ring.
func (k *sim) deliver(d desc) {
	f, _ := k.fill.Peek(1)
	if len(f) == 0 {
		k.stats.rxDropped++
		k.stats.rxFillEmpty++
		return
	}
	x, _, ok := k.rx.Reserve(1)
	if !ok {
		k.stats.rxRingFull++
		return
	}
	addr := f[0]
	if d.Len <= 2048-256 { // a longer one has no room for the kernel's headroom
		addr += 256
	}
	k.fill.Release(1)
	copy(k.mem[addr:addr+uint64(d.Len)], k.mem[d.Addr:d.Addr+uint64(d.Len)])
	x[0] = desc{Addr: addr, Len: d.Len, Options: d.Options}
	k.rx.Submit(1)
}

// finish completes a frame, now or later.
func (k *sim) finish(addr uint64) {
	if k.lazy {
		k.owed = append(k.owed, addr)
		return
	}
	x, _, ok := k.done.Reserve(1)
	if !ok {
		k.t.Error("completion ring overflows")
		return
	}
	x[0] = addr
	k.done.Submit(1)
}

// complete gives what is owed, last first: the kernel keeps no order.
func (k *sim) complete() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lazy = false
	for i := len(k.owed) - 1; i >= 0; i-- {
		k.finish(k.owed[i])
	}
	k.owed = nil
}
