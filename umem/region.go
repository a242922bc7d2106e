// SPDX-License-Identifier: MIT

package umem

// Region is a part of an area that no pool touches: the program fills it (image
// buffers of a camera, say) and the library only reads it.
type Region struct {
	area  *Area
	first int
	bytes []byte
}

// NewRegion gives the next chunks of the area that nobody has, as many as hold n
// bytes, to a region.
func (a *Area) NewRegion(n int) (*Region, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	chunks := 0
	if n > 0 && n <= len(a.mem) {
		chunks = (n + a.chunk - 1) / a.chunk
	} else if n > 0 {
		chunks = len(a.words) + 1
	}
	first, err := a.take("region", chunks)
	if err != nil {
		return nil, err
	}
	at := first << a.shift
	return &Region{area: a, first: first, bytes: a.mem[at : at+n : at+chunks<<a.shift]}, nil
}

// Bytes is the region's memory. It is valid until the area is closed.
func (r *Region) Bytes() []byte { return r.bytes }

// Offset is where in the area the region begins, in bytes: a multiple of the
// chunk size.
func (r *Region) Offset() uint64 { return uint64(r.first) << r.area.shift }
