// SPDX-License-Identifier: MIT

package packet

import (
	"errors"
	"fmt"
	"net/netip"
)

// Checksum says who computes the UDP checksum of what is sent.
type Checksum uint8

const (
	// Software computes it over header and payload as the headers are written.
	Software Checksum = iota
	// Omit writes 0, "no checksum". IPv6 does not allow it.
	Omit
	// Offload writes the sum over the pseudo-header; the device adds the rest
	// from [Template.ChecksumStart] on and stores the result [ChecksumOffset]
	// bytes behind it.
	Offload
)

// ChecksumOffset is where in the UDP header the checksum is, in bytes: the
// csum_offset of Linux' TX metadata.
const ChecksumOffset = 6

// ErrChecksumRequired says that UDP over IPv6 cannot go without checksum.
var ErrChecksumRequired = errors.New("UDP over IPv6 needs a checksum: use software or offload")

// String returns the mode in lower case.
func (c Checksum) String() string {
	switch c {
	case Software:
		return "software"
	case Omit:
		return "omit"
	case Offload:
		return "offload"
	}
	return fmt.Sprintf("checksum(%d)", uint8(c))
}

// Config describes the flow of which NewTemplate makes the headers.
type Config struct {
	SrcMAC MAC
	// DstMAC is the next hop's address. If it is zero and Dst is a multicast
	// group or 255.255.255.255, it is the group's (see GroupMAC).
	DstMAC MAC
	// Src and Dst are of one family; IPv4 in IPv6 form counts as IPv4 and zones
	// are left out.
	Src, Dst netip.AddrPort
	Tagged   bool   // put an 802.1Q tag
	TCI      uint16 // its contents: priority, drop eligibility, id
	TTL      uint8  // or hop limit; 0: 64, and 1 to a multicast group
	TOS      uint8  // or traffic class
	// Fragmentable leaves the don't-fragment bit of IPv4 clear. Each datagram
	// then needs an identification of its own: see [Template.SetID]. Otherwise
	// the bit is set and the identification 0, as RFC 6864 has it.
	Fragmentable bool
	Checksum     Checksum
}

func (c Config) withDefaults() Config {
	c.Src = netip.AddrPortFrom(c.Src.Addr().Unmap().WithZone(""), c.Src.Port())
	c.Dst = netip.AddrPortFrom(c.Dst.Addr().Unmap().WithZone(""), c.Dst.Port())
	if c.DstMAC == (MAC{}) {
		c.DstMAC, _ = GroupMAC(c.Dst.Addr())
	}
	if c.TTL == 0 {
		c.TTL = 64
		if c.Dst.Addr().IsMulticast() {
			c.TTL = 1
		}
	}
	return c
}

// validate names every field that is wrong, in the order of the fields.
func (c Config) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	src, dst := c.Src.Addr(), c.Dst.Addr()
	if c.SrcMAC == (MAC{}) || c.SrcMAC.IsGroup() {
		bad("SrcMAC %v: need the interface's own address", c.SrcMAC)
	}
	if c.DstMAC == (MAC{}) {
		bad("DstMAC %v: need the next hop's address", c.DstMAC)
	}
	if !src.IsValid() || src.IsUnspecified() || src.IsMulticast() || isLimitedBroadcast(src) {
		bad("Src %v: need an address of the interface", c.Src)
	}
	if !dst.IsValid() || dst.IsUnspecified() || c.Dst.Port() == 0 {
		bad("Dst %v: need an address and a port", c.Dst)
	}
	if src.IsValid() && dst.IsValid() && src.Is4() != dst.Is4() {
		bad("Src %v, Dst %v: need one address family", src, dst)
	}
	if !c.Tagged && c.TCI != 0 {
		bad("TCI %#04x: set Tagged as well", c.TCI)
	}
	if c.TCI&vlanMask == vlanMask {
		bad("TCI %#04x: VLAN id 4095 is reserved", c.TCI)
	}
	switch {
	case c.Checksum > Offload:
		bad("Checksum %v: need software, omit or offload", c.Checksum)
	case c.Checksum == Omit && dst.Is6():
		bad("Checksum %v: %w", c.Checksum, ErrChecksumRequired)
	}
	return errors.Join(errs...)
}
