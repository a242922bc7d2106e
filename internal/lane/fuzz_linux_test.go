// SPDX-License-Identifier: MIT

package lane

import (
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
)

// FuzzParseControl: whatever the bytes are, parsing ends, does not reach beyond
// them, and what comes out is what a well-formed message in front says.
func FuzzParseControl(f *testing.F) {
	dst := netip.MustParseAddr("10.9.0.2")
	room := make([]byte, 4*sendRoom())
	whole := addSource(addHeaderFields(addSegment(room[:0], 1400), true, 1, 64), true, dst, 3)
	f.Add(whole)
	f.Add(whole[:len(whole)-1])
	f.Add(addControlBytes(unix.SOL_UDP, unix.UDP_GRO, []byte{0xff, 0xff, 0xff, 0xff}))
	f.Add(addControlBytes(unix.SOL_SOCKET, unix.SO_TIMESTAMPNS_NEW, make([]byte, 7)))
	f.Add(addControlBytes(unix.SOL_IPV6, unix.IPV6_PKTINFO, make([]byte, 19)))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, ctl []byte) {
		// Capped: a read beyond the end is a fault, not a stray byte.
		tail := append(make([]byte, 0, len(ctl)), ctl...)
		got := parseControl(tail[:len(tail):len(tail)])
		if got.segment < 0 {
			t.Errorf("segment %d", got.segment)
		}
		if got.dst.Is4In6() {
			t.Errorf("destination %v is in its mapped form", got.dst)
		}
		// Behind a good message the same bytes change nothing of it that they
		// do not say themselves.
		front := addControlBytes(unix.SOL_IP, unix.IP_TTL, []byte{77, 0, 0, 0})
		both := parseControl(append(front, ctl...))
		if alone := parseControl(front); got.ttl == 0 && both.ttl != 0 && both.ttl != alone.ttl {
			t.Errorf("TTL %d, want %d", both.ttl, alone.ttl)
		}
	})
}

func FuzzParseAddr(f *testing.F) {
	name := make([]byte, nameRoom)
	for _, to := range []string{"10.9.0.1:53", "[fd09::1]:53"} {
		n := putAddr(name, to[0] == '[', netip.MustParseAddrPort(to), 0)
		f.Add(append([]byte(nil), name[:n]...))
	}
	f.Fuzz(func(t *testing.T, name []byte) {
		from, scope := parseAddr(name)
		if !from.Addr().IsValid() {
			return
		}
		// What was understood is written the same way again.
		again := make([]byte, nameRoom)
		n := putAddr(again, len(name) >= unix.SizeofSockaddrInet6 && name[0]|name[1] == unix.AF_INET6, from, scope)
		if back, backScope := parseAddr(again[:n]); back != from || backScope != scope {
			t.Errorf("%v scope %d came back as %v scope %d", from, scope, back, backScope)
		}
	})
}

// addControlBytes is one control message with the given data.
func addControlBytes(level, kind int, data []byte) []byte {
	ctl, room := addControl(make([]byte, 0, unix.CmsgSpace(len(data))), level, kind, len(data))
	copy(room, data)
	return ctl
}
