// SPDX-License-Identifier: MIT

package frames

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

var target = Target{
	MAC:    [6]byte{0x02, 0, 0, 0, 0, 0xbb},
	IP4:    netip.MustParseAddr("10.9.0.2"),
	IP6:    netip.MustParseAddr("fd09::2"),
	Group4: netip.MustParseAddr("239.129.2.3"),
	Group6: netip.MustParseAddr("ff02::1:3"),
	Port:   5000,
	VLAN:   7,
}

// The right frames are right to gopacket: layers, lengths, checksums.
func TestFramesAgainstGopacket(t *testing.T) {
	for _, n := range []int{0, 1, 7, 8, 1472} {
		for _, f := range []Frame{target.UDP4(make([]byte, n)), target.UDP6(make([]byte, n))} {
			b := f.Bytes()
			packet := gopacket.NewPacket(b, layers.LayerTypeEthernet, gopacket.Default)
			if e := packet.ErrorLayer(); e != nil {
				t.Fatalf("%d bytes: %v", n, e.Error())
			}
			u, ok := packet.Layer(layers.LayerTypeUDP).(*layers.UDP)
			if !ok || uint16(u.DstPort) != target.Port || len(u.Payload) != n || packet.Metadata().Truncated {
				t.Fatalf("%d bytes: %v", n, packet)
			}
			if err := u.SetNetworkLayerForChecksum(packet.NetworkLayer()); err != nil {
				t.Fatal(err)
			}
			if err, bad := packet.VerifyChecksums(); err != nil || len(bad) != 0 {
				t.Errorf("%d bytes: %v, %v", n, err, bad)
			}
		}
	}
}

// Random frames repeat with their seed, and none is shorter than the kernel takes.
func TestRandomRepeats(t *testing.T) {
	a, b := rand.New(rand.NewPCG(1, 2)), rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		x, y := target.Random(a), target.Random(b)
		if string(x) != string(y) {
			t.Fatalf("differ:\n%x\n%x", x, y)
		}
		if len(x) < 14 {
			t.Fatalf("too short: %x", x)
		}
	}
}
