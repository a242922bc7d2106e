// SPDX-License-Identifier: MIT

package ring

// Consumer is the program's side of an RX or completion ring.
type Consumer[T any] struct {
	shared Shared[T]
	head   uint32 // our consumer index as last published
	tail   uint32 // the producer index as last seen
}

// NewConsumer returns the consuming side of s, going on from where its consumer
// index stands.
func NewConsumer[T any](s Shared[T]) Consumer[T] {
	return Consumer[T]{shared: s, head: s.Consumer.Load(), tail: s.Producer.Load()}
}

// Size is the number of entries of the ring.
func (c *Consumer[T]) Size() uint32 { return uint32(len(c.shared.Entries)) }

// Peek returns up to n of the oldest entries without consuming them. Together
// the spans hold as many as there are; they are valid until those entries are
// released. It looks at the kernel's index only when the private copy says that
// there are fewer than n.
func (c *Consumer[T]) Peek(n uint32) (a, b []T) {
	have := c.tail - c.head
	if have < n {
		// Acquire: pairs with the kernel's store-release in
		// __xskq_prod_submit (net/xdp/xsk_queue.h), so that we see the
		// entries that the index announces. An index that cannot be
		// must not make us read an entry twice.
		c.tail = c.head + min(c.shared.Producer.Load()-c.head, uint32(len(c.shared.Entries)))
		have = c.tail - c.head
	}
	return span(c.shared.Entries, c.head, min(n, have))
}

// Release gives the n oldest entries back to the kernel, with one store. They
// must have been peeked.
func (c *Consumer[T]) Release(n uint32) {
	c.head += n
	// Release: pairs with the kernel's load-acquire in
	// xskq_prod_nb_free (net/xdp/xsk_queue.h), so that it
	// does not overwrite an entry that we still read.
	c.shared.Consumer.Store(c.head)
}

// Len is the number of entries that wait to be consumed. It reads a shared
// word: for gauges and before going to sleep.
func (c *Consumer[T]) Len() uint32 {
	return min(c.shared.Producer.Load()-c.head, uint32(len(c.shared.Entries)))
}
