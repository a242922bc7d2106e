// SPDX-License-Identifier: MIT

package udp

import (
	"testing"
	"time"

	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/internal/testnet"
)

// Receive coalescing is the interface's setting: it is there while the Conn is,
// and not afterwards.
func TestRxCoalesce(t *testing.T) {
	l := newLink(t, testnet.Config{}, Config{Attach: bpf.Native, RxCoalesce: RxCoalesce{Timeout: 100 * time.Microsecond}})
	if len(l.c.deferred.Info()) == 0 {
		t.Fatal("nothing was deferred")
	}
	for _, s := range l.c.deferred.Info() {
		if s.New.Timeout != 100*time.Microsecond || s.New.Interrupts == 0 || s.Old == s.New {
			t.Errorf("%v", s)
		}
	}
	q, ds := l.c.queues[0], make([]Received, 1)
	for range 20 {
		l.peer.WriteToUDPAddrPort([]byte("x"), l.to)
		if n, err := q.ReceiveContext(soon(t), ds); n != 1 || err != nil {
			t.Fatal(err)
		}
		q.Release(ds)
	}
	old := l.c.deferred.Info()[0].Old
	if err := l.c.Close(); err != nil {
		t.Fatal(err)
	}
	again := listenIn(t, l.pair.B.NS, Config{Interface: l.pair.B.Name, Local: l.to, Attach: bpf.Native, RxCoalesce: RxCoalesce{Timeout: time.Millisecond}})
	if got := again.deferred.Info()[0].Old; got != old {
		t.Errorf("before the next: %v, before the first: %v", got, old)
	}
	if _, err := tryIn(l.pair.B.NS, Config{Interface: l.pair.B.Name, Local: l.to, RxCoalesce: RxCoalesce{Timeout: time.Hour}}); err == nil {
		t.Error("an hour of coalescing")
	}
}
