// SPDX-License-Identifier: MIT

package udp

import (
	"net"
	"net/netip"

	"github.com/xdpath/xdpath/internal/testnet"
)

// frameRows: what becomes of frames that an ordinary socket would not send.
func frameRows() []row {
	const hello = `"hello" from them`
	var rows []row
	six := testnet.Config{IPv6: true}
	for _, x := range []struct {
		name      string
		ways      ways
		want      string
		frames    []raw
		ours, why string
	}{
		{name: "plain", ways: fastRx, want: hello, frames: []raw{{text: "hello"}}},
		{name: "no checksum", ways: fastRx, want: hello, frames: []raw{{text: "hello", checksum: "none"}}},
		{name: "wrong checksum", ways: fastRx, want: "nothing", frames: []raw{{text: "hello", checksum: "wrong"}}},
		{name: "checksum left to a device", ways: fastRx, want: "nothing", frames: []raw{{text: "hello", checksum: "pseudo"}},
			ours: hello,
			why:  "a kernel sender on a virtual link sends just this, with a note to the other kernel that no frame carries"},
		{name: "wrong header checksum", want: "nothing", frames: []raw{{text: "hello", badHeader: true}}},
		{name: "TOS and a TTL of 1", ways: fastRx, want: hello, frames: []raw{{text: "hello", tos: 0xb9, hops: 63}}},
		{name: "source port 0", ways: fastRx, want: `"hello" from A:0`, frames: []raw{{text: "hello", src: netip.MustParseAddrPort("10.9.0.1:0")}}},
		{name: "padding behind the datagram", ways: fastRx, want: hello, frames: []raw{{text: "hello", padding: "padding up to sixty bytes"}}},
		{name: "bytes between UDP and IP length", ways: fastRx, want: hello, frames: []raw{{text: "hello", tail: "more"}}},
		{name: "UDP longer than IP", want: "nothing", frames: []raw{{text: "hello", length: 1}}},
		{name: "UDP shorter than its header", want: "nothing", frames: []raw{{text: "hello", length: -6}}},
		{name: "UDP length 0", want: "nothing", frames: []raw{{text: "hello", length: -13}}},
		{name: "IP options", ways: kernelRx, want: hello, frames: []raw{{text: "hello", options: []byte{1, 1, 1, 0}}}},
		{name: "fragments", ways: kernelRx, want: `"hello, fragments" from them`, frames: []raw{
			{text: "hello, fragments", cut: [2]int{0, 16}, fragment: 0x2000}, {text: "hello, fragments", cut: [2]int{16, 24}, fragment: 2}}},
		{name: "fragments, last first", ways: kernelRx, want: `"hello, fragments" from them`, frames: []raw{
			{text: "hello, fragments", cut: [2]int{16, 24}, fragment: 2}, {text: "hello, fragments", cut: [2]int{0, 16}, fragment: 0x2000}}},
		{name: "priority tag", want: hello, frames: []raw{{text: "hello", tag: []byte{0x81, 0, 0x60, 0}}}},
		{name: "tag of another VLAN", want: "nothing", frames: []raw{{text: "hello", tag: []byte{0x81, 0, 0, 5}}}},
		{name: "another host's MAC", want: "nothing", frames: []raw{{text: "hello", dstMAC: net.HardwareAddr{2, 0, 0, 0, 0, 9}}}},
		{name: "broadcast MAC, our address", want: hello, frames: []raw{{text: "hello", dstMAC: net.HardwareAddr{255, 255, 255, 255, 255, 255}}}},
		{name: "from nobody", want: "nothing", frames: []raw{{text: "hello", src: netip.MustParseAddrPort("0.0.0.0:9")}}},
		{name: "from loopback", want: "nothing", frames: []raw{{text: "hello", src: netip.MustParseAddrPort("127.0.0.1:9")}}},
		{name: "from a group", want: "nothing", frames: []raw{{text: "hello", src: netip.MustParseAddrPort("224.0.0.1:9")}}},
		{name: "from broadcast", want: "nothing", frames: []raw{{text: "hello", src: netip.MustParseAddrPort("255.255.255.255:9")}}},
		{name: "from ourselves", want: "nothing", frames: []raw{{text: "hello", src: netip.MustParseAddrPort("10.9.0.2:9")}}},

		{name: "IPv6", ways: fastRx, want: hello, frames: []raw{{six: true, text: "hello"}}},
		{name: "IPv6, no checksum", want: "nothing", frames: []raw{{six: true, text: "hello", checksum: "none"}}},
		{name: "IPv6, wrong checksum", want: "nothing", frames: []raw{{six: true, text: "hello", checksum: "wrong"}}},
		{name: "IPv6, hop-by-hop options", ways: kernelRx, want: hello, frames: []raw{{six: true, text: "hello", options: []byte{17, 0, 1, 4, 0, 0, 0, 0}}}},
		{name: "IPv6, destination options", ways: kernelRx, want: hello, frames: []raw{{six: true, text: "hello", nextHead: 60, options: []byte{17, 0, 1, 4, 0, 0, 0, 0}}}},
		{name: "IPv6, a fragment that is all", ways: kernelRx, want: hello, frames: []raw{{six: true, text: "hello", nextHead: 44, options: []byte{17, 0, 0, 0, 0, 0, 0, 7}}}},
		{name: "IPv6, fragments", ways: kernelRx, want: `"hello, fragments" from them`, frames: []raw{
			{six: true, text: "hello, fragments", cut: [2]int{0, 16}, nextHead: 44, options: []byte{17, 0, 0, 1, 0, 0, 0, 8}},
			{six: true, text: "hello, fragments", cut: [2]int{16, 24}, nextHead: 44, options: []byte{17, 0, 0, 16, 0, 0, 0, 8}}}},
		{name: "IPv6, from a group", want: "nothing", frames: []raw{{six: true, text: "hello", src: netip.MustParseAddrPort("[ff02::1]:9")}}},
		{name: "IPv6, from loopback", want: "nothing", frames: []raw{{six: true, text: "hello", src: netip.MustParseAddrPort("[::1]:9")}}},
	} {
		count := 0
		if x.want != "nothing" || x.ours != "" {
			count = 1
		}
		cfg := testnet.Config{}
		if x.frames[0].six {
			cfg = six
		}
		rows = append(rows, row{
			name: "frame: " + x.name, net: cfg, ways: x.ways, want: x.want, ours: x.ours, why: x.why,
			run: func(r *rig) string {
				local := r.us()
				if x.frames[0].six {
					local = r.us6()
				}
				s := r.listen(local)
				if r.kind != xdpathSocket && x.want == "nothing" {
					return r.receives(s, 0, x.frames...)
				}
				return r.receives(s, count, x.frames...)
			},
		})
	}
	return rows
}
