// SPDX-License-Identifier: MIT

package lane

import (
	"fmt"
	"net"
	"net/netip"
	"testing"
)

// BenchmarkLoopback sends datagrams of 64 bytes to itself and receives them, beside a
// socket of package net. Sending includes the kernel's whole way up to the receive
// buffer; none of it is the wire.
func BenchmarkLoopback(b *testing.B) {
	for _, batch := range []int{1, 8, 64} {
		for _, connected := range []bool{false, true} {
			b.Run(fmt.Sprintf("lane/connected=%t/batch=%d", connected, batch), func(b *testing.B) {
				exchangeBatches(b, batch, connected)
			})
		}
	}
	b.Run("segments=64", exchangeSegments)
	b.Run("udpconn", exchangeOneByOne)
}

func loopbackLane(b *testing.B, cfg Config) *Lane {
	b.Helper()
	cfg.Local = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), cfg.Local.Port())
	l, err := Open(cfg)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	return l
}

func exchangeBatches(b *testing.B, batch int, connected bool) {
	to := loopbackLane(b, Config{})
	cfg := Config{}
	if connected {
		cfg.Remote = to.LocalAddr()
	}
	from := loopbackLane(b, cfg)
	out, in := make([]Outgoing, batch), make([]Message, batch)
	for i := range out {
		out[i] = Outgoing{Payload: pattern(64), Dst: to.LocalAddr()}
	}
	b.ReportAllocs()
	for b.Loop() {
		if n, err := from.Send(out); n != batch || err != nil {
			b.Fatal(n, err)
		}
		drain(b, to, in, batch)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batch), "ns/datagram")
}

func exchangeSegments(b *testing.B) {
	const batch = 64
	to, from := loopbackLane(b, Config{GRO: true}), loopbackLane(b, Config{})
	out, in := Outgoing{Payload: pattern(64 * batch), Dst: to.LocalAddr()}, make([]Message, batch)
	b.ReportAllocs()
	for b.Loop() {
		if n, err := from.SendSegments(out, 64); n != batch || err != nil {
			b.Fatal(n, err)
		}
		drain(b, to, in, batch)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batch), "ns/datagram")
}

func drain(b *testing.B, l *Lane, in []Message, want int) {
	for got := 0; got < want; {
		n, err := l.Receive(in)
		if err != nil {
			b.Fatal(err)
		}
		l.Release(in[:n])
		got += n
	}
}

func exchangeOneByOne(b *testing.B) {
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	self, buf := addrOf(c), make([]byte, 2048)
	payload := pattern(64)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.WriteToUDPAddrPort(payload, self); err != nil {
			b.Fatal(err)
		}
		if _, _, err := c.ReadFromUDPAddrPort(buf); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N), "ns/datagram")
}
