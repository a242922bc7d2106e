// SPDX-License-Identifier: MIT

package nic

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// family is a generic netlink family as the kernel numbered it since boot.
type family struct {
	id       uint16 // 0: the kernel does not have it
	groups   map[string]int
	commands map[int]bool
}

// Of family "netdev" (linux/netdev.h, Linux 6.3), which x/sys does not have.
const (
	netdevFamily  = "netdev"
	netdevVersion = 1

	netdevCmdDevGet = 1

	netdevIfindex    = 1
	netdevXDP        = 3 // u64, bits xdp*
	netdevZCMaxSegs  = 4 // u32
	netdevRxMetadata = 5 // u64, bits rx*; Linux 6.7
	netdevXSK        = 6 // u64, bits xsk*; Linux 6.8

	xdpBasic    = 1 << 0
	xdpRedirect = 1 << 1
	xdpNdoXmit  = 1 << 2
	xdpZeroCopy = 1 << 3
	xdpRxSG     = 1 << 5
	xdpTxSG     = 1 << 6

	rxTimestamp = 1 << 0
	rxHash      = 1 << 1
	rxVLANTag   = 1 << 2

	xskTxTimestamp  = 1 << 0
	xskTxChecksum   = 1 << 1
	xskTxLaunchTime = 1 << 2
)

// parseFeatures reads the answer to NETDEV_CMD_DEV_GET.
func parseFeatures(b []byte) (Features, error) {
	var xdp, rx, xsk uint64
	f := Features{Known: true}
	err := walkGeneric(b, func(typ uint16, v []byte) (err error) {
		switch typ {
		case netdevXDP:
			xdp, err = u64(v)
		case netdevZCMaxSegs:
			err = setInt(&f.ZCMaxSegs, v)
		case netdevRxMetadata:
			rx, err = u64(v)
		case netdevXSK:
			xsk, err = u64(v)
		}
		return err
	})
	if err != nil {
		return Features{}, fmt.Errorf("XDP features: %w", err)
	}
	f.Basic, f.Redirect, f.NdoXmit = xdp&xdpBasic != 0, xdp&xdpRedirect != 0, xdp&xdpNdoXmit != 0
	f.ZeroCopy, f.RxSG, f.TxSG = xdp&xdpZeroCopy != 0, xdp&xdpRxSG != 0, xdp&xdpTxSG != 0
	f.RxTimestamp, f.RxHash, f.RxVLANTag = rx&rxTimestamp != 0, rx&rxHash != 0, rx&rxVLANTag != 0
	f.TxTimestamp, f.TxChecksum, f.TxLaunchTime = xsk&xskTxTimestamp != 0, xsk&xskTxChecksum != 0, xsk&xskTxLaunchTime != 0
	return f, nil
}

// channels is what the driver calls its queues: some serve one direction, the
// combined ones both.
type channels struct {
	index                     int // of the interface
	rx, tx, combined          int
	rxMax, txMax, combinedMax int
}

// maxChannels is far above what any interface has, and keeps sums of two counts
// within the int of a 32-bit machine.
const maxChannels = 1 << 24

// queues stores the counts in a link. A driver may tell both kinds as possible and
// use either, so that the larger is what there could be.
func (c channels) queues(l *Link) {
	l.RxQueues, l.TxQueues = c.rx+c.combined, c.tx+c.combined
	l.MaxRxQueues = max(c.rxMax, c.combinedMax, l.RxQueues)
	l.MaxTxQueues = max(c.txMax, c.combinedMax, l.TxQueues)
}

// parseChannels reads ETHTOOL_MSG_CHANNELS_GET_REPLY and _NTF, which are alike.
func parseChannels(b []byte) (channels, error) {
	var c channels
	err := walkGeneric(b, func(typ uint16, v []byte) error {
		switch typ {
		case unix.ETHTOOL_A_CHANNELS_HEADER:
			return walk(v, func(typ uint16, v []byte) error {
				if typ != unix.ETHTOOL_A_HEADER_DEV_INDEX {
					return nil
				}
				return setInt(&c.index, v)
			})
		case unix.ETHTOOL_A_CHANNELS_RX_MAX:
			return setInt(&c.rxMax, v)
		case unix.ETHTOOL_A_CHANNELS_TX_MAX:
			return setInt(&c.txMax, v)
		case unix.ETHTOOL_A_CHANNELS_COMBINED_MAX:
			return setInt(&c.combinedMax, v)
		case unix.ETHTOOL_A_CHANNELS_RX_COUNT:
			return setInt(&c.rx, v)
		case unix.ETHTOOL_A_CHANNELS_TX_COUNT:
			return setInt(&c.tx, v)
		case unix.ETHTOOL_A_CHANNELS_COMBINED_COUNT:
			return setInt(&c.combined, v)
		}
		return nil
	})
	if n := max(c.rx, c.tx, c.combined, c.rxMax, c.txMax, c.combinedMax); err == nil && n > maxChannels {
		err = fmt.Errorf("count %d: %w", n, unix.EBADMSG)
	}
	if err != nil {
		return channels{}, fmt.Errorf("channels: %w", err)
	}
	return c, nil
}

// parseFamily reads the answer to CTRL_CMD_GETFAMILY.
func parseFamily(b []byte) (family, error) {
	f := family{groups: make(map[string]int), commands: make(map[int]bool)}
	err := walkGeneric(b, func(typ uint16, v []byte) (err error) {
		switch typ {
		case unix.CTRL_ATTR_FAMILY_ID:
			f.id, err = u16(v)
		case unix.CTRL_ATTR_MCAST_GROUPS: // a list of nested groups, numbered from 1
			err = walk(v, func(_ uint16, v []byte) error { return f.addGroup(v) })
		case unix.CTRL_ATTR_OPS: // likewise
			err = walk(v, func(_ uint16, v []byte) error { return f.addCommand(v) })
		}
		return err
	})
	if err != nil {
		return family{}, fmt.Errorf("generic netlink family: %w", err)
	}
	return f, nil
}

func (f *family) addGroup(b []byte) error {
	var name string
	var id int
	err := walk(b, func(typ uint16, v []byte) error {
		switch typ {
		case unix.CTRL_ATTR_MCAST_GRP_NAME:
			name = unix.ByteSliceToString(v)
		case unix.CTRL_ATTR_MCAST_GRP_ID:
			return setInt(&id, v)
		}
		return nil
	})
	if err == nil {
		f.groups[name] = id
	}
	return err
}

func (f *family) addCommand(b []byte) error {
	return walk(b, func(typ uint16, v []byte) error {
		var id int
		if typ != unix.CTRL_ATTR_OP_ID {
			return nil
		}
		err := setInt(&id, v)
		f.commands[id] = true
		return err
	})
}

// genericHeader is the size of struct genlmsghdr: command u8, version u8, pad u16.
const genericHeader = 4

// walkGeneric walks the attributes after the generic netlink header.
func walkGeneric(b []byte, f func(typ uint16, value []byte) error) error {
	if len(b) < genericHeader {
		return fmt.Errorf("message of %d bytes: %w", len(b), unix.EBADMSG)
	}
	return walk(b[genericHeader:], f)
}
