// SPDX-License-Identifier: MIT

package umem

import "fmt"

// Snapshot counts an area's pool chunks by owner.
type Snapshot struct {
	Free         int // on the pools' lists
	Fill         int // the kernel may write them
	Received     int // the user holds them, after RX
	Reserved     int // the user is writing them
	Transmitting int // the kernel reads them
	Total        int // chunks that the pools were made of
}

// Sum is the number of chunks with an owner; it equals Total at any moment.
func (s Snapshot) Sum() int { return s.Free + s.Fill + s.Received + s.Reserved + s.Transmitting }

// Out is the number of frames that the user holds.
func (s Snapshot) Out() int { return s.Received + s.Reserved }

func (s Snapshot) String() string {
	return fmt.Sprintf("free %d + fill %d + received %d + reserved %d + transmitting %d = %d of %d",
		s.Free, s.Fill, s.Received, s.Reserved, s.Transmitting, s.Sum(), s.Total)
}

// Snapshot counts the chunks of all pools by owner. It reads each chunk's word
// once and locks nothing, so traffic goes on meanwhile.
func (a *Area) Snapshot() Snapshot {
	a.mu.Lock()
	pools := a.pools
	a.mu.Unlock()
	var s Snapshot
	var count [owners]int
	for _, p := range pools {
		s.Total += p.size
		for i := p.first; i < p.first+p.size; i++ {
			if o := word(a.words[i].Load()).owner(); o < owners {
				count[o]++
			}
		}
	}
	s.Free, s.Fill, s.Received = count[free], count[fill], count[received]
	s.Reserved, s.Transmitting = count[reserved], count[transmitting]
	return s
}

// Check verifies that the pools' lists and the chunks' words agree: every chunk
// on a list is free, is on it once, and is that pool's; every free chunk is on a
// list. It stops the pools while it looks, so it is for tests and for diagnosis.
func (a *Area) Check() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.pools {
		if err := p.check(); err != nil {
			return err
		}
	}
	return nil
}

func (p *Pool) check() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	seen := make([]bool, p.size)
	for _, c := range p.free {
		i := int(c) - p.first
		switch {
		case i < 0 || i >= p.size:
			return fmt.Errorf("umem: chunk %d is on the list of the pool %d..%d", c, p.first, p.first+p.size-1)
		case seen[i]:
			return fmt.Errorf("umem: chunk %d is on its pool's list twice", c)
		}
		seen[i] = true
		if o := word(p.area.words[c].Load()).owner(); o != free {
			return fmt.Errorf("umem: chunk %d is on its pool's list but %v", c, o)
		}
	}
	return nil
}
