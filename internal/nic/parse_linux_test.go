// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"net"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// The encoder of package nl is the oracle: it shares no code with the parsers.

// attr is one attribute; nested ones follow in its children.
func attr(typ int, value []byte, children ...*nl.RtAttr) *nl.RtAttr {
	a := nl.NewRtAttr(typ, value)
	for _, c := range children {
		a.AddChild(c)
	}
	return a
}

func message(head []byte, attrs ...*nl.RtAttr) []byte {
	b := append([]byte(nil), head...)
	for _, a := range attrs {
		b = append(b, a.Serialize()...)
	}
	return b
}

func linkHead(family, index int, flags uint32) []byte {
	h := nl.NewIfInfomsg(family)
	h.Index, h.Flags = int32(index), flags
	return h.Serialize()
}

func addrHead(family, bits, flags uint8, index uint32) []byte {
	return append([]byte{family, bits, flags, 0}, nl.Uint32Attr(index)...)
}

func TestParseLink(t *testing.T) {
	const running = unix.IFF_UP | unix.IFF_LOWER_UP
	mac := net.HardwareAddr{2, 1, 2, 3, 4, 5}
	kind := func(name string, data ...*nl.RtAttr) *nl.RtAttr {
		return attr(unix.IFLA_LINKINFO|unix.NLA_F_NESTED, nil,
			attr(unix.IFLA_INFO_KIND, nl.ZeroTerminated(name)), attr(unix.IFLA_INFO_DATA, nil, data...))
	}
	for _, tc := range []struct {
		name string
		msg  []byte
		want Link
	}{
		{"bare", linkHead(unix.AF_UNSPEC, 7, 0), Link{Index: 7}},
		{"hardware", message(linkHead(unix.AF_UNSPEC, 7, running),
			attr(unix.IFLA_IFNAME, nl.ZeroTerminated("eth0")), attr(unix.IFLA_ADDRESS, mac),
			attr(unix.IFLA_MTU, nl.Uint32Attr(9000)), attr(unix.IFLA_NUM_RX_QUEUES, nl.Uint32Attr(4)),
			attr(unix.IFLA_NUM_TX_QUEUES, nl.Uint32Attr(8)), attr(unix.IFLA_LINK, nl.Uint32Attr(7)), attr(999, []byte{1})),
			Link{Index: 7, Name: "eth0", MAC: mac, MTU: 9000, Up: true, Carrier: true,
				RxQueues: 4, MaxRxQueues: 4, TxQueues: 8, MaxTxQueues: 8}},
		{"up without carrier", linkHead(unix.AF_UNSPEC, 7, unix.IFF_UP), Link{Index: 7, Up: true}},
		{"down, carrier still told", linkHead(unix.AF_UNSPEC, 7, unix.IFF_LOWER_UP), Link{Index: 7}},
		{"VLAN", message(linkHead(unix.AF_UNSPEC, 9, running), attr(unix.IFLA_LINK, nl.Uint32Attr(7)),
			kind("vlan", attr(unix.IFLA_VLAN_ID, nl.Uint16Attr(4094)))),
			Link{Index: 9, Up: true, Carrier: true, Kind: "vlan", Driver: "vlan", Parent: 7, VLAN: 4094}},
		{"macvlan of a container", message(linkHead(unix.AF_UNSPEC, 9, running), kind("macvlan", attr(1, nl.Uint16Attr(4))),
			attr(unix.IFLA_LINK, nl.Uint32Attr(2)), attr(unix.IFLA_LINK_NETNSID, nl.Uint32Attr(0))),
			Link{Index: 9, Up: true, Carrier: true, Kind: "macvlan", Driver: "macvlan", Parent: 2, ParentOutside: true}},
		{"veth", message(linkHead(unix.AF_UNSPEC, 9, running), attr(unix.IFLA_LINK, nl.Uint32Attr(2)),
			attr(unix.IFLA_LINK_NETNSID, nl.Uint32Attr(0)), kind("veth")),
			Link{Index: 9, Up: true, Carrier: true, Kind: "veth", Driver: "veth"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := parseLink(tc.msg)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, got.link); d != "" {
				t.Errorf("want -, got +\n%s", d)
			}
		})
	}
	if m, err := parseLink(linkHead(unix.AF_BRIDGE, 7, 0)); err != nil || m.family != unix.AF_BRIDGE {
		t.Errorf("bridge port: got %+v, %v", m, err)
	}
}

func TestParsePrograms(t *testing.T) {
	id := func(typ int, n uint32) *nl.RtAttr { return attr(typ, nl.Uint32Attr(n)) }
	attached := func(n uint8) *nl.RtAttr { return attr(unix.IFLA_XDP_ATTACHED, []byte{n}) }
	for _, tc := range []struct {
		name  string
		attrs []*nl.RtAttr
		want  []Program
	}{
		{"none", []*nl.RtAttr{attached(0)}, nil},
		{"native", []*nl.RtAttr{attached(1), id(unix.IFLA_XDP_PROG_ID, 5), id(unix.IFLA_XDP_DRV_PROG_ID, 5)}, []Program{{ID: 5, Mode: ModeNative}}},
		{"generic", []*nl.RtAttr{attached(2), id(unix.IFLA_XDP_PROG_ID, 6), id(unix.IFLA_XDP_SKB_PROG_ID, 6)}, []Program{{ID: 6, Mode: ModeGeneric}}},
		{"offload", []*nl.RtAttr{attached(3), id(unix.IFLA_XDP_PROG_ID, 7), id(unix.IFLA_XDP_HW_PROG_ID, 7)}, []Program{{ID: 7, Mode: ModeOffload}}},
		{"several", []*nl.RtAttr{attached(4), id(unix.IFLA_XDP_DRV_PROG_ID, 8), id(unix.IFLA_XDP_HW_PROG_ID, 9)},
			[]Program{{ID: 8, Mode: ModeNative}, {ID: 9, Mode: ModeOffload}}},
		{"native before Linux 4.17", []*nl.RtAttr{attached(1), id(unix.IFLA_XDP_PROG_ID, 5)}, []Program{{ID: 5, Mode: ModeNative}}},
		{"generic before Linux 4.17", []*nl.RtAttr{attached(2), id(unix.IFLA_XDP_PROG_ID, 5)}, []Program{{ID: 5, Mode: ModeGeneric}}},
		{"offload before Linux 4.17", []*nl.RtAttr{attached(3), id(unix.IFLA_XDP_PROG_ID, 5)}, []Program{{ID: 5, Mode: ModeOffload}}},
	} {
		got, err := parseLink(message(linkHead(0, 1, 0), attr(unix.IFLA_XDP, nil, tc.attrs...)))
		if d := cmp.Diff(tc.want, got.link.Programs); err != nil || d != "" {
			t.Errorf("%s: %v\n%s", tc.name, err, d)
		}
	}
}

func TestParseAddr(t *testing.T) {
	v4, v6 := []byte{10, 9, 0, 2}, netip.MustParseAddr("fd09::2").AsSlice()
	for _, tc := range []struct {
		name   string
		msg    []byte
		want   string
		usable bool
	}{
		{"IPv4", message(addrHead(unix.AF_INET, 24, 0, 3), attr(unix.IFA_ADDRESS, v4), attr(unix.IFA_LOCAL, v4)), "10.9.0.2/24", true},
		{"point to point", message(addrHead(unix.AF_INET, 32, 0, 3), attr(unix.IFA_ADDRESS, []byte{1, 1, 1, 1}), attr(unix.IFA_LOCAL, v4)), "10.9.0.2/32", true},
		{"IPv6", message(addrHead(unix.AF_INET6, 64, 0, 3), attr(unix.IFA_ADDRESS, v6)), "fd09::2/64", true},
		{"tentative", message(addrHead(unix.AF_INET6, 64, unix.IFA_F_TENTATIVE, 3), attr(unix.IFA_ADDRESS, v6)), "fd09::2/64", false},
		{"duplicate", message(addrHead(unix.AF_INET6, 64, 0, 3), attr(unix.IFA_ADDRESS, v6),
			attr(unix.IFA_FLAGS, nl.Uint32Attr(unix.IFA_F_PERMANENT|unix.IFA_F_DADFAILED))), "fd09::2/64", false},
		{"optimistic", message(addrHead(unix.AF_INET6, 64, unix.IFA_F_TENTATIVE|unix.IFA_F_OPTIMISTIC, 3), attr(unix.IFA_ADDRESS, v6)), "fd09::2/64", true},
	} {
		got, err := parseAddr(tc.msg)
		if err != nil || got.index != 3 || got.usable != tc.usable || got.addr.String() != tc.want {
			t.Errorf("%s: got %+v, %v", tc.name, got, err)
		}
	}
}

func TestParseGeneric(t *testing.T) {
	head := []byte{1, 1, 0, 0}
	f, err := parseFeatures(message(head, attr(netdevIfindex, nl.Uint32Attr(3)), attr(netdevXDP, nl.Uint64Attr(0x7f)),
		attr(netdevZCMaxSegs, nl.Uint32Attr(18)), attr(netdevRxMetadata, nl.Uint64Attr(7)), attr(netdevXSK, nl.Uint64Attr(7))))
	all := Features{Known: true, Basic: true, Redirect: true, NdoXmit: true, ZeroCopy: true, RxSG: true, TxSG: true, ZCMaxSegs: 18,
		RxTimestamp: true, RxHash: true, RxVLANTag: true, TxTimestamp: true, TxChecksum: true, TxLaunchTime: true}
	if err != nil || f != all {
		t.Errorf("features: got %+v, %v", f, err)
	}
	// Only one bit each: no two fields may share one.
	for bit, want := range map[uint64]Features{
		1: {Basic: true}, 2: {Redirect: true}, 4: {NdoXmit: true}, 8: {ZeroCopy: true}, 16: {}, 32: {RxSG: true}, 64: {TxSG: true},
	} {
		want.Known = true
		if f, err := parseFeatures(message(head, attr(netdevXDP, nl.Uint64Attr(bit)))); err != nil || f != want {
			t.Errorf("feature bit %#x: got %+v, %v", bit, f, err)
		}
	}
	c, err := parseChannels(message(head,
		attr(unix.ETHTOOL_A_CHANNELS_HEADER|unix.NLA_F_NESTED, nil, attr(unix.ETHTOOL_A_HEADER_DEV_INDEX, nl.Uint32Attr(3))),
		attr(unix.ETHTOOL_A_CHANNELS_RX_MAX, nl.Uint32Attr(16)), attr(unix.ETHTOOL_A_CHANNELS_TX_MAX, nl.Uint32Attr(8)),
		attr(unix.ETHTOOL_A_CHANNELS_COMBINED_MAX, nl.Uint32Attr(12)), attr(unix.ETHTOOL_A_CHANNELS_RX_COUNT, nl.Uint32Attr(1)),
		attr(unix.ETHTOOL_A_CHANNELS_TX_COUNT, nl.Uint32Attr(2)), attr(unix.ETHTOOL_A_CHANNELS_COMBINED_COUNT, nl.Uint32Attr(4))))
	var l Link
	c.queues(&l)
	if want := (Link{RxQueues: 5, TxQueues: 6, MaxRxQueues: 16, MaxTxQueues: 12}); err != nil || c.index != 3 || cmp.Diff(want, l) != "" {
		t.Errorf("channels: got %+v, %+v, %v", c, l, err)
	}
	fam, err := parseFamily(message(head, attr(unix.CTRL_ATTR_FAMILY_ID, nl.Uint16Attr(31)),
		attr(unix.CTRL_ATTR_MCAST_GROUPS|unix.NLA_F_NESTED, nil,
			attr(1, nil, attr(unix.CTRL_ATTR_MCAST_GRP_NAME, nl.ZeroTerminated("monitor")), attr(unix.CTRL_ATTR_MCAST_GRP_ID, nl.Uint32Attr(40))),
			attr(2, nil, attr(unix.CTRL_ATTR_MCAST_GRP_ID, nl.Uint32Attr(41)), attr(unix.CTRL_ATTR_MCAST_GRP_NAME, nl.ZeroTerminated("b")))),
		attr(unix.CTRL_ATTR_OPS|unix.NLA_F_NESTED, nil,
			attr(1, nil, attr(unix.CTRL_ATTR_OP_ID, nl.Uint32Attr(1)), attr(2, nl.Uint32Attr(14))),
			attr(2, nil, attr(unix.CTRL_ATTR_OP_ID, nl.Uint32Attr(11))))))
	if want := map[int]bool{1: true, 11: true}; cmp.Diff(want, fam.commands) != "" {
		t.Errorf("commands: got %v", fam.commands)
	}
	if want := map[string]int{"monitor": 40, "b": 41}; err != nil || fam.id != 31 || cmp.Diff(want, fam.groups) != "" {
		t.Errorf("family: got %+v, %v", fam, err)
	}
}

// Every message cut short anywhere, and every value too short, is an error or a
// message with less in it, and never a panic.
func TestMalformed(t *testing.T) {
	for name, msg := range map[string][]byte{
		"no header":      {1, 2, 3},
		"length zero":    append(linkHead(0, 1, 0), 0, 0, 3, 0),
		"length beyond":  append(linkHead(0, 1, 0), nl.Uint16Attr(9)[0], nl.Uint16Attr(9)[1], 3, 0),
		"MTU of 3 bytes": message(linkHead(0, 1, 0), attr(unix.IFLA_MTU, []byte{1, 2, 3})),
		"MTU beyond int": message(linkHead(0, 1, 0), attr(unix.IFLA_MTU, nl.Uint32Attr(1<<31))),
		"XDP id short":   message(linkHead(0, 1, 0), attr(unix.IFLA_XDP, nil, attr(unix.IFLA_XDP_PROG_ID, []byte{1}))),
		"VLAN id short": message(linkHead(0, 1, 0), attr(unix.IFLA_LINKINFO, nil, attr(unix.IFLA_INFO_KIND, []byte("vlan")),
			attr(unix.IFLA_INFO_DATA, nil, attr(unix.IFLA_VLAN_ID, []byte{1})))),
	} {
		if m, err := parseLink(msg); !errors.Is(err, unix.EBADMSG) {
			t.Errorf("link, %s: got %+v, %v, want EBADMSG", name, m, err)
		}
	}
	for name, msg := range map[string][]byte{
		"no header":       {unix.AF_INET},
		"no address":      addrHead(unix.AF_INET, 24, 0, 3),
		"wrong length":    message(addrHead(unix.AF_INET, 24, 0, 3), attr(unix.IFA_LOCAL, []byte{1, 2, 3})),
		"wrong family":    message(addrHead(unix.AF_INET6, 24, 0, 3), attr(unix.IFA_LOCAL, []byte{1, 2, 3, 4})),
		"33 bits":         message(addrHead(unix.AF_INET, 33, 0, 3), attr(unix.IFA_LOCAL, []byte{1, 2, 3, 4})),
		"flags too short": message(addrHead(unix.AF_INET, 24, 0, 3), attr(unix.IFA_FLAGS, []byte{1})),
	} {
		if m, err := parseAddr(msg); !errors.Is(err, unix.EBADMSG) {
			t.Errorf("address, %s: got %+v, %v, want EBADMSG", name, m, err)
		}
	}
}
