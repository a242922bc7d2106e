// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
)

// A comparison is fair only if all compute the same.
func TestImplementationsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, 10000)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	for range 20000 {
		start := r.IntN(64)
		b := data[start : start+r.IntN(300)]
		if r.IntN(10) == 0 {
			b = data[start:]
		}
		initial := uint16(r.Uint32())
		want := naive(b, initial)
		for _, im := range implementations() {
			if got := im.sum(b, initial); got != want {
				t.Fatalf("%s of %d bytes from %d, initial %#x: %#x, want %#x", im.name, len(b), start, initial, got, want)
			}
		}
	}
}

// For benchstat; main takes turns and is the fairer one.
func BenchmarkSum(b *testing.B) {
	for _, n := range []int{64, 512, 1472, 8972} {
		data := make([]byte, headerLen+n)[headerLen:]
		for _, im := range implementations() {
			b.Run(fmt.Sprintf("bytes=%d/by=%s", n, im.name), func(b *testing.B) {
				b.SetBytes(int64(n))
				var sum uint16
				for b.Loop() {
					sum = im.sum(data, sum)
				}
				runtime.KeepAlive(sum)
			})
		}
	}
}
