// SPDX-License-Identifier: MIT

// Hello prints sender and length of the UDP datagrams that come to a port,
// taken from the driver past the kernel's network stack, until Ctrl-C.
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/netip"
	"os"
	"os/signal"

	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/umem"
	"github.com/xdpath/xdpath/xsk"
)

func main() {
	name := flag.String("i", "eth0", "interface")
	queue := flag.Int("queue", 0, "its receive queue")
	port := flag.String("port", "5000", "UDP port, of any IPv4 address")
	flag.Parse()
	if err := hello(*name, *queue, *port); err != nil {
		log.Fatal(err)
	}
}

func hello(name string, queue int, port string) (err error) {
	to, err := netip.ParseAddrPort("0.0.0.0:" + port)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	s, err := xsk.Open(xsk.Config{Interface: name, Queue: queue})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	p, err := bpf.Attach(bpf.Config{Interface: name, Queues: queue + 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }() // runs first: nothing is redirected to a closed socket
	if err := errors.Join(p.SetQueue(queue, s.FD()), p.Allow(bpf.Filter{Addr: to})); err != nil {
		return err
	}
	frames := make([]umem.Frame, 64)
	for {
		n, err := s.ReceiveContext(ctx, frames)
		if errors.Is(err, context.Canceled) {
			return nil // Ctrl-C
		}
		if err != nil {
			return err
		}
		for _, f := range frames[:n] {
			b, err := s.Area().Bytes(f) // where the driver wrote it; ours until Release
			if err != nil {
				return err
			}
			ip := b[14:] // past Ethernet; the program redirects only whole UDP datagrams on IPv4 without options
			if b[12] == 0x81 {
				ip = b[18:] // past a priority tag
			}
			from := netip.AddrPortFrom(netip.AddrFrom4([4]byte(ip[12:])), binary.BigEndian.Uint16(ip[20:]))
			fmt.Println(from, binary.BigEndian.Uint16(ip[24:])-8, "bytes")
		}
		if err := s.Release(frames[:n]); err != nil {
			return err
		}
	}
}
