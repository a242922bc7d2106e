// SPDX-License-Identifier: MIT

package udp

import (
	"testing"
	"time"

	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/internal/testnet"
)

// What veth knows of a datagram: the hash that the sending kernel made, no
// timestamp unless somebody asked for one.
func TestMetadata(t *testing.T) {
	l := newLink(t, testnet.Config{}, Config{Metadata: bpf.MetadataAuto, Attach: bpf.Native, Timestamps: true})
	if l.c.Info().Program.Metadata == 0 {
		t.Skipf("driver or kernel offer no metadata: %v", l.c.Info().Program.Attempts)
	}
	q, ds := l.c.queues[0], make([]Received, 1)
	var hash uint32
	for i := range 5 {
		start := time.Now()
		l.peer.WriteToUDPAddrPort([]byte("hello"), l.to)
		if n, err := q.ReceiveContext(soon(t), ds); n != 1 || err != nil {
			t.Fatal(err)
		}
		m, ok := q.Metadata(&ds[0])
		if !ok || m.Fields&bpf.HasHash == 0 || m.Hash == 0 {
			t.Errorf("%v %+v", ok, m)
		}
		if i > 0 && m.Hash != hash {
			t.Errorf("one flow has hashes %#x and %#x", hash, m.Hash)
		}
		hash = m.Hash
		if ds[0].Time.Before(start) || time.Since(ds[0].Time) < 0 {
			t.Errorf("received at %v", ds[0].Time)
		}
		if string(ds[0].Payload) != "hello" {
			t.Errorf("%q", ds[0].Payload)
		}
		q.Release(ds)
		if _, ok := q.Metadata(&ds[0]); ok {
			t.Error("metadata of a datagram that was given back")
		}
	}
	plain := newLink(t, testnet.Config{}, Config{})
	plain.peer.WriteToUDPAddrPort([]byte("hello"), plain.to)
	if n, err := plain.c.queues[0].ReceiveContext(soon(t), ds); n != 1 || err != nil {
		t.Fatal(err)
	}
	if m, ok := plain.c.queues[0].Metadata(&ds[0]); ok || !ds[0].Time.IsZero() {
		t.Errorf("metadata without a program for them: %+v at %v", m, ds[0].Time)
	}
	plain.c.queues[0].Release(ds)
}
