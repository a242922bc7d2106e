// SPDX-License-Identifier: MIT

package testnet

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// End is one interface and the namespace it is in. The methods find the interface
// by its index, so they go on working if a test renames it behind their back.
// Name, MAC and NS follow the changes made by methods of this End, and only these;
// an End must therefore not be changed from two goroutines at once.
type End struct {
	NS    *NS
	Name  string
	Index int // in NS
	MAC   net.HardwareAddr
	IP4   netip.Addr // the address it was made with
	IP6   netip.Addr // the same, not valid without IPv6
}

// link reads the interface afresh.
func (e *End) link() (link netlink.Link, err error) {
	err = e.NS.route(func(h *netlink.Handle) error {
		link, err = h.LinkByIndex(e.Index)
		return err
	})
	return link, err
}

// change runs one change on the interface, and names the step if it fails.
func (e *End) change(step string, f func(h *netlink.Handle, link netlink.Link) error) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.Index = e.Name, e.Index
	err := e.NS.route(func(h *netlink.Handle) error { return f(h, &netlink.Device{LinkAttrs: attrs}) })
	if err != nil {
		return fmt.Errorf("testnet: %s %s: %w", step, e.Name, err)
	}
	return nil
}

// isGone tells the errors that mean the interface or its namespace is no more.
func isGone(err error) bool {
	var missing netlink.LinkNotFoundError
	return errors.Is(err, unix.ENODEV) || errors.Is(err, net.ErrClosed) || errors.As(err, &missing)
}

// SetUp sets the interface administratively up or down. It does not wait for
// carrier: the other end decides that too. See WaitUp.
func (e *End) SetUp(up bool) error {
	if up {
		return e.change("set up", (*netlink.Handle).LinkSetUp)
	}
	return e.change("set down", (*netlink.Handle).LinkSetDown)
}

// WaitUp waits until the interface is up, has carrier and passes packets, and fails
// after ten seconds.
func (e *End) WaitUp() error { return e.waitRunning(carrierWait) }

// SetMTU sets the MTU of this end only, in bytes.
func (e *End) SetMTU(mtu int) error {
	return e.change(fmt.Sprintf("set MTU %d of", mtu), func(h *netlink.Handle, link netlink.Link) error {
		return h.LinkSetMTU(link, mtu)
	})
}

// SetMAC sets the address of the interface. What neighbours have cached goes stale.
func (e *End) SetMAC(mac net.HardwareAddr) error {
	err := e.change(fmt.Sprintf("set address %v of", mac), func(h *netlink.Handle, link netlink.Link) error {
		return h.LinkSetHardwareAddr(link, mac)
	})
	if err == nil {
		e.MAC = append(net.HardwareAddr(nil), mac...)
	}
	return err
}

// Rename gives the interface another name.
func (e *End) Rename(name string) error {
	err := e.change("rename to "+name, func(h *netlink.Handle, link netlink.Link) error {
		return h.LinkSetName(link, name)
	})
	if err == nil {
		e.Name = name
	}
	return err
}

// SetPromiscuous makes the interface accept frames for all addresses, or not.
func (e *End) SetPromiscuous(on bool) error {
	if on {
		return e.change("set promiscuous", (*netlink.Handle).SetPromiscOn)
	}
	return e.change("set not promiscuous", (*netlink.Handle).SetPromiscOff)
}

// Move takes the interface into another namespace, where it is down and has no
// addresses. The End then means it there; the old namespace stays the caller's to
// close, the new one is not closed with the Pair.
func (e *End) Move(to *NS) error {
	fd := to.FD()
	err := e.change("move", func(h *netlink.Handle, link netlink.Link) error {
		return h.LinkSetNsFd(link, fd)
	})
	if err != nil {
		return err
	}
	e.NS = to
	link, err := e.lookup()
	if err != nil {
		return err
	}
	e.Index = link.Attrs().Index // kept where it was free there
	return nil
}

// Delete removes the interface, and the other end of its veth with it.
func (e *End) Delete() error {
	return e.change("delete", (*netlink.Handle).LinkDel)
}

// AddMacvlan puts a macvlan in bridge mode on the interface, in the same namespace,
// up. A macvlan has no native XDP: it stands for stacked devices. It dies with the
// interface under it.
func (e *End) AddMacvlan(addr netip.Prefix) (End, error) {
	name, _ := newNames("mv")
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.ParentIndex = name, e.Index
	upper := End{NS: e.NS, Name: name}
	if addr.Addr().Is4() {
		upper.IP4 = addr.Addr()
	} else {
		upper.IP6 = addr.Addr()
	}
	err := e.change("add macvlan "+name+" on", func(h *netlink.Handle, _ netlink.Link) error {
		return h.LinkAdd(&netlink.Macvlan{LinkAttrs: attrs, Mode: netlink.MACVLAN_MODE_BRIDGE})
	})
	if err != nil {
		return End{}, err
	}
	link, err := upper.lookup()
	if err != nil {
		return End{}, err
	}
	upper.Index, upper.MAC = link.Attrs().Index, link.Attrs().HardwareAddr
	if err := errors.Join(upper.AddAddr(addr), upper.SetUp(true)); err != nil {
		return End{}, err
	}
	return upper, upper.WaitUp()
}
