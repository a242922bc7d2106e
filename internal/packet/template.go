// SPDX-License-Identifier: MIT

package packet

import (
	"encoding/binary"
	"fmt"
)

// maxLength is the most that the 16-bit length fields of IP and UDP can say.
const maxLength = 65535

// A Template holds the headers of a flow, ready to be stamped before payloads.
// It is a plain value and can be copied; the zero value stamps nothing. Any
// number of goroutines may stamp from one Template at the same time.
type Template struct {
	header [MaxHeaderLen]byte
	size   int // bytes of header in use
	ip     int // offset of the IP header
	udp    int // offset of the UDP header
	limit  int // most payload bytes
	v6     bool
	mode   Checksum
	// Ones'-complement sums of what no payload changes.
	ipSum     uint16 // IPv4 header, total length and checksum taken as 0
	pseudoSum uint16 // addresses and protocol
	udpSum    uint16 // pseudoSum and ports
}

// NewTemplate builds the headers for a flow. Its errors name the fields that
// are wrong.
func NewTemplate(cfg Config) (Template, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return Template{}, fmt.Errorf("packet: template: %w", err)
	}
	t := Template{ip: ethLen, v6: cfg.Dst.Addr().Is6(), mode: cfg.Checksum}
	t.putEthernet(cfg)
	if t.v6 {
		t.putIPv6(cfg)
	} else {
		t.putIPv4(cfg)
	}
	ports := t.header[t.udp:]
	binary.BigEndian.PutUint16(ports[0:], cfg.Src.Port())
	binary.BigEndian.PutUint16(ports[2:], cfg.Dst.Port())
	t.udpSum = Sum(ports[:4], t.pseudoSum)
	t.size = t.udp + udpLen
	return t, nil
}

func (t *Template) putEthernet(cfg Config) {
	b := t.header[:]
	copy(b[0:], cfg.DstMAC[:])
	copy(b[6:], cfg.SrcMAC[:])
	if cfg.Tagged {
		binary.BigEndian.PutUint16(b[12:], etherTag)
		binary.BigEndian.PutUint16(b[14:], cfg.TCI)
		t.ip += tagLen
	}
	kind := uint16(etherIPv4)
	if t.v6 {
		kind = etherIPv6
	}
	binary.BigEndian.PutUint16(b[t.ip-2:], kind)
}

func (t *Template) putIPv4(cfg Config) {
	b := t.header[t.ip:]
	src, dst := cfg.Src.Addr().As4(), cfg.Dst.Addr().As4()
	b[0], b[1] = 0x45, cfg.TOS
	if !cfg.Fragmentable {
		b[6] = flagDF
	}
	b[8], b[9] = cfg.TTL, protoUDP
	copy(b[12:], src[:])
	copy(b[16:], dst[:])
	t.udp = t.ip + ipv4Len
	t.limit = maxLength - ipv4Len - udpLen
	t.ipSum = Sum(b[:ipv4Len], 0)
	t.pseudoSum = Sum(b[12:ipv4Len], protoUDP)
}

func (t *Template) putIPv6(cfg Config) {
	b := t.header[t.ip:]
	src, dst := cfg.Src.Addr().As16(), cfg.Dst.Addr().As16()
	binary.BigEndian.PutUint32(b[0:], 6<<28|uint32(cfg.TOS)<<20) // flow label 0
	b[6], b[7] = protoUDP, cfg.TTL
	copy(b[8:], src[:])
	copy(b[24:], dst[:])
	t.udp = t.ip + ipv6Len
	t.limit = maxLength - udpLen
	t.pseudoSum = Sum(b[8:ipv6Len], protoUDP)
}

// Len returns the bytes that the headers take: 42 for IPv4, 62 for IPv6, four
// more with a tag.
func (t *Template) Len() int { return t.size }

// MaxPayload returns the most payload bytes that the length fields can tell:
// 65,507 for IPv4, 65,527 for IPv6. What the MTU allows is for the caller to
// know.
func (t *Template) MaxPayload() int { return t.limit }

// Checksum returns the mode that the template was made with.
func (t *Template) Checksum() Checksum { return t.mode }

// ChecksumStart returns the offset of the UDP header in the frame, in bytes:
// where an offload starts to sum (csum_start).
func (t *Template) ChecksumStart() int { return t.udp }
