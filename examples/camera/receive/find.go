// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/xdpath/xdpath/examples/camera/control"
)

// answers is how long cameras may take to answer a broadcast.
const answers = time.Second

// find returns the camera's address: the one given, or that of the only camera that
// answers on the interface.
func find(ctx context.Context, cfg config) (netip.Addr, error) {
	if cfg.camera.IsValid() {
		return cfg.camera, nil
	}
	local, err := address(cfg.iface)
	if err != nil {
		return netip.Addr{}, err
	}
	found, err := control.Discover(ctx, local, answers)
	if err != nil {
		return netip.Addr{}, err
	}
	switch len(found) {
	case 0:
		return netip.Addr{}, fmt.Errorf("receive: no camera answers on %s; if there is one, give its address with -camera", cfg.iface)
	case 1:
		return found[0].From.Addr(), nil
	}
	errs := []error{errors.New("receive: several cameras answer, choose one with -camera")}
	for _, f := range found {
		errs = append(errs, errors.New(f.String()))
	}
	return netip.Addr{}, errors.Join(errs...)
}

// address is the first IPv4 address of an interface.
func address(name string) (netip.Addr, error) {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("receive: interface %s: %w", name, err)
	}
	if i.Flags&net.FlagUp == 0 {
		return netip.Addr{}, fmt.Errorf("receive: interface %s is down: ip link set %s up", name, name)
	}
	addrs, err := i.Addrs()
	if err != nil {
		return netip.Addr{}, fmt.Errorf("receive: interface %s: %w", name, err)
	}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is4() {
			return p.Addr(), nil
		}
	}
	return netip.Addr{}, fmt.Errorf("receive: interface %s has no IPv4 address", name)
}

// facing is the interface that has an address.
func facing(local netip.Addr) (net.Interface, error) {
	all, err := net.Interfaces()
	if err != nil {
		return net.Interface{}, fmt.Errorf("receive: %w", err)
	}
	for _, i := range all {
		addrs, _ := i.Addrs() // it may be gone by now
		for _, a := range addrs {
			if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr() == local {
				return i, nil
			}
		}
	}
	return net.Interface{}, fmt.Errorf("receive: no interface has the address %v", local)
}
