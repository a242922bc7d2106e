// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/testnet"
)

func TestParseQueue(t *testing.T) {
	id, rx := attr(netdevQueueID, nl.Uint32Attr(3)), attr(netdevQueueType, nl.Uint32Attr(queueRx))
	for _, tc := range []struct {
		name  string
		attrs []*nl.RtAttr
		want  Queue
		bad   bool
	}{
		{"told nothing", []*nl.RtAttr{id, rx}, Queue{ID: 3, Rx: true}, false},
		{"all", []*nl.RtAttr{id, rx, attr(netdevQueueNAPI, nl.Uint32Attr(8193)), attr(netdevQueueXSK|unix.NLA_F_NESTED, nil)},
			Queue{ID: 3, Rx: true, NAPI: 8193, XSK: true}, false},
		{"transmit", []*nl.RtAttr{id, attr(netdevQueueType, nl.Uint32Attr(1))}, Queue{ID: 3}, false},
		{"no number", []*nl.RtAttr{rx}, Queue{}, true},
		{"cut", []*nl.RtAttr{attr(netdevQueueID, []byte{1})}, Queue{}, true},
	} {
		got, err := parseQueue(message(genericHead, tc.attrs...))
		if got != tc.want || (err != nil) != tc.bad || tc.bad && !errors.Is(err, unix.EBADMSG) {
			t.Errorf("%s: got %+v, %v", tc.name, got, err)
		}
	}
}

// Queues and pollers come and go with what makes them.
func TestQueuesAndNAPIs(t *testing.T) {
	p := testnet.TestPair(t, testnet.Config{Queues: 3})
	idle := openEnd(t, &p.B)
	if napis, err := idle.NAPIs(); len(napis) != 0 || err != nil {
		t.Errorf("without a program: %+v, %v", napis, err)
	}
	q, n := napiPair(t, 2)
	queues, err := n.Queues()
	must(t, err)
	if len(queues) != 4 || !queues[0].Rx || queues[1].ID != 1 || queues[2].Rx || queues[0].XSK {
		t.Errorf("queues %+v", queues)
	}
	napis, err := n.NAPIs()
	must(t, err)
	if len(napis) != 2 || !napis[0].Known || napis[0].IRQ != 0 || napis[0].Deferral != (Deferral{}) {
		t.Errorf("pollers %+v", napis)
	}
	d, err := n.DeferNAPI(nil, Deferral{Interrupts: 3, Timeout: time.Millisecond})
	must(t, err)
	if napis, err = n.NAPIs(); err != nil || napis[1].Deferral != (Deferral{Interrupts: 3, Timeout: time.Millisecond}) {
		t.Errorf("deferred: %+v, %v", napis, err)
	}
	must(t, d.Restore())
	must(t, q.B.SetUp(false))
	if queues, err = n.Queues(); len(queues) != 0 || err != nil {
		t.Errorf("down: %+v, %v", queues, err)
	}
	n.netdev.commands = nil
	if _, err = n.Queues(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("an old kernel: %v", err)
	}
	must(t, n.Close())
	if _, err = n.NAPIs(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}
