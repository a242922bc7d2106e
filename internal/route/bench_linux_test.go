// SPDX-License-Identifier: MIT

package route

import (
	"context"
	"net/netip"
	"testing"

	"github.com/xdpath/xdpath/internal/packet"
	"github.com/xdpath/xdpath/internal/testnet"
)

// BenchmarkTable: generation is what a flow pays for each datagram, resolve what it
// pays for each change, follow how long a change takes to be seen.
func BenchmarkTable(b *testing.B) {
	p := testnet.TestPair(b, testnet.Config{IPv6: true})
	for _, fam := range families(p.A, p.B) {
		via(b, &p.A, fam.gateway, 3)
	}
	table := openEnd(b, &p.A)
	b.Run("generation", func(b *testing.B) {
		gen := table.Generation()
		changed := 0
		for b.Loop() {
			if table.Generation() != gen {
				changed++
			}
		}
		b.ReportMetric(float64(changed), "changes")
	})
	for _, fam := range families(p.A, p.B) {
		b.Run("resolve/"+fam.name, func(b *testing.B) {
			b.ReportAllocs()
			q := Query{Dst: netip.MustParseAddr(fam.gateway)}
			for b.Loop() {
				if a, err := table.Resolve(q); err != nil || a.Kind != Unicast {
					b.Fatalf("%+v, %v", a, err)
				}
			}
		})
		b.Run("unresolved/"+fam.name, func(b *testing.B) {
			q := Query{Dst: fam.nobody}
			for b.Loop() {
				if a, err := table.Resolve(q); err != nil || a.Kind != Unresolved {
					b.Fatalf("%+v, %v", a, err)
				}
			}
		})
	}
	b.Run("follow", func(b *testing.B) {
		f := newFlow(b, table, netip.MustParseAddr("10.9.0.3"))
		for i := 0; b.Loop(); i++ {
			mac := packet.MAC{2, 0, 0, 0, byte(i >> 8), byte(i)}
			if err := p.A.AddNeigh(f.q.Dst, mac[:]); err != nil {
				b.Fatal(err)
			}
			for f.a.MAC != mac {
				if err := table.WaitChange(context.Background(), f.a.Gen); err != nil {
					b.Fatal(err)
				}
				_, _ = f.look()
			}
		}
	})
}
