// SPDX-License-Identifier: MIT

// Compare measures packet.Sum against the other pure-Go implementations that
// can be had as modules, in one process, taking turns:
//
//	cd internal/packet/compare && go run . [-rounds 101] [-sizes 64,512,1472,8972]
//
// It prints, for each size, the median time of a call in nanoseconds and the
// ratio to packet.Sum, above 1 where packet.Sum is faster. The data starts 42
// bytes into a page, where a payload starts in a frame. The exit status is 1 if
// packet.Sum lost anywhere. A module of its own keeps the others out of the
// library's dependencies.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// headerLen is where the payload starts behind Ethernet, IPv4 and UDP.
const headerLen = 42

func main() {
	rounds := flag.Int("rounds", 101, "turns that each implementation gets at each size")
	list := flag.String("sizes", "8,20,64,128,256,512,1024,1472,4096,8972", "bytes to sum, separated by commas")
	flag.Parse()
	sizes, err := parseSizes(*list)
	if err == nil && *rounds < 6 {
		err = fmt.Errorf("-rounds %d: need at least 6", *rounds)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(2)
	}
	if !table(sizes, *rounds) {
		os.Exit(1)
	}
}

func parseSizes(list string) ([]int, error) {
	var sizes []int
	for _, s := range strings.Split(list, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 || n > 1<<20 {
			return nil, fmt.Errorf("-sizes %q: need numbers from 0 to 1048576", s)
		}
		sizes = append(sizes, n)
	}
	return sizes, nil
}

// table prints the comparison and reports whether packet.Sum was the fastest at
// every size.
func table(sizes []int, rounds int) bool {
	all := implementations()
	fmt.Printf("%8s", "bytes")
	for i, im := range all {
		fmt.Printf("%12s", im.name)
		if i > 0 {
			fmt.Printf("%7s", "ratio")
		}
	}
	fmt.Println()
	first := true
	for _, n := range sizes {
		medians := measure(all, n, rounds)
		fmt.Printf("%8d", n)
		for i, m := range medians {
			fmt.Printf("%12.2f", m)
			if i > 0 {
				fmt.Printf("%7.2f", m/medians[0])
				first = first && m >= medians[0]
			}
		}
		fmt.Println()
	}
	return first
}

// measure returns each implementation's median nanoseconds a call. A turn is
// long enough for the clock and short enough that a disturbance spoils few of
// them; within a round all take one, so that all see the same machine.
func measure(all []implementation, n, rounds int) []float64 {
	data := make([]byte, headerLen+n)[headerLen:]
	for i := range data {
		data[i] = byte(i*167 + 13)
	}
	calls := 200_000 / (4 + n/32)
	samples := make([][]float64, len(all))
	for range rounds {
		for i, im := range all {
			var sum uint16
			start := time.Now()
			for range calls {
				sum = im.sum(data, sum)
			}
			took := time.Since(start)
			runtime.KeepAlive(sum)
			samples[i] = append(samples[i], float64(took.Nanoseconds())/float64(calls))
		}
	}
	medians := make([]float64, len(all))
	for i, s := range samples {
		slices.Sort(s)
		medians[i] = s[len(s)/2]
	}
	return medians
}
