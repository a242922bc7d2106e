// SPDX-License-Identifier: MIT

// Hello prints sender and length of the UDP datagrams that come to a port, taken
// from the driver past the kernel's network stack, until Ctrl-C. What AF_XDP
// cannot take (fragments, say) comes by the kernel, out of the same call.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/netip"
	"os"
	"os/signal"

	"github.com/xdpath/xdpath/udp"
)

func main() {
	name := flag.String("i", "eth0", "interface")
	port := flag.String("port", "5000", "UDP port")
	flag.Parse()
	if err := hello(*name, *port); err != nil {
		log.Fatal(err)
	}
}

func hello(name, port string) error {
	local, err := netip.ParseAddrPort("0.0.0.0:" + port) // any address of this host
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	c, err := udp.Listen(ctx, udp.Config{Interface: name, Local: local})
	if err != nil {
		return err
	}
	defer c.Close()
	log.Println(c.Info()) // what was obtained: mode, queues

	p := c.PacketConn() // a net.PacketConn; c.Queues() receive and send without a copy
	context.AfterFunc(ctx, func() { p.Close() })
	buf := make([]byte, 1<<16)
	for {
		n, from, err := p.ReadFromUDPAddrPort(buf)
		if errors.Is(err, net.ErrClosed) {
			return nil // Ctrl-C
		}
		if err != nil {
			return err
		}
		fmt.Println(from, n, "bytes")
	}
}
