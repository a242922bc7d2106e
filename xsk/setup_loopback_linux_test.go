// SPDX-License-Identifier: MIT

package xsk

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/internal/testnet"
)

// Case 24: what AF_XDP sends on a loopback interface would be counted as sent and
// never arrive, so that sending there is refused, with what to do instead;
// receiving works.
func TestSetupLoopback(t *testing.T) {
	testnet.Leaks(t)
	ns := testnet.TestPair(t, testnet.Config{}).B.NS
	lo := testnet.End{NS: ns, Name: "lo", Index: 1}
	for _, d := range []Direction{Both, TransmitOnly} {
		fails(t, lo, Config{Interface: "lo", Direction: d}, unix.EOPNOTSUPP, "lo", "loopback", "ordinary socket", "ReceiveOnly")
	}
	s := openIn(t, ns, Config{Interface: "lo", Direction: ReceiveOnly})
	redirect(t, lo, bpf.Config{}, s)
	err := ns.Do(func() error {
		c, err := net.DialUDP("udp4", nil, &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
		if err != nil {
			return err
		}
		defer c.Close()
		for i := range 20 {
			b := make([]byte, 64)
			fillPayload(b, uint64(i))
			if _, err := c.Write(b); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, seq := range collect(t, s, 20) {
		if seq != uint64(i) {
			t.Errorf("datagram %d is number %d", i, seq)
		}
	}
}
