// SPDX-License-Identifier: MIT

package bpf_test

import (
	"errors"
	"fmt"
	"log"
	"net/netip"

	"github.com/xdpath/xdpath/bpf"
)

// A program on eth0 that hands UDP port 5000 to an AF_XDP socket on queue 0.
func Example() {
	p, err := bpf.Attach(bpf.Config{Interface: "eth0"})
	var foreign *bpf.ForeignProgramError
	if errors.As(err, &foreign) {
		log.Fatalf("in the way; run: %s", foreign.RemoveCommand())
	}
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()

	socket := openSocket("eth0", 0)
	if err := p.SetQueue(0, socket); err != nil {
		log.Fatal(err)
	}
	if err := p.Allow(bpf.Filter{Addr: netip.MustParseAddrPort("192.0.2.1:5000")}); err != nil {
		log.Fatal(err)
	}
	c, err := p.Counters()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(p.Info().Mode, c.Redirected, c.NoFilter)
}

// openSocket stands for package xsk, which this package does not know.
func openSocket(ifname string, queue int) (fd int) { return -1 }

// A filter for one address on one VLAN, and one for any address.
func ExampleFilter() {
	fmt.Println(bpf.Filter{Addr: netip.MustParseAddrPort("10.9.0.2:5000"), VLAN: 7})
	fmt.Println(bpf.Filter{Addr: netip.AddrPortFrom(netip.Addr{}, 5000)})
	// Output:
	// 10.9.0.2:5000 vlan 7
	// *:5000
}
