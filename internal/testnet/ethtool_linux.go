// SPDX-License-Identifier: MIT

package testnet

import (
	"fmt"

	"github.com/safchain/ethtool"
)

// Names of offloads for SetOffload, as the kernel spells them.
const (
	OffloadChecksum = "tx-checksum-ip-generic" // off: the sender's kernel computes UDP checksums itself
	OffloadUDPSplit = "tx-udp-segmentation"    // off: UDP_SEGMENT bundles are split before the link
	OffloadGSO      = "tx-generic-segmentation"
	OffloadGRO      = "rx-gro"
)

// SetOffload switches one offload feature by its kernel name and checks that the
// kernel did it: a feature that is fixed, or that another one forces, is an error.
// The checksum offload of veth drags the segmentation offloads with it.
func (e *End) SetOffload(name string, on bool) error {
	step := fmt.Sprintf("set offload %s=%t of", name, on)
	return e.ethtool(step, func(et *ethtool.Ethtool, ifname string) error {
		if err := et.Change(ifname, map[string]bool{name: on}); err != nil {
			return err
		}
		now, err := et.Features(ifname)
		if err != nil {
			return err
		}
		if now[name] != on {
			return fmt.Errorf("the kernel keeps it at %t", now[name])
		}
		return nil
	})
}

// SetQueues sets the number of active receive and transmit queues. The kernel
// answers EINVAL above the number the interface was made with, and while an AF_XDP
// socket sits on a queue that would go.
func (e *End) SetQueues(n int) error {
	return e.ethtool(fmt.Sprintf("set %d queues of", n), func(et *ethtool.Ethtool, ifname string) error {
		ch, err := et.GetChannels(ifname)
		if err != nil {
			return err
		}
		if ch.RxCount == uint32(n) && ch.TxCount == uint32(n) {
			return nil // the kernel would answer EINVAL to a change of nothing
		}
		ch.RxCount, ch.TxCount = uint32(n), uint32(n)
		_, err = et.SetChannels(ifname, ch)
		return err
	})
}

// ethtool runs f with an ioctl socket of the namespace and the interface's present
// name, which is the only key that the ioctl takes.
func (e *End) ethtool(step string, f func(et *ethtool.Ethtool, ifname string) error) error {
	err := e.NS.Do(func() error {
		link, err := e.link()
		if err != nil {
			return err
		}
		et, err := ethtool.NewEthtool()
		if err != nil {
			return err
		}
		defer et.Close()
		return f(et, link.Attrs().Name)
	})
	if err != nil {
		return fmt.Errorf("testnet: %s %s: %w", step, e.Name, err)
	}
	return nil
}
