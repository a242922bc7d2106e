// SPDX-License-Identifier: MIT

package packet

// Verdict is what the UDP checksum of a datagram says. The zero value is Bad.
type Verdict uint8

const (
	// Bad: the datagram was damaged.
	Bad Verdict = iota
	// Good: header, addresses and payload are as the sender sent them.
	Good
	// None: the sender sent no checksum (IPv4 only).
	None
	// Partial: the field holds nothing but the sum over the pseudo-header. A
	// sender in the same machine, at the other end of a veth pair or behind
	// virtio, leaves the rest to a checksum offload that never comes. Between
	// such ends it means "not computed"; from a real wire it means Bad.
	Partial
)

// String returns the verdict in lower case.
func (v Verdict) String() string {
	switch v {
	case Bad:
		return "bad"
	case Good:
		return "good"
	case None:
		return "none"
	case Partial:
		return "partial"
	}
	return "unknown"
}

// Verify computes the UDP checksum over the frame that u was parsed from, given
// as its first segment and, of a datagram in several, the rest in their order.
// Segments may have any length. Fewer bytes than the datagram has are Bad.
func (u *UDP) Verify(first []byte, rest ...[]byte) Verdict {
	if !u.describes(first) {
		return Bad
	}
	if u.Checksum == 0 {
		if u.Src.Addr().Is4() {
			return None
		}
		return Bad
	}
	// One run from the addresses over the UDP header into the payload.
	start, end := u.Offset-udpLen-u.addrLen(), u.Offset+u.Length
	lengths := add16(protoUDP, uint16(u.Length+udpLen))
	var sum uint16
	if end <= len(first) {
		sum = Sum(first[start:end], lengths)
	} else {
		var ok bool
		if sum, ok = sumChain(first[start:], rest, end-start, lengths); !ok {
			return Bad
		}
	}
	switch {
	case sum == 0xffff:
		return Good
	case u.LooksPartial(first):
		return Partial
	}
	return Bad
}

// LooksPartial reports whether the checksum field holds exactly the sum over the
// pseudo-header. It reads no payload: where Partial is accepted anyway, asking
// this first saves the pass over the bytes. One undamaged datagram in 65,536
// looks partial by chance, and only Verify tells it from one that is.
func (u *UDP) LooksPartial(first []byte) bool {
	return u.describes(first) && u.Checksum == u.pseudoSum(first, u.Length)
}

// sumChain is SumSegments over n bytes that start in first and go on in rest.
// It is false if there are fewer.
func sumChain(first []byte, rest [][]byte, n int, initial uint16) (uint16, bool) {
	sum := Sum(first, initial)
	odd := len(first)&1 != 0
	n -= len(first)
	for _, s := range rest {
		s = s[:min(n, len(s))]
		n -= len(s)
		sum = addSegment(sum, s, odd)
		odd = odd != (len(s)&1 != 0)
	}
	return sum, n == 0
}
