// SPDX-License-Identifier: MIT

package ring

import "testing"

// model is the obvious queue that a ring must equal.
type model struct {
	size     int
	reserved []uint64 // written, not submitted
	queue    []uint64 // submitted, not released
}

// FuzzModel runs a program of operations against a ring and a model: order is
// kept, the ring is never full below its size and never empty by mistake.
func FuzzModel(f *testing.F) {
	f.Add(uint32(0), byte(3), []byte{0x05, 0x45, 0x85, 0xc5})
	f.Add(^uint32(0)-2, byte(0), []byte{0x01, 0x41, 0x81, 0xc1, 0x02, 0x42})
	f.Add(^uint32(0), byte(6), []byte{0x3f, 0x20, 0x5f, 0xbf, 0xff, 0x3f, 0x7f})
	f.Fuzz(func(t *testing.T, start uint32, logSize byte, ops []byte) {
		m := model{size: 1 << (logSize % 8)}
		p, c, _ := pair[uint64](uint32(m.size), start)
		var next uint64
		for i, op := range ops {
			n := int(op & 0x3f)
			switch op >> 6 {
			case 0:
				m.reserve(t, p, n, &next)
			case 1:
				n = min(n, len(m.reserved))
				p.Submit(uint32(n))
				m.queue = append(m.queue, m.reserved[:n]...)
				m.reserved = m.reserved[n:]
			case 2:
				m.peek(t, c, n)
			case 3:
				n = min(n, len(m.reserved))
				p.Cancel(uint32(n))
				m.reserved = m.reserved[:len(m.reserved)-n]
			}
			if got := int(p.Pending()); got != len(m.queue) {
				t.Fatalf("op %d: %d pending, want %d", i, got, len(m.queue))
			}
			if got := int(c.Len()); got != len(m.queue) {
				t.Fatalf("op %d: %d to consume, want %d", i, got, len(m.queue))
			}
		}
	})
}

func (m *model) reserve(t *testing.T, p *Producer[uint64], n int, next *uint64) {
	a, b, ok := p.Reserve(uint32(n))
	if want := len(m.reserved)+len(m.queue)+n <= m.size; ok != want {
		t.Fatalf("reserve %d with %d+%d of %d taken: %v", n, len(m.reserved), len(m.queue), m.size, ok)
	}
	if !ok {
		return
	}
	if len(a)+len(b) != n {
		t.Fatalf("reserve %d gave %d+%d", n, len(a), len(b))
	}
	for i := range n {
		*at(a, b, uint32(i)) = *next
		m.reserved = append(m.reserved, *next)
		*next++
	}
}

// peek looks at up to n entries and releases half of what it sees.
func (m *model) peek(t *testing.T, c *Consumer[uint64], n int) {
	a, b := c.Peek(uint32(n))
	if want := min(n, len(m.queue)); len(a)+len(b) != want {
		t.Fatalf("peek %d of %d gave %d+%d", n, len(m.queue), len(a), len(b))
	}
	for i := range len(a) + len(b) {
		if got := *at(a, b, uint32(i)); got != m.queue[i] {
			t.Fatalf("entry %d is %d, want %d", i, got, m.queue[i])
		}
	}
	half := (len(a) + len(b) + 1) / 2
	c.Release(uint32(half))
	m.queue = m.queue[half:]
}
