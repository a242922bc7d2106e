// SPDX-License-Identifier: MIT

package device

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/xdpath/xdpath/examples/camera/gv"
)

// Open makes a camera on an interface, which must have an IPv4 address. Nothing
// happens before Run.
func Open(ctx context.Context, cfg Config) (*Device, error) {
	ifi, prefix, err := address(cfg.Interface)
	if err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults(ifi.MTU)
	if err := cfg.validate(ifi.MTU); err != nil {
		return nil, err
	}
	d := &Device{cfg: cfg, store: newStore(cfg.Images, cfg.place()), resends: make(chan gv.Resend, backlog)}
	if cfg.Via == Socket {
		d.out, err = openSocket(cfg, prefix.Addr(), ifi.MTU)
	} else {
		d.out, err = openXDP(ctx, cfg, prefix.Addr(), ifi.MTU)
	}
	if err != nil {
		return nil, err
	}
	if d.socket, err = listen(ctx, cfg.Interface, cfg.Port); err != nil {
		return nil, errors.Join(err, d.out.close())
	}
	d.control = newControl(d, gv.Identity{
		MAC: ifi.HardwareAddr, IP: prefix.Addr(), Mask: mask(prefix), Gateway: netip.IPv4Unspecified(),
		Manufacturer: "xdpath", Model: "Camera", Version: "1", Info: "a virtual camera", Serial: cfg.Serial,
	}, cfg.settings(), time.Now())
	d.control.set(gv.RegSCSP, uint32(d.out.port()))
	d.change(cfg.settings())
	return d, nil
}

// address finds the interface and its first IPv4 address.
func address(name string) (*net.Interface, netip.Prefix, error) {
	ifi, err := net.InterfaceByName(name)
	if err != nil {
		return nil, netip.Prefix{}, fmt.Errorf("device: interface %s: %w", name, err)
	}
	addrs, err := ifi.Addrs()
	if err != nil {
		return nil, netip.Prefix{}, fmt.Errorf("device: interface %s: %w", name, err)
	}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Unmap().Is4() {
			return ifi, p, nil
		}
	}
	return nil, netip.Prefix{}, fmt.Errorf("device: interface %s: a camera needs an IPv4 address, and it has none", name)
}

func mask(p netip.Prefix) netip.Addr {
	return netip.AddrFrom4([4]byte(net.CIDRMask(p.Bits(), 32)))
}
