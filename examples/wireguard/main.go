// SPDX-License-Identifier: MIT

// Wireguard is wireguard-go with its datagrams on AF_XDP: a tunnel that is set up
// with wg and ip as any other, over an interface that -i names.
//
//	wireguard -i eth0 -tun wg0 &
//	wg set wg0 listen-port 51820 private-key key peer ... allowed-ips ...
//	ip address add 10.0.0.1/24 dev wg0
//	ip link set wg0 up
//
// It is a module of its own, so that xdpath does not depend on WireGuard. What
// there is to see is in bind.go: wireguard-go asks for batches of datagrams, and a
// udp.Queue has them.
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"

	"golang.zx2c4.com/wireguard/device"
	"golang.zx2c4.com/wireguard/ipc"
	"golang.zx2c4.com/wireguard/tun"

	"github.com/xdpath/xdpath/udp"
)

func main() {
	lower := flag.String("i", "eth0", "interface that the tunnel's datagrams take")
	name := flag.String("tun", "wg0", "name of the tunnel's own interface")
	flag.Parse()
	if err := run(*lower, *name); err != nil {
		log.Fatal(err)
	}
}

func run(lower, name string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	tunnel, err := tun.CreateTUN(name, device.DefaultMTU)
	if err != nil {
		return err
	}
	d := device.NewDevice(tunnel, &bind{cfg: udp.Config{Interface: lower}}, device.NewLogger(device.LogLevelError, name+": "))
	defer d.Close()
	file, err := ipc.UAPIOpen(name) // where wg looks for us
	if err != nil {
		return err
	}
	wg, err := ipc.UAPIListen(name, file)
	if err != nil {
		return err
	}
	defer wg.Close()
	go accept(wg, d)
	select {
	case <-ctx.Done():
	case <-d.Wait(): // somebody deleted the tunnel
	}
	return nil
}

// accept does what wg says.
func accept(wg net.Listener, d *device.Device) {
	for {
		c, err := wg.Accept()
		if err != nil {
			return
		}
		go d.IpcHandle(c)
	}
}
