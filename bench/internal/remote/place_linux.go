// SPDX-License-Identifier: MIT

package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/cpu"
	"github.com/xdpath/xdpath/internal/nic"
)

// look returns the facts of an interface.
func look(name string) (nic.Link, error) {
	n, err := nic.Open(name)
	if err != nil {
		return nic.Link{}, err
	}
	l, err := n.Link()
	return l, errors.Join(err, n.Close())
}

// ipv4 returns the IPv4 addresses of an interface, with their networks.
func ipv4(l nic.Link) ([]netip.Prefix, error) {
	addrs := slices.DeleteFunc(slices.Clone(l.Addrs), func(p netip.Prefix) bool { return !p.Addr().Is4() })
	if len(addrs) == 0 {
		return nil, fmt.Errorf("interface %s has no IPv4 address: ip addr add 10.9.0.1/24 dev %s gives it one", l.Name, l.Name)
	}
	return addrs, nil
}

// interfaceWith finds the interface that has an address.
func interfaceWith(addr netip.Addr) (string, error) {
	all, err := net.Interfaces()
	if err != nil {
		return "", fmt.Errorf("list interfaces: %w", err)
	}
	for _, ifi := range all {
		addrs, err := ifi.Addrs()
		if err != nil {
			continue // it went away
		}
		for _, a := range addrs {
			if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr() == addr.Unmap().WithZone("") {
				return ifi.Name, nil
			}
		}
	}
	return "", fmt.Errorf("no interface has address %s", addr)
}

// over tells whether a connection goes over an interface: it is the one with the
// connection's address, or the way back to the other end.
func over(c net.Conn, iface string) bool {
	if name, err := interfaceWith(addrOf(c.LocalAddr())); err == nil && name == iface {
		return true
	}
	to := addrOf(c.RemoteAddr())
	if !to.IsValid() {
		return false
	}
	routes, err := netlink.RouteGet(to.AsSlice())
	if err != nil || len(routes) == 0 {
		return false
	}
	l, err := net.InterfaceByIndex(routes[0].LinkIndex)
	return err == nil && l.Name == iface
}

// addrOf is the address of one end of a connection, not valid if it has none.
func addrOf(a net.Addr) netip.Addr {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	return tcp.AddrPort().Addr().Unmap()
}

// match chooses of two ends' addresses those that are in one network, or the first
// of each if none are.
func match(own, theirs []netip.Prefix) (netip.Prefix, netip.Addr) {
	for _, o := range own {
		for _, t := range theirs {
			if o.Contains(t.Addr()) && o.Addr() != t.Addr() {
				return o, t.Addr()
			}
		}
	}
	return own[0], theirs[0].Addr()
}

// neighbourWait bounds the wait for a neighbour to answer, and discard is a port that
// nobody has.
const (
	neighbourWait  = 5 * time.Second
	neighbourCheck = 10 * time.Millisecond
	neighbourAgain = 500 * time.Millisecond
	discard        = 9
)

// nextHop asks the kernel for the hardware address of whoever gets what is sent from
// one address to another, and has the kernel find out if it does not know.
func nextHop(ctx context.Context, iface nic.Link, from, to netip.Addr) (net.HardwareAddr, error) {
	hop, err := routeTo(iface, from, to)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, neighbourWait)
	defer cancel()
	tick := time.NewTicker(neighbourCheck)
	defer tick.Stop()
	for asked := (time.Time{}); ; {
		mac, err := neighbour(iface.Index, hop)
		if err != nil || mac != nil {
			return mac, err
		}
		if time.Since(asked) > neighbourAgain {
			asked = time.Now()
			if err := poke(from, to); err != nil {
				return nil, err
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("%s does not answer on %s: no neighbour after %v", hop, iface.Name, neighbourWait)
		}
	}
}

// routeTo returns where datagrams from one address to another go first. They must
// leave by the interface.
func routeTo(iface nic.Link, from, to netip.Addr) (netip.Addr, error) {
	routes, err := netlink.RouteGetWithOptions(to.AsSlice(), &netlink.RouteGetOptions{OifIndex: iface.Index, SrcAddr: from.AsSlice()})
	if err != nil {
		return netip.Addr{}, fmt.Errorf("look up route from %s to %s by %s: %w", from, to, iface.Name, err)
	}
	if len(routes) == 0 || routes[0].LinkIndex != iface.Index || routes[0].Type != unix.RTN_UNICAST {
		return netip.Addr{}, fmt.Errorf("there is no way from %s to %s by %s", from, to, iface.Name)
	}
	if gw, ok := netip.AddrFromSlice(routes[0].Gw); ok {
		return gw.Unmap(), nil
	}
	return to, nil
}

// neighbour returns the hardware address that the kernel has for addr, nil if it has
// none that it would use.
func neighbour(ifindex int, addr netip.Addr) (net.HardwareAddr, error) {
	const usable = unix.NUD_PERMANENT | unix.NUD_NOARP | unix.NUD_REACHABLE | unix.NUD_STALE | unix.NUD_DELAY | unix.NUD_PROBE
	all, err := netlink.NeighList(ifindex, unix.AF_INET)
	if err != nil {
		return nil, fmt.Errorf("list neighbours: %w", err)
	}
	for _, n := range all {
		if a, ok := netip.AddrFromSlice(n.IP); ok && a.Unmap() == addr && n.State&usable != 0 && len(n.HardwareAddr) == 6 {
			return n.HardwareAddr, nil
		}
	}
	return nil, nil
}

// poke sends an empty datagram to where nobody listens, for which the kernel must
// find the neighbour.
func poke(from, to netip.Addr) error {
	c, err := net.DialUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(from, 0)), net.UDPAddrFromAddrPort(netip.AddrPortFrom(to, discard)))
	if err != nil {
		return fmt.Errorf("send from %s to %s: %w", from, to, err)
	}
	_, _ = c.Write(nil) // an answer that there is nobody is as good as none
	return c.Close()
}

// listen is how long a server looks at what else its machine does.
const listen = 200 * time.Millisecond

// place finds out what a server tells a client that has asked for a session over a
// connection with these addresses. The interface is that of the connection unless it
// has a name.
func place(ctx context.Context, name string, local, remote net.Addr, open control.Open) (control.Welcome, error) {
	if name == "" {
		var err error
		if name, err = interfaceWith(addrOf(local)); err != nil {
			return control.Welcome{}, err
		}
	}
	l, err := look(name)
	if err != nil {
		return control.Welcome{}, err
	}
	if len(l.MAC) != 6 {
		return control.Welcome{}, fmt.Errorf("%s, by which the client has come, is no Ethernet interface: say which one to use, bench serve -i eth0", name)
	}
	addrs, err := ipv4(l)
	if err != nil {
		return control.Welcome{}, err
	}
	own, theirs := match(addrs, open.Addrs)
	// The token's owner shall not have us send to whom he likes.
	if !own.Contains(theirs) && theirs != addrOf(remote) {
		return control.Welcome{}, fmt.Errorf("%s is neither in a network of %s nor where the client is", theirs, name)
	}
	hop, err := nextHop(ctx, l, own.Addr(), theirs)
	if err != nil {
		return control.Welcome{}, err
	}
	busy, err := cpu.Watch(ctx, listen)
	return control.Welcome{
		Interface: name, Addr: own.Addr(), Client: theirs, MAC: l.MAC.String(), NextHop: hop.String(),
		MTU: l.MTU, Busy: busy.Utilization(),
	}, err
}
