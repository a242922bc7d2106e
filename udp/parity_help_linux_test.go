// SPDX-License-Identifier: MIT

package udp

import (
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/xdpath/xdpath/internal/testnet"
)

func deadline() time.Time { return time.Now().Add(patience) }

// eventually waits for what happens by itself.
func (r *rig) eventually(what string, is func() bool) {
	r.Helper()
	for giveUp := deadline(); !is(); time.Sleep(100 * time.Microsecond) {
		if time.Now().After(giveUp) {
			r.Fatalf("%s: not in %v", what, patience)
		}
	}
}

// direct waits until ours has heard of what the kernel knows of the way to dst.
func (r *rig) direct(s socket, dst netip.AddrPort) {
	r.Helper()
	if p, ok := s.(*PacketConn); ok && r.kind == xdpathSocket {
		r.eventually("fast lane to "+dst.String(), func() bool { return p.c.to(dst, netip.Addr{}).MaxPayload() > 0 })
	}
}

// linkLocal is the link-local address of an end, without its zone.
func (r *rig) linkLocal(end testnet.End) (found netip.Addr) {
	r.Helper()
	err := end.NS.Do(func() error {
		link, err := net.InterfaceByName(end.Name)
		if err != nil {
			return err
		}
		addrs, err := link.Addrs()
		for _, a := range addrs {
			if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().IsLinkLocalUnicast() {
				found = p.Addr()
			}
		}
		return err
	})
	if err != nil || !found.IsValid() {
		r.Fatalf("link-local address of %s: %v, %v", end.Name, found, err)
	}
	return found
}

// sendIn sends from a thread in the end's namespace: package net looks there for
// the zones of addresses.
func (r *rig) sendIn(end testnet.End, from *net.UDPConn, to netip.Addr, text string) {
	r.Helper()
	err := end.NS.Do(func() error {
		_, err := from.WriteToUDPAddrPort([]byte(text), r.at(to))
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
}

// toLinkLocal sends to the peer's link-local address, with a zone as zone makes it.
func (r *rig) toLinkLocal(zone func(name string) string) string {
	r.Helper()
	s, peer := r.listen(r.at(any6)), r.peerAt(netip.AddrPortFrom(any6, r.peerPort))
	name := zone(r.pair.B.Name)
	one := r.toLinkLocalBy(s, peer, name, "one")
	r.direct(s, netip.AddrPortFrom(r.linkLocal(r.pair.A).WithZone(name), r.peerPort))
	two := r.toLinkLocalBy(s, peer, name, "two")
	if one == `ok, "one" from fe80` && two == `ok, "two" from fe80` {
		return `ok ok, "one" "two" from fe80`
	}
	return one + ", " + two
}

func (r *rig) toLinkLocalBy(s socket, peer *net.UDPConn, zone, text string) string {
	r.Helper()
	to := netip.AddrPortFrom(r.linkLocal(r.pair.A).WithZone(zone), r.peerPort)
	var err error
	if e := r.pair.B.NS.Do(func() error { err = write(s, to, text); return nil }); e != nil {
		r.Fatal(e)
	}
	if err != nil {
		return r.told(err)
	}
	peer.SetReadDeadline(deadline())
	n, src, err := peer.ReadFromUDPAddrPort(r.buf)
	if err != nil {
		return r.told(err)
	}
	return fmt.Sprintf("ok, %q from %s", r.buf[:n], r.place(src.Addr().WithZone("")))
}
