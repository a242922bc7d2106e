// SPDX-License-Identifier: MIT

package testnet

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// AddAddr adds an address with its network. An IPv6 address is usable at once.
func (e *End) AddAddr(addr netip.Prefix) error {
	return e.change(fmt.Sprintf("add address %v to", addr), func(h *netlink.Handle, link netlink.Link) error {
		a := netlinkAddr(addr)
		if addr.Addr().Is6() {
			a.Flags = unix.IFA_F_NODAD
		}
		return h.AddrAdd(link, a)
	})
}

// DelAddr removes an address that was added with the same network.
func (e *End) DelAddr(addr netip.Prefix) error {
	return e.change(fmt.Sprintf("remove address %v from", addr), func(h *netlink.Handle, link netlink.Link) error {
		return h.AddrDel(link, netlinkAddr(addr))
	})
}

func netlinkAddr(p netip.Prefix) *netlink.Addr {
	ip := net.IP(p.Addr().AsSlice())
	return &netlink.Addr{IPNet: &net.IPNet{IP: ip, Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}}
}

// AddRoute adds a route to a network through a gateway on this link.
func (e *End) AddRoute(dst netip.Prefix, via netip.Addr) error {
	return e.change(fmt.Sprintf("add route %v via %v on", dst, via), func(h *netlink.Handle, _ netlink.Link) error {
		return h.RouteReplace(&netlink.Route{
			LinkIndex: e.Index,
			Dst:       netlinkAddr(dst.Masked()).IPNet,
			Gw:        net.IP(via.AsSlice()),
		})
	})
}

// AddNeigh makes ip a permanent neighbour, so that no ARP or neighbour discovery
// is seen for it.
func (e *End) AddNeigh(ip netip.Addr, mac net.HardwareAddr) error {
	return e.change(fmt.Sprintf("add neighbour %v of", ip), func(h *netlink.Handle, _ netlink.Link) error {
		return h.NeighSet(e.neigh(ip, mac))
	})
}

// DelNeigh removes one neighbour, permanent or learnt.
func (e *End) DelNeigh(ip netip.Addr) error {
	return e.change(fmt.Sprintf("remove neighbour %v of", ip), func(h *netlink.Handle, _ netlink.Link) error {
		return h.NeighDel(e.neigh(ip, nil))
	})
}

func (e *End) neigh(ip netip.Addr, mac net.HardwareAddr) *netlink.Neigh {
	return &netlink.Neigh{
		LinkIndex:    e.Index,
		Family:       family(ip),
		State:        netlink.NUD_PERMANENT,
		IP:           net.IP(ip.AsSlice()),
		HardwareAddr: mac,
	}
}

func family(ip netip.Addr) int {
	if ip.Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

// FlushNeigh removes every neighbour of the interface that the kernel resolved or
// that AddNeigh added. Entries that need no resolution (multicast) stay.
func (e *End) FlushNeigh() error {
	return e.change("flush neighbours of", func(h *netlink.Handle, _ netlink.Link) error {
		for _, fam := range []int{unix.AF_INET, unix.AF_INET6} {
			neighs, err := h.NeighList(e.Index, fam)
			if err != nil {
				return err
			}
			for i := range neighs {
				if neighs[i].State == netlink.NUD_NOARP {
					continue
				}
				// Gone meanwhile is as good as deleted.
				if err := h.NeighDel(&neighs[i]); err != nil && err != unix.ENOENT {
					return err
				}
			}
		}
		return nil
	})
}
