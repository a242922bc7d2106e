// SPDX-License-Identifier: MIT

package main

import (
	_ "unsafe" // for go:linkname

	_ "golang.zx2c4.com/wireguard/tun" // holds the function that wireguardSum is linked to
	"gvisor.dev/gvisor/pkg/tcpip/checksum"

	"github.com/xdpath/xdpath/internal/packet"
)

// implementation is one way to the ones'-complement sum.
type implementation struct {
	name string
	sum  func(b []byte, initial uint16) uint16
}

// implementations lists packet.Sum and then those it is measured against.
func implementations() []implementation {
	return []implementation{
		{"xdpath", packet.Sum},
		{"gvisor", checksum.Checksum},
		{"wireguard", func(b []byte, initial uint16) uint16 { return wireguardSum(b, uint64(initial)) }},
		{"naive", naive},
	}
}

// wireguardSum is wireguard-go's, which the package does not export.
//
//go:linkname wireguardSum golang.zx2c4.com/wireguard/tun.checksum
func wireguardSum(b []byte, initial uint64) uint16

// naive is the definition: byte pairs, added and folded.
func naive(b []byte, initial uint16) uint16 {
	sum := uint32(initial)
	for len(b) >= 2 {
		sum += uint32(b[0])<<8 | uint32(b[1])
		sum = sum>>16 + sum&0xffff
		b = b[2:]
	}
	if len(b) == 1 {
		sum += uint32(b[0]) << 8
	}
	return uint16(sum>>16 + sum&0xffff)
}
