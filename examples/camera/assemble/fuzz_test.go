// SPDX-License-Identifier: MIT

package assemble

import (
	"bytes"
	"testing"
	"time"
)

// Whatever comes, in whatever order: each buffer has one owner, an image that is held
// does not change, a complete one has all its bytes, and each packet is counted.
//
// The input is packets, each after two bytes: what else happens, and its length.
func FuzzAssembler(f *testing.F) {
	join := func(ps ...[]byte) (b []byte) {
		for i, p := range ps {
			b = append(append(b, byte(i), byte(len(p))), p...)
		}
		return b
	}
	extended := camera{size: 148, extended: true, w: 20, h: 20}
	f.Add(join(small.packets(1)...))
	f.Add(join(append(small.packets(65535)[3:], small.packets(1)...)...))
	f.Add(join(append(extended.packets(7), extended.packets(9)[:3]...)...))
	f.Fuzz(func(t *testing.T, in []byte) {
		const buffers = 3
		a, err := New(Config{PacketSize: 148, Buffers: buffers, MaxImage: 10_000, Resend: true})
		if err != nil {
			t.Fatal(err)
		}
		held := map[*Image][]byte{}
		now, packets := epoch, uint64(0)
		for len(in) >= 2 {
			what, n := in[0], min(int(in[1]), len(in)-2)
			p := in[2 : 2+n]
			in = in[2+n:]
			cut := min(int(what%32)+20, n)
			a.Packet(p[:cut], [][]byte{p[cut:]}, now)
			packets++
			now = now.Add(time.Duration(what) * time.Millisecond / 16)
			a.Tick(now)
			if what%2 == 0 {
				for m := range held {
					a.Release(m)
					delete(held, m)
					break
				}
			}
			for m, ok := a.Next(); ok; m, ok = a.Next() {
				held[m] = bytes.Clone(m.Data)
				checkImage(t, m)
			}
			for m, data := range held {
				if !bytes.Equal(data, m.Data) {
					t.Fatalf("image %d changed while it was held", m.ID)
				}
			}
			with := 0
			for _, m := range a.flight {
				if !m.refused {
					with++
				}
			}
			if with+len(a.free)+len(held) != buffers {
				t.Fatalf("%d in flight, %d free, %d held, of %d", with, len(a.free), len(held), buffers)
			}
			if q := a.Requests(nil); len(q) > maxRequests {
				t.Fatalf("%d requests", len(q))
			}
		}
		a.Abort()
		c := a.Counters()
		if c.ReceivedPackets != packets || c.IgnoredPackets > packets || c.LatePackets+c.RefusedPackets+c.MalformedPackets > c.IgnoredPackets {
			t.Fatalf("%d packets came\n%v", packets, c)
		}
	})
}

func checkImage(t *testing.T, m *Image) {
	if len(m.Data) > 10_000 {
		t.Fatalf("image of %d bytes", len(m.Data))
	}
	if (m.Status == Complete) != (len(m.Missing) == 0 && m.whole() && !m.mismatch && !m.conflict && m.fits() && (!m.sized || m.bytes == m.size)) {
		t.Fatalf("%v, missing %v", m.Status, m.Missing)
	}
	if m.Status == Complete && m.sized && len(m.Data) != m.size {
		t.Fatalf("%d bytes of %d", len(m.Data), m.size)
	}
}
