// SPDX-License-Identifier: MIT

package packet

// Reason says why a frame is not a UDP datagram that Parse decodes: one value
// for each cause, so that each can have its counter.
type Reason uint8

// The reasons, in the order in which Parse looks for them. Malformed frames are
// those that a Linux kernel drops as well; the others are the kernel's to handle.
const (
	OK              Reason = iota // a UDP datagram
	Truncated                     // the frame ends before its headers or their lengths say
	SplitHeaders                  // the headers go on in the second segment
	DoubleTag                     // a second tag, or an 802.1ad tag
	NotIP                         // another protocol on Ethernet
	BadVersion                    // IP version and Ethernet type disagree
	BadHeaderLength               // IPv4 header shorter than 20 bytes
	BadIPChecksum                 // IPv4 header checksum wrong
	BadIPLength                   // IPv4 total length shorter than the header
	BadSource                     // source address that nobody can have
	Fragment                      // a fragment of a datagram
	Options                       // IPv4 options
	ExtensionHeader               // IPv6 extension headers
	NotUDP                        // another protocol on IP
	BadUDPLength                  // UDP length below 8 or beyond the IP payload
	ZeroChecksum                  // UDP over IPv6 without checksum (RFC 8200, 8.1)
	numReasons
)

// NumReasons is the number of reasons: the length of an array indexed by them.
const NumReasons = int(numReasons)

// Malformed reports whether the frame breaks the rules of its own protocols, as
// opposed to being well-formed and none of ours (NotIP, DoubleTag, Fragment,
// Options, ExtensionHeader, NotUDP) or badly cut up by the caller
// (SplitHeaders).
func (r Reason) Malformed() bool {
	switch r {
	case Truncated, BadVersion, BadHeaderLength, BadIPChecksum, BadIPLength,
		BadSource, BadUDPLength, ZeroChecksum:
		return true
	}
	return false
}

// String returns a short lower-case name, fit for a counter's label.
func (r Reason) String() string {
	switch r {
	case OK:
		return "ok"
	case Truncated:
		return "truncated"
	case SplitHeaders:
		return "split headers"
	case DoubleTag:
		return "double tag"
	case NotIP:
		return "not IP"
	case BadVersion:
		return "bad IP version"
	case BadHeaderLength:
		return "bad IP header length"
	case BadIPChecksum:
		return "bad IP header checksum"
	case BadIPLength:
		return "bad IP length"
	case BadSource:
		return "bad source address"
	case Fragment:
		return "fragment"
	case Options:
		return "IP options"
	case ExtensionHeader:
		return "extension header"
	case NotUDP:
		return "not UDP"
	case BadUDPLength:
		return "bad UDP length"
	case ZeroChecksum:
		return "zero UDP checksum"
	}
	return "unknown"
}
