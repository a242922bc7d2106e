// SPDX-License-Identifier: MIT

package xsk

// A Ticket follows packets until the kernel is done with every descriptor of
// theirs: see [Socket.Track]. The zero Ticket follows nothing.
type Ticket struct {
	n   int32 // number of the ticket plus 1
	gen uint32
}

// tracker counts the descriptors of tracked packets that the kernel has not
// completed. It goes by address and not by order: a packet's completions come
// together, but those of two packets can change places (xsk_destruct_skb,
// net/xdp/xsk.c). Two packets in flight may name the same address; a completion
// then counts for the older one, which makes no difference to who waits for both
// before the bytes change.
//
// Its arrays grow to the most that was ever in flight, and stay. The pair's
// doneMu guards it.
type tracker struct {
	tickets []ticket
	vacant  []int32 // tickets that are free

	descs   []tracked
	unused  int32 // first of the list of free descs
	buckets []bucket
	flying  int // descs in use

	done []uint64 // cookies to hand out, oldest first
}

type ticket struct {
	cookie uint64
	left   int32 // descriptors in flight, and one more until it is sealed
	gen    uint32
	sealed bool
}

// tracked is a descriptor in flight.
type tracked struct {
	addr   uint64
	ticket int32
	next   int32 // in its bucket, or among the free ones
}

// bucket is a list of descriptors, oldest first.
type bucket struct{ first, last int32 }

const none = -1

// begin gives out a ticket.
func (t *tracker) begin() Ticket {
	var i int32
	if n := len(t.vacant); n > 0 {
		i, t.vacant = t.vacant[n-1], t.vacant[:n-1]
	} else {
		i = int32(len(t.tickets))
		t.tickets = append(t.tickets, ticket{})
	}
	k := &t.tickets[i]
	*k = ticket{left: 1, gen: k.gen + 1}
	return Ticket{i + 1, k.gen}
}

// valid tells whether the ticket was given out and not sealed.
func (t *tracker) valid(k Ticket) bool {
	return k.n > 0 && int(k.n) <= len(t.tickets) && t.tickets[k.n-1].gen == k.gen && !t.tickets[k.n-1].sealed
}

// add follows a descriptor that is about to go into the TX ring.
func (t *tracker) add(addr uint64, k Ticket) {
	if t.flying == len(t.descs) {
		t.grow()
	}
	i := t.unused
	d := &t.descs[i]
	t.unused = d.next
	*d = tracked{addr, k.n - 1, none}
	t.link(i)
	t.flying++
	t.tickets[k.n-1].left++
}

func (t *tracker) bucket(addr uint64) *bucket {
	const golden = 0x9e3779b97f4a7c15 // Fibonacci hashing: addresses differ in few bits
	return &t.buckets[addr*golden>>32%uint64(len(t.buckets))]
}

// link appends a descriptor to its bucket.
func (t *tracker) link(i int32) {
	b := t.bucket(t.descs[i].addr)
	if b.first == none {
		b.first = i
	} else {
		t.descs[b.last].next = i
	}
	b.last = i
}

// grow makes room for twice as many descriptors. All are in use.
func (t *tracker) grow() {
	was, old := len(t.descs), t.buckets
	n := max(2*was, 64)
	t.descs = append(t.descs, make([]tracked, n-was)...)
	t.buckets = make([]bucket, n)
	for i := range t.buckets {
		t.buckets[i] = bucket{none, none}
	}
	// Those of one address were in one list and stay in order.
	for _, b := range old {
		for i := b.first; i != none; {
			next := t.descs[i].next
			t.descs[i].next = none
			t.link(i)
			i = next
		}
	}
	for i := was; i < n; i++ {
		t.descs[i].next = int32(i + 1)
	}
	t.unused = int32(was)
}

// completed takes the oldest descriptor with that address off; of one that is not
// tracked it knows nothing.
func (t *tracker) completed(addr uint64) {
	if t.flying == 0 {
		return
	}
	b := t.bucket(addr)
	before := int32(none)
	for i := b.first; i != none; i = t.descs[i].next {
		if t.descs[i].addr == addr {
			t.unlink(b, before, i)
			t.drop(t.descs[i].ticket)
			t.descs[i].next, t.unused = t.unused, i
			t.flying--
			return
		}
		before = i
	}
}

func (t *tracker) unlink(b *bucket, before, i int32) {
	if before == none {
		b.first = t.descs[i].next
	} else {
		t.descs[before].next = t.descs[i].next
	}
	if b.last == i {
		b.last = before
	}
}

// seal ends what can be sent with a ticket.
func (t *tracker) seal(k Ticket, cookie uint64) {
	x := &t.tickets[k.n-1]
	x.cookie, x.sealed = cookie, true
	t.drop(k.n - 1)
}

// drop takes one off what ticket i waits for. With the last its cookie is due.
func (t *tracker) drop(i int32) {
	k := &t.tickets[i]
	if k.left--; k.left == 0 {
		if k.cookie != 0 {
			t.done = append(t.done, k.cookie)
		}
		t.vacant = append(t.vacant, i)
	}
}

// open is how many tickets are given out or have a cookie that nobody has taken.
func (t *tracker) open() int { return len(t.tickets) - len(t.vacant) + len(t.done) }

// take moves cookies to dst.
func (t *tracker) take(dst []uint64) int {
	n := copy(dst, t.done)
	t.done = t.done[:copy(t.done, t.done[n:])]
	return n
}

// end completes everything: the kernel has let go of the area.
func (t *tracker) end() {
	for i := range t.tickets {
		switch k := &t.tickets[i]; {
		case k.left > 0 && k.sealed:
			k.left = 1
			t.drop(int32(i))
		case k.left > 0:
			k.left = 1 // for who seals it
		}
	}
	t.descs, t.buckets, t.flying, t.unused = nil, nil, 0, 0
}
