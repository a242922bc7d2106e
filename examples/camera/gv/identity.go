// SPDX-License-Identifier: MIT

package gv

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"unicode/utf8"
)

// Identity is what a camera says of itself: the first [DiscoveryLen] bytes of its
// registers, which also are its answer to a Discovery.
type Identity struct {
	MAC                                              net.HardwareAddr
	IP, Mask, Gateway                                netip.Addr // IPv4
	Manufacturer, Model, Version, Info, Serial, Name string
}

// text is one of the texts of an Identity: where it is, and how long it may be.
type text struct {
	at, size int
	value    *string
}

func (i *Identity) texts() []text {
	return []text{
		{RegManufacturer, 32, &i.Manufacturer}, {RegModel, 32, &i.Model}, {RegDevice, 32, &i.Version},
		{RegInfo, 48, &i.Info}, {RegSerial, 16, &i.Serial}, {RegUserName, 16, &i.Name},
	}
}

// Put writes the registers to b, which must have room for [DiscoveryLen] bytes.
// Texts that are too long are cut.
func (i Identity) Put(b []byte) {
	clear(b[:DiscoveryLen])
	binary.BigEndian.PutUint32(b[RegVersion:], 2<<16)
	binary.BigEndian.PutUint32(b[RegDeviceMode:], ModeBigEndian|ModeUTF8)
	copy(b[RegMACHigh+2:RegMACLow+4], i.MAC)
	binary.BigEndian.PutUint32(b[RegIPOptions:], IPOptionsStatic)
	binary.BigEndian.PutUint32(b[RegIPConfig:], IPOptionsStatic)
	for at, a := range map[int]netip.Addr{RegIP: i.IP, RegMask: i.Mask, RegGateway: i.Gateway} {
		if a.Unmap().Is4() {
			copy(b[at:at+4], a.Unmap().AsSlice())
		}
	}
	for _, t := range i.texts() {
		s := *t.value
		for len(s) > t.size-1 { // it ends with a zero
			_, n := utf8.DecodeLastRuneInString(s)
			s = s[:len(s)-n]
		}
		copy(b[t.at:], s)
	}
}

// ParseIdentity reads what Put writes.
//
// Errors: [ErrMalformed].
func ParseIdentity(b []byte) (Identity, error) {
	if len(b) < DiscoveryLen {
		return Identity{}, fmt.Errorf("gv: %d bytes of registers, want %d: %w", len(b), DiscoveryLen, ErrMalformed)
	}
	i := Identity{
		MAC: net.HardwareAddr(bytes.Clone(b[RegMACHigh+2 : RegMACLow+4])),
		IP:  address(b[RegIP:]), Mask: address(b[RegMask:]), Gateway: address(b[RegGateway:]),
	}
	for _, t := range i.texts() {
		s, _, _ := strings.Cut(string(b[t.at:t.at+t.size]), "\x00")
		*t.value = strings.ToValidUTF8(s, "\ufffd")
	}
	return i, nil
}

func address(b []byte) netip.Addr { return netip.AddrFrom4([4]byte(b[:4])) }
