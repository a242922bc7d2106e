// SPDX-License-Identifier: MIT

package nic

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

type typeValue struct {
	Type  uint16
	Value []byte
}

func walked(b []byte) (list []typeValue, err error) {
	err = walk(b, func(typ uint16, v []byte) error {
		list = append(list, typeValue{typ, bytes.Clone(v)})
		return nil
	})
	return list, err
}

// FuzzWalk: what was read, encoded by another hand, reads the same; and no value
// reaches out of the message.
func FuzzWalk(f *testing.F) {
	f.Add(message(nil, attr(1, []byte("x")), attr(2|unix.NLA_F_NESTED, nil, attr(3, nl.Uint64Attr(9)))))
	f.Add([]byte{4, 0, 1, 0, 5, 0, 2, 0, 9})
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := walked(b)
		total := 0
		var again []*nl.RtAttr
		for _, a := range list {
			total += unix.SizeofRtAttr + len(a.Value)
			again = append(again, attr(int(a.Type), a.Value))
		}
		if total > len(b) {
			t.Fatalf("%d bytes of attributes in %d", total, len(b))
		}
		if err != nil {
			return
		}
		back, err := walked(message(nil, again...))
		if d := cmp.Diff(list, back); err != nil || d != "" {
			t.Errorf("%v\n%s", err, d)
		}
	})
}

// FuzzMessages feeds every parser with the same bytes and holds the results to what
// the rest of the package relies on.
func FuzzMessages(f *testing.F) {
	f.Add(message(linkHead(0, 7, unix.IFF_UP|unix.IFF_LOWER_UP), attr(unix.IFLA_MTU, nl.Uint32Attr(1500)),
		attr(unix.IFLA_IFNAME, nl.ZeroTerminated("eth0")), attr(unix.IFLA_NUM_RX_QUEUES, nl.Uint32Attr(4)),
		attr(unix.IFLA_XDP, nil, attr(unix.IFLA_XDP_ATTACHED, []byte{1}), attr(unix.IFLA_XDP_PROG_ID, nl.Uint32Attr(1))),
		attr(unix.IFLA_LINKINFO, nil, attr(unix.IFLA_INFO_KIND, []byte("vlan")),
			attr(unix.IFLA_INFO_DATA, nil, attr(unix.IFLA_VLAN_ID, nl.Uint16Attr(5))))))
	f.Add(message(addrHead(unix.AF_INET, 24, 0, 3), attr(unix.IFA_LOCAL, []byte{10, 9, 0, 1}), attr(unix.IFA_FLAGS, nl.Uint32Attr(0x80))))
	f.Add(message([]byte{1, 1, 0, 0}, attr(netdevXDP, nl.Uint64Attr(0x23)), attr(netdevZCMaxSegs, nl.Uint32Attr(1))))
	f.Add(message([]byte{1, 1, 0, 0}, attr(unix.CTRL_ATTR_MCAST_GROUPS, nil, attr(1, nil, attr(unix.CTRL_ATTR_MCAST_GRP_ID, nl.Uint32Attr(9))))))
	f.Add(message([]byte{1, 1, 0, 0}, attr(netdevNAPIIfindex, nl.Uint32Attr(4)), attr(netdevNAPIID, nl.Uint32Attr(8193)),
		attr(netdevNAPIInterrupts, nl.Uint32Attr(2)), attr(netdevNAPITimeout, nl.Uint64Attr(200_000))))
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := parseLink(b); err == nil {
			l := m.link
			if l.MTU < 0 || l.Parent < 0 || l.RxQueues != l.MaxRxQueues || l.TxQueues < 0 || len(l.Programs) > 3 || l.Carrier && !l.Up {
				t.Errorf("link %+v", l)
			}
		}
		if m, err := parseAddr(b); err == nil && !m.addr.IsValid() {
			t.Errorf("address %+v", m)
		}
		if features, err := parseFeatures(b); err == nil && (!features.Known || features.ZCMaxSegs < 0) {
			t.Errorf("features %+v", features)
		}
		if c, err := parseChannels(b); err == nil {
			var l Link
			c.queues(&l)
			if l.MaxRxQueues < l.RxQueues || l.MaxTxQueues < l.TxQueues {
				t.Errorf("queues %+v", l)
			}
		}
		if s, err := parseNAPI(b); err == nil && (s.id == 0 || s.index < 0 || s.knobs.deferral().Interrupts < 0) {
			t.Errorf("NAPI %+v", s)
		}
		if _, err := parseQueueNAPI(b); err != nil && !errors.Is(err, unix.EBADMSG) {
			t.Errorf("queue: %v", err)
		}
		if q, err := parseQueue(b); err == nil && (q.ID < 0 || q.NAPI < 0) {
			t.Errorf("queue %+v", q)
		}
		if fam, err := parseFamily(b); err == nil && fam.groups == nil {
			t.Errorf("family %+v", fam)
		}
	})
}
