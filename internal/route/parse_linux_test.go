// SPDX-License-Identifier: MIT

package route

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/packet"
	"github.com/xdpath/xdpath/internal/testnet"
)

// attr is an attribute as another hand encodes it.
func attr(typ int, v []byte, children ...*nl.RtAttr) *nl.RtAttr {
	a := nl.NewRtAttr(typ, v)
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

func linkHead(family uint8, typ uint16, index int, flags uint32) []byte {
	head := nl.NewIfInfomsg(int(family))
	head.Type, head.Index, head.Flags = typ, int32(index), flags
	return head.Serialize()
}

func neighHead(family uint8, index int, state uint16, flags uint8) []byte {
	return (&netlink.Ndmsg{Family: family, Index: uint32(index), State: state, Flags: flags}).Serialize()
}

func routeHead(family, typ uint8, flags uint32) []byte {
	head := nl.NewRtMsg()
	head.Family, head.Type, head.Flags = family, typ, flags
	return head.Serialize()
}

// bigEndian16 is a value in network order.
func bigEndian16(v uint16) []byte { return binary.BigEndian.AppendUint16(nil, v) }

// conf is IPv6's list of settings with an MTU in its place.
func conf(mtu uint32) []byte {
	b := make([]byte, 40)
	binary.NativeEndian.PutUint32(b[8:], mtu)
	return b
}

func vlanMessage(e testnet.End, parent, id int, protocol netlink.VlanProtocol) []byte {
	return message(linkHead(unix.AF_UNSPEC, unix.ARPHRD_ETHER, e.Index, unix.IFF_UP|unix.IFF_LOWER_UP),
		attr(unix.IFLA_IFNAME, nl.ZeroTerminated(e.Name)), attr(unix.IFLA_ADDRESS, e.MAC),
		attr(unix.IFLA_MTU, nl.Uint32Attr(1496)), attr(unix.IFLA_LINK, nl.Uint32Attr(uint32(parent))),
		attr(unix.IFLA_LINKINFO, nil, attr(unix.IFLA_INFO_KIND, []byte("vlan")),
			attr(unix.IFLA_INFO_DATA, nil, attr(unix.IFLA_VLAN_ID, nl.Uint16Attr(uint16(id))),
				attr(unix.IFLA_VLAN_PROTOCOL, bigEndian16(uint16(protocol))))))
}

func TestParseRoute(t *testing.T) {
	gateway, src := netip.MustParseAddr("fe80::1"), netip.MustParseAddr("10.0.0.1")
	for _, tc := range []struct {
		name string
		in   []byte
		want foundRoute
		err  error
	}{
		{"on the link", message(routeHead(unix.AF_INET, unix.RTN_UNICAST, 0), attr(unix.RTA_OIF, nl.Uint32Attr(7)),
			attr(unix.RTA_PREFSRC, src.AsSlice())), foundRoute{typ: unix.RTN_UNICAST, oif: 7, src: src}, nil},
		{"gateway", message(routeHead(unix.AF_INET6, unix.RTN_UNICAST, 0), attr(unix.RTA_GATEWAY, gateway.AsSlice())),
			foundRoute{typ: unix.RTN_UNICAST, gateway: gateway}, nil},
		{"gateway of IPv6", message(routeHead(unix.AF_INET, unix.RTN_UNICAST, 0),
			attr(unix.RTA_VIA, append(nl.Uint16Attr(unix.AF_INET6), gateway.AsSlice()...))),
			foundRoute{typ: unix.RTN_UNICAST, gateway: gateway}, nil},
		{"metrics", message(routeHead(unix.AF_INET, unix.RTN_LOCAL, 0),
			attr(unix.RTA_METRICS, nil, attr(unix.RTAX_MTU, nl.Uint32Attr(1300)), attr(unix.RTAX_HOPLIMIT, nl.Uint32Attr(5)))),
			foundRoute{typ: unix.RTN_LOCAL, mtu: 1300, hopLimit: 5}, nil},
		{"no hop limit", message(routeHead(unix.AF_INET6, 1, 0),
			attr(unix.RTA_METRICS, nil, attr(unix.RTAX_HOPLIMIT, nl.Uint32Attr(1<<32-1)))), foundRoute{typ: 1}, nil},
		{"encapsulated", message(routeHead(unix.AF_INET6, 1, 0), attr(unix.RTA_ENCAP_TYPE, nl.Uint16Attr(5))),
			foundRoute{typ: 1, encap: true}, nil},
		{"short", make([]byte, 11), foundRoute{}, unix.EBADMSG},
		{"short interface", message(routeHead(2, 1, 0), attr(unix.RTA_OIF, []byte{1, 2})), foundRoute{}, unix.EBADMSG},
		{"short via", message(routeHead(2, 1, 0), attr(unix.RTA_VIA, []byte{1})), foundRoute{}, unix.EBADMSG},
		{"odd address", message(routeHead(2, 1, 0), attr(unix.RTA_GATEWAY, make([]byte, 5))), foundRoute{}, unix.EBADMSG},
		{"endless MTU", message(routeHead(2, 1, 0), attr(unix.RTA_METRICS, nil, attr(unix.RTAX_MTU, nl.Uint32Attr(1<<31)))),
			foundRoute{}, unix.EBADMSG},
		{"attribute beyond the end", append(routeHead(2, 1, 0), message(nil, attr(unix.RTA_OIF, nl.Uint32Attr(7)))[:7]...),
			foundRoute{}, unix.EBADMSG},
	} {
		got, err := parseRoute(tc.in)
		if got != tc.want || !errors.Is(err, tc.err) {
			t.Errorf("%s: got %+v, %v, want %+v, %v", tc.name, got, err, tc.want, tc.err)
		}
	}
}

func TestParseNeighbour(t *testing.T) {
	addr, mac := netip.MustParseAddr("10.9.0.2"), packet.MAC{2, 0, 0, 0, 0, 1}
	dst, ll := attr(unix.NDA_DST, addr.AsSlice()), attr(unix.NDA_LLADDR, mac[:])
	for _, tc := range []struct {
		name string
		in   []byte
		want neighbour
		ok   bool
		err  error
	}{
		{"reachable", message(neighHead(2, 7, unix.NUD_REACHABLE, 0), dst, ll), neighbour{unix.NUD_REACHABLE, mac}, true, nil},
		{"failed with an old address", message(neighHead(2, 7, unix.NUD_FAILED, 0), dst, ll), neighbour{unix.NUD_FAILED, packet.MAC{}}, true, nil},
		{"no address of six bytes", message(neighHead(2, 7, unix.NUD_NOARP, 0), dst, attr(unix.NDA_LLADDR, make([]byte, 4))),
			neighbour{unix.NUD_NOARP, packet.MAC{}}, true, nil},
		{"proxy", message(neighHead(2, 7, 0, ntfProxy), dst), neighbour{}, false, nil},
		{"bridge", message(neighHead(unix.AF_BRIDGE, 7, unix.NUD_REACHABLE, 0), ll), neighbour{}, false, nil},
		{"short", make([]byte, 11), neighbour{}, false, unix.EBADMSG},
		{"nobody", message(neighHead(2, 7, unix.NUD_REACHABLE, 0), ll), neighbour{}, false, unix.EBADMSG},
	} {
		h, got, ok, err := parseNeighbour(tc.in)
		if got != tc.want || ok != tc.ok || !errors.Is(err, tc.err) || ok && h != (Hop{7, addr}) {
			t.Errorf("%s: got %v %+v, %t, %v, want %+v, %t, %v", tc.name, h, got, ok, err, tc.want, tc.ok, tc.err)
		}
	}
}

func TestParseLink(t *testing.T) {
	mac := packet.MAC{2, 0, 0, 0, 0, 1}
	e := testnet.End{Name: "eth0.10", Index: 7, MAC: mac[:]}
	up := uint32(unix.IFF_UP | unix.IFF_LOWER_UP)
	vlan := link{name: "eth0.10", flags: up, ethernet: true, mac: mac, mtu: 1496, parent: 3, vlan: 10, tagType: 0x8100}
	serviceVLAN := vlan
	serviceVLAN.tagType = 0x88a8
	for _, tc := range []struct {
		name string
		in   []byte
		want foundLink
		err  error
	}{
		{"VLAN", vlanMessage(e, 3, 10, netlink.VLAN_PROTOCOL_8021Q), foundLink{index: 7, link: vlan}, nil},
		{"802.1ad VLAN", vlanMessage(e, 3, 10, netlink.VLAN_PROTOCOL_8021AD), foundLink{index: 7, link: serviceVLAN}, nil},
		{"veth", message(linkHead(0, unix.ARPHRD_ETHER, 7, up|unix.IFF_PROMISC|unix.IFF_RUNNING), attr(unix.IFLA_LINK, nl.Uint32Attr(3)),
			attr(unix.IFLA_LINKINFO, nil, attr(unix.IFLA_INFO_KIND, []byte("veth"))), attr(unix.IFLA_MASTER, nl.Uint32Attr(4)),
			attr(unix.IFLA_AF_SPEC, nil, attr(unix.AF_INET6, nil, attr(unix.IFLA_INET6_CONF, conf(1280))))),
			foundLink{index: 7, link: link{flags: up, ethernet: true, master: 4, mtu6: 1280}}, nil},
		{"IPv6's view", message(linkHead(unix.AF_INET6, unix.ARPHRD_ETHER, 7, up),
			attr(unix.IFLA_PROTINFO, nil, attr(unix.IFLA_INET6_CONF, conf(1400)))),
			foundLink{family: unix.AF_INET6, index: 7, link: link{flags: up, ethernet: true, mtu6: 1400}}, nil},
		{"bridge port with VLANs", message(linkHead(unix.AF_BRIDGE, unix.ARPHRD_ETHER, 7, up), attr(unix.IFLA_AF_SPEC, nil, attr(10, []byte("xyz")))),
			foundLink{family: unix.AF_BRIDGE, index: 7, link: link{flags: up, ethernet: true}}, nil},
		{"tun", linkHead(0, unix.ARPHRD_NONE, 7, unix.IFF_UP|unix.IFF_NOARP|unix.IFF_POINTOPOINT),
			foundLink{index: 7, link: link{flags: unix.IFF_UP | unix.IFF_NOARP | unix.IFF_POINTOPOINT}}, nil},
		{"short", make([]byte, 15), foundLink{}, unix.EBADMSG},
		{"short settings", message(linkHead(0, 1, 7, 0), attr(unix.IFLA_AF_SPEC, nil, attr(unix.AF_INET6, nil, attr(unix.IFLA_INET6_CONF, make([]byte, 8))))),
			foundLink{}, unix.EBADMSG},
		{"short tag", message(linkHead(0, 1, 7, 0), attr(unix.IFLA_LINKINFO, nil, attr(unix.IFLA_INFO_KIND, []byte("vlan")),
			attr(unix.IFLA_INFO_DATA, nil, attr(unix.IFLA_VLAN_ID, []byte{1})))), foundLink{}, unix.EBADMSG},
	} {
		got, err := parseLink(tc.in)
		if got != tc.want || !errors.Is(err, tc.err) {
			t.Errorf("%s: got %+v, %v, want %+v, %v", tc.name, got, err, tc.want, tc.err)
		}
	}
}

// Which messages are news, on one mirror and in this order.
func TestNews(t *testing.T) {
	m := newMirror(Config{Ifindex: 7})
	b, mac := netip.MustParseAddr("10.9.0.2"), []byte{2, 0, 0, 0, 0, 1}
	l := func(family uint8, mtu uint32) []byte {
		return message(linkHead(family, unix.ARPHRD_ETHER, 7, 0), attr(unix.IFLA_MTU, nl.Uint32Attr(mtu)))
	}
	l6 := message(linkHead(unix.AF_INET6, 1, 7, 0), attr(unix.IFLA_PROTINFO, nil, attr(unix.IFLA_INET6_CONF, conf(1400))))
	n := func(index int, state uint16, mac []byte) []byte {
		return message(neighHead(2, index, state, 0), attr(unix.NDA_DST, b.AsSlice()), attr(unix.NDA_LLADDR, mac))
	}
	type step struct {
		name  string
		typ   uint16
		body  []byte
		cause cause
		news  bool
	}
	steps := []step{
		{"IPv6's view of nothing", unix.RTM_NEWLINK, l6, linkChanged, false},
		{"new link", unix.RTM_NEWLINK, l(0, 1500), linkChanged, true},
		{"same link", unix.RTM_NEWLINK, l(0, 1500), linkChanged, false},
		{"bridge's view", unix.RTM_DELLINK, l(unix.AF_BRIDGE, 1500), linkChanged, false},
		{"IPv6's view", unix.RTM_NEWLINK, l6, linkChanged, true},
		{"the same", unix.RTM_NEWLINK, l6, linkChanged, false},
		{"same link, without IPv6's view", unix.RTM_NEWLINK, l(0, 1500), linkChanged, false},
		{"other MTU", unix.RTM_NEWLINK, l(0, 1400), linkChanged, true},
		{"address", unix.RTM_NEWADDR, nil, addressChanged, true},
		{"route", unix.RTM_NEWROUTE, routeHead(2, 1, 0), routeChanged, true},
		{"cached route", unix.RTM_NEWROUTE, routeHead(2, 1, unix.RTM_F_CLONED), routeChanged, false},
		{"rule", unix.RTM_DELRULE, nil, ruleChanged, true},
		{"next hop", unix.RTM_NEWNEXTHOP, nil, ruleChanged, true},
		{"something else", unix.RTM_NEWQDISC, nil, 0, false},
		{"neighbour that nobody asked for", unix.RTM_NEWNEIGH, n(7, unix.NUD_REACHABLE, mac), neighbourChanged, false},
	}
	asked := []step{
		{"stale", unix.RTM_NEWNEIGH, n(7, unix.NUD_STALE, mac), neighbourChanged, false},
		{"on another interface", unix.RTM_DELNEIGH, n(8, unix.NUD_STALE, mac), neighbourChanged, false},
		{"other MAC", unix.RTM_NEWNEIGH, n(7, unix.NUD_STALE, []byte{2, 0, 0, 0, 0, 2}), neighbourChanged, true},
		{"deleted", unix.RTM_DELNEIGH, n(7, unix.NUD_STALE, mac), neighbourChanged, true},
		{"failed", unix.RTM_NEWNEIGH, n(7, unix.NUD_FAILED, nil), neighbourChanged, true},
		{"failed again", unix.RTM_NEWNEIGH, n(7, unix.NUD_FAILED, nil), neighbourChanged, false},
		{"link gone", unix.RTM_DELLINK, l(0, 1400), linkChanged, true},
		{"link gone already", unix.RTM_DELLINK, l(0, 1400), linkChanged, false},
	}
	for _, list := range [][]step{steps, asked} {
		for _, s := range list {
			if c, news, err := m.apply(s.typ, s.body); c != s.cause || news != s.news || err != nil {
				t.Errorf("%s: got cause %d, news %t, %v", s.name, c, news, err)
			}
		}
		m.ask(Hop{7, b})
	}
	if list := m.takeDirty(); len(list) != 0 {
		t.Errorf("to be asked for: %v, though the link is gone", list)
	}
}
