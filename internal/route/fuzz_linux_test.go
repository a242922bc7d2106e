// SPDX-License-Identifier: MIT

package route

import (
	"bytes"
	"net/netip"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/packet"
	"github.com/xdpath/xdpath/internal/testnet"
)

// datagram puts messages of one type behind each other, as the kernel sends them.
func datagram(typ uint16, bodies ...[]byte) []byte {
	var b []byte
	for _, body := range bodies {
		req := nl.NewNetlinkRequest(int(typ), unix.NLM_F_MULTI)
		req.AddRawData(body)
		b = append(b, req.Serialize()...)
	}
	return b
}

// FuzzMessages feeds whole datagrams to a mirror, and every body to every parser, and
// holds the results to what the rest of the package relies on.
func FuzzMessages(f *testing.F) {
	e := testnet.End{Name: "eth0.10", Index: 7, MAC: []byte{2, 0, 0, 0, 0, 1}}
	addr := netip.MustParseAddr("10.9.0.2")
	f.Add(datagram(unix.RTM_NEWLINK, vlanMessage(e, 3, 10, netlink.VLAN_PROTOCOL_8021Q),
		message(linkHead(unix.AF_INET6, 1, 7, 0), attr(unix.IFLA_PROTINFO, nil, attr(unix.IFLA_INET6_CONF, conf(1400))))))
	neigh := message(neighHead(2, 7, unix.NUD_STALE, 0), attr(unix.NDA_DST, addr.AsSlice()), attr(unix.NDA_LLADDR, e.MAC))
	f.Add(datagram(unix.RTM_NEWNEIGH, neigh, neigh))
	f.Add(datagram(unix.RTM_DELNEIGH, neigh))
	f.Add(datagram(unix.RTM_NEWROUTE, message(routeHead(2, 1, unix.RTM_F_CLONED), attr(unix.RTA_OIF, nl.Uint32Attr(7)),
		attr(unix.RTA_VIA, append(nl.Uint16Attr(unix.AF_INET6), make([]byte, 16)...)),
		attr(unix.RTA_METRICS, nil, attr(unix.RTAX_MTU, nl.Uint32Attr(1300)), attr(unix.RTAX_HOPLIMIT, nl.Uint32Attr(255))))))
	f.Add(datagram(unix.NLMSG_ERROR, nl.Uint32Attr(1<<32-101)))
	f.Add([]byte{17, 0, 0, 0, 24, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		m := newMirror(Config{Ifindex: 7})
		m.ask(Hop{7, addr})
		total := 0
		err := messages(b, func(h header, body []byte) error {
			total += unix.SizeofNlMsghdr + len(body)
			checkParsers(t, body)
			_, _, err := m.apply(h.typ, body)
			return err
		})
		if total > len(b) {
			t.Errorf("%d bytes of messages in %d", total, len(b))
		}
		if err == nil && len(b) > 0 && total == 0 && len(b) >= unix.SizeofNlMsghdr {
			t.Error("nothing was read, and nothing said")
		}
		checkMirror(t, m)
	})
}

func checkParsers(t *testing.T, body []byte) {
	if r, err := parseRoute(body); err == nil && (r.oif < 0 || r.mtu < 0 || r.hopLimit < 0 || r.hopLimit > 255 || r.gateway.Is4In6()) {
		t.Errorf("route %+v", r)
	}
	if h, n, ok, err := parseNeighbour(body); ok && (err != nil || !h.Addr.IsValid() || !n.usable() && n.mac != packet.MAC{}) {
		t.Errorf("neighbour %v %+v, %v", h, n, err)
	}
	if m, err := parseLink(body); err == nil && (m.link.mtu < 0 || m.link.mtu6 < 0 || m.link.tagType == 0 && m.link.parent != 0) {
		t.Errorf("link %+v", m)
	}
}

func checkMirror(t *testing.T, m *mirror) {
	blank := 0
	for h, s := range m.neighs {
		if s.blank() {
			blank++
		}
		if !m.accept[h.Ifindex] || s == (seen{}) {
			t.Errorf("entry %v %+v", h, s)
		}
	}
	if blank != m.blank {
		t.Errorf("%d blank entries, counted %d", blank, m.blank)
	}
	for index := range m.dirty {
		if _, ok := m.links[index]; !ok {
			t.Errorf("dirty link %d does not exist", index)
		}
	}
}

// FuzzAttributes: what was read, encoded by another hand, reads the same; and no value
// reaches out of the message.
func FuzzAttributes(f *testing.F) {
	f.Add(message(nil, attr(1, []byte("x")), attr(2|unix.NLA_F_NESTED, nil, attr(3, nl.Uint64Attr(9)))))
	f.Add([]byte{4, 0, 1, 0, 5, 0, 2, 0, 9})
	type pair struct {
		typ uint16
		v   []byte
	}
	read := func(b []byte) (list []pair, err error) {
		err = attributes(b, func(typ uint16, v []byte) error {
			list = append(list, pair{typ, bytes.Clone(v)})
			return nil
		})
		return list, err
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := read(b)
		total := 0
		var theirs, ours []byte
		for _, p := range list {
			total += unix.SizeofNlAttr + len(p.v)
			theirs = append(theirs, attr(int(p.typ), p.v).Serialize()...)
			ours = putAttr(ours, p.typ, p.v)
		}
		if total > len(b) {
			t.Fatalf("%d bytes of attributes in %d", total, len(b))
		}
		if err != nil {
			return
		}
		if !bytes.Equal(theirs, ours) {
			t.Errorf("encoded %x, the other hand %x", ours, theirs)
		}
		again, err := read(ours)
		if err != nil || len(again) != len(list) {
			t.Fatalf("%d attributes, then %d, %v", len(list), len(again), err)
		}
		for i := range list {
			if again[i].typ != list[i].typ || !bytes.Equal(again[i].v, list[i].v) {
				t.Errorf("attribute %d: %+v, then %+v", i, list[i], again[i])
			}
		}
	})
}
