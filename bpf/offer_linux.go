// SPDX-License-Identifier: MIT

package bpf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Of the generic netlink family "netdev" (linux/netdev.h, Linux 6.3).
const (
	netdevFamily     = "netdev"
	netdevVersion    = 1
	netdevDevGet     = 1
	netdevIfindex    = 1
	netdevRxMetadata = 5 // u64, bits as Fields; Linux 6.7
)

// offer asks the driver what it may know of a frame. known is false where the
// kernel cannot be asked, before Linux 6.7. Call it on the thread that opened d.
func (d *device) offer() (fields Fields, known bool, err error) {
	socket, err := openNetlink(unix.NETLINK_GENERIC)
	if err != nil {
		return 0, false, err
	}
	defer socket.Close()
	family, err := familyOf(socket)
	if errors.Is(err, unix.ENOENT) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("find netlink family %s: %w", netdevFamily, err)
	}
	attrs, err := generic(socket, family, netdevDevGet, netdevVersion, nl.NewRtAttr(netdevIfindex, nl.Uint32Attr(uint32(d.index))))
	if err != nil {
		return 0, false, err
	}
	for _, a := range attrs {
		if a.Attr.Type&nl.NLA_TYPE_MASK == netdevRxMetadata && len(a.Value) >= 8 {
			return Fields(binary.NativeEndian.Uint64(a.Value)), true, nil
		}
	}
	return 0, false, nil
}

// familyOf gives the number of the netdev family, which changes from boot to boot.
func familyOf(socket *nl.NetlinkSocket) (int, error) {
	name := nl.NewRtAttr(unix.CTRL_ATTR_FAMILY_NAME, nl.ZeroTerminated(netdevFamily))
	attrs, err := generic(socket, unix.GENL_ID_CTRL, unix.CTRL_CMD_GETFAMILY, nl.GENL_CTRL_VERSION, name)
	if err != nil {
		return 0, err
	}
	for _, a := range attrs {
		if a.Attr.Type&nl.NLA_TYPE_MASK == unix.CTRL_ATTR_FAMILY_ID && len(a.Value) >= 2 {
			return int(binary.NativeEndian.Uint16(a.Value)), nil
		}
	}
	return 0, unix.EPROTO
}

// generic sends one generic netlink command and gives the attributes of the answer.
func generic(socket *nl.NetlinkSocket, family, command int, version uint8, attr *nl.RtAttr) ([]syscall.NetlinkRouteAttr, error) {
	header := &nl.Genlmsg{Command: uint8(command), Version: version}
	messages, err := execute(socket, unix.NETLINK_GENERIC, family, unix.NLM_F_ACK, header, attr)
	if err != nil {
		return nil, err
	}
	if len(messages) == 0 || len(messages[0]) < nl.SizeofGenlmsg {
		return nil, fmt.Errorf("short netlink answer: %w", unix.EPROTO)
	}
	return nl.ParseRouteAttr(messages[0][nl.SizeofGenlmsg:])
}
