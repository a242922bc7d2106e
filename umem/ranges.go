// SPDX-License-Identifier: MIT

package umem

import (
	"fmt"
	"slices"
)

// chunks is a range of an area's chunks that nobody has.
type chunks struct{ first, n int }

// take cuts n chunks for a pool or region out of the first range that has them.
// The lock is held.
func (a *Area) take(what string, n int) (first int, err error) {
	if a.closed {
		return 0, errClosed("new " + what)
	}
	most := 0
	for i, r := range a.vacant {
		most = max(most, r.n)
		if n < 1 || n > r.n {
			continue
		}
		if a.vacant[i] = (chunks{r.first + n, r.n - n}); r.n == n {
			a.vacant = slices.Delete(a.vacant, i, i+1)
		}
		return r.first, nil
	}
	return 0, fmt.Errorf("umem: new %s of %d chunks: the area has %d in one piece left of %d", what, n, most, len(a.words))
}

// giveBack makes a range vacant again, joined with its neighbours. The lock is
// held.
func (a *Area) giveBack(r chunks) {
	i, _ := slices.BinarySearchFunc(a.vacant, r, func(x, y chunks) int { return x.first - y.first })
	a.vacant = slices.Insert(a.vacant, i, r)
	for j := max(i-1, 0); j+1 < len(a.vacant) && j <= i; {
		if x, y := a.vacant[j], a.vacant[j+1]; x.first+x.n == y.first {
			a.vacant[j].n += y.n
			a.vacant = slices.Delete(a.vacant, j+1, j+2)
			continue
		}
		j++
	}
}

// dissolve takes a closed pool, all of whose chunks are free, off the area.
func (a *Area) dissolve(p *Pool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.Index(a.pools, p)
	if i < 0 {
		return
	}
	a.pools = slices.Delete(slices.Clone(a.pools), i, i+1)
	for c := p.first; c < p.first+p.size; c++ {
		a.words[c].Store(makeWord(word(a.words[c].Load()).gen()+1, 0, regional))
	}
	a.giveBack(chunks{p.first, p.size})
}
