// SPDX-License-Identifier: MIT

package ring

// Producer is the program's side of a fill or TX ring.
type Producer[T any] struct {
	shared Shared[T]
	head   uint32 // next index to reserve
	tail   uint32 // our producer index as last published
	limit  uint32 // the consumer index as last seen, plus the size
}

// NewProducer returns the producing side of s, going on from where its producer
// index stands.
func NewProducer[T any](s Shared[T]) Producer[T] {
	prod := s.Producer.Load()
	return Producer[T]{
		shared: s,
		head:   prod,
		tail:   prod,
		limit:  s.Consumer.Load() + uint32(len(s.Entries)),
	}
}

// Size is the number of entries of the ring.
func (p *Producer[T]) Size() uint32 { return uint32(len(p.shared.Entries)) }

// Free returns how many entries can be reserved. It looks at the kernel's index
// only when the private copy says that there are fewer than want.
func (p *Producer[T]) Free(want uint32) uint32 {
	if p.limit-p.head < want {
		// Acquire: pairs with the kernel's store-release in
		// __xskq_cons_release (net/xdp/xsk_queue.h), so that we do not
		// overwrite an entry that it still reads.
		p.limit = p.head + p.room(p.shared.Consumer.Load())
	}
	return p.limit - p.head
}

// room is the number of entries free to reserve when the kernel's index is
// cons. An index that cannot be (ahead of ours) counts as a full ring.
func (p *Producer[T]) room(cons uint32) uint32 {
	size := uint32(len(p.shared.Entries))
	if used := p.head - cons; used <= size {
		return size - used
	}
	return 0
}

// Reserve takes n entries for the caller to write, all or nothing: the two
// spans hold n entries together, or ok is false and nothing was taken. The
// spans are valid until their entries have been submitted.
func (p *Producer[T]) Reserve(n uint32) (a, b []T, ok bool) {
	if p.Free(n) < n {
		return nil, nil, false
	}
	a, b = span(p.shared.Entries, p.head, n)
	p.head += n
	return a, b, true
}

// Submit hands the n oldest reserved entries to the kernel, with one store.
// Each must have been written.
func (p *Producer[T]) Submit(n uint32) {
	p.tail += n
	// Release: pairs with the kernel's load-acquire in
	// __xskq_cons_peek (net/xdp/xsk_queue.h), so that it sees the entries
	// before it sees the index.
	p.shared.Producer.Store(p.tail)
}

// Cancel gives the n newest reserved entries back unwritten.
func (p *Producer[T]) Cancel(n uint32) { p.head -= n }

// NeedWakeup tells whether the kernel asks for a system call to take what was
// submitted. To be called after Submit: the store there and the load here are
// ordered, so either the kernel sees the entries or we see its flag
// (Documentation/networking/af_xdp.rst, XDP_USE_NEED_WAKEUP).
func (p *Producer[T]) NeedWakeup() bool { return p.shared.Flags.Load()&needWakeup != 0 }

// Pending is the number of submitted entries that the kernel has not taken yet.
// It reads a shared word: for gauges and for the end of a wakeup.
func (p *Producer[T]) Pending() uint32 {
	return min(p.tail-p.shared.Consumer.Load(), uint32(len(p.shared.Entries)))
}

// Untaken returns the submitted entries that the kernel has not taken, oldest
// first, in two spans. It may take them meanwhile.
func (p *Producer[T]) Untaken() (a, b []T) {
	n := p.Pending()
	return span(p.shared.Entries, p.tail-n, n)
}

// Consumed is the kernel's consumer index as it stands, for telling whether a
// wakeup moved it.
func (p *Producer[T]) Consumed() uint32 { return p.shared.Consumer.Load() }
