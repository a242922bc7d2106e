// SPDX-License-Identifier: MIT

package path

import (
	"fmt"

	"github.com/safchain/ethtool"
)

// Offloads as the kernel names them.
const (
	offloadUDPSegmentation = "tx-udp-segmentation"
	offloadGRO             = "rx-gro"
)

// An offload is a feature of an interface that was switched for the time a
// path is open.
type offload struct {
	iface, name string
	was         bool
}

// switchOffload switches a feature of iface and checks that the kernel did it:
// a fixed feature, or one that another forces, is an error.
func switchOffload(iface, name string, on bool) (*offload, error) {
	et, err := ethtool.NewEthtool()
	if err != nil {
		return nil, fmt.Errorf("open ethtool: %w", err)
	}
	defer et.Close()
	before, err := feature(et, iface, name)
	if err != nil {
		return nil, err
	}
	if before == on {
		return &offload{iface, name, on}, nil
	}
	if err := et.Change(iface, map[string]bool{name: on}); err != nil {
		return nil, fmt.Errorf("switch %s of %s to %t: %w", name, iface, on, err)
	}
	after, err := feature(et, iface, name)
	if err != nil {
		return nil, err
	}
	if after != on {
		return nil, fmt.Errorf("switch %s of %s to %t: the kernel keeps it as it is", name, iface, on)
	}
	return &offload{iface, name, !on}, nil
}

// offloadOn tells whether a feature of iface is on.
func offloadOn(iface, name string) (bool, error) {
	et, err := ethtool.NewEthtool()
	if err != nil {
		return false, fmt.Errorf("open ethtool: %w", err)
	}
	defer et.Close()
	return feature(et, iface, name)
}

// feature tells whether a feature of iface is on.
func feature(et *ethtool.Ethtool, iface, name string) (bool, error) {
	features, err := et.Features(iface)
	if err != nil {
		return false, fmt.Errorf("read offloads of %s: %w", iface, err)
	}
	return features[name], nil
}

// restore switches the feature back. It does nothing on nil.
func (o *offload) restore() error {
	if o == nil {
		return nil
	}
	_, err := switchOffload(o.iface, o.name, o.was)
	return err
}

// isVeth tells whether iface is one end of a veth pair.
func isVeth(iface string) (bool, error) {
	et, err := ethtool.NewEthtool()
	if err != nil {
		return false, fmt.Errorf("open ethtool: %w", err)
	}
	defer et.Close()
	driver, err := et.DriverName(iface)
	if err != nil {
		return false, fmt.Errorf("read driver of %s: %w", iface, err)
	}
	return driver == "veth", nil
}
