// SPDX-License-Identifier: MIT

package testnet

import (
	"net"
	"testing"
	"time"
)

func TestPairCarriesUDP(t *testing.T) {
	for _, tc := range []struct {
		name string
		cfg  Config
	}{
		{"defaults", Config{}},
		{"queues and MTU", Config{Queues: 4, MTU: 9000}},
		{"IPv6", Config{IPv6: true}},
		{"many queues", Config{Queues: 20, Prefix: "longest8"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := TestPair(t, tc.cfg)
			exchange(t, p.A.NS, p.A.IP4.AsSlice(), p.B.NS, p.B.IP4.AsSlice())
			if tc.cfg.IPv6 {
				exchange(t, p.A.NS, p.A.IP6.AsSlice(), p.B.NS, p.B.IP6.AsSlice())
			}
		})
	}
}

// exchange sends one datagram at once, with no retry: a new pair must not lose it.
func exchange(t *testing.T, from *NS, src net.IP, to *NS, dst net.IP) {
	t.Helper()
	rx := listen(t, to, dst)
	tx := listen(t, from, src)
	if _, err := tx.WriteTo([]byte("hello"), rx.LocalAddr()); err != nil {
		t.Fatal(err)
	}
	if err := rx.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 100)
	n, addr, err := rx.ReadFrom(buf)
	if err != nil {
		t.Fatalf("receive from %v: %v", src, err)
	}
	if string(buf[:n]) != "hello" || addr.String() != tx.LocalAddr().String() {
		t.Errorf("got %q from %v, want hello from %v", buf[:n], addr, tx.LocalAddr())
	}
}

func listen(t *testing.T, ns *NS, ip net.IP) *net.UDPConn {
	t.Helper()
	var c *net.UDPConn
	err := ns.Do(func() (err error) {
		c, err = net.ListenUDP("udp", &net.UDPAddr{IP: ip})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}
