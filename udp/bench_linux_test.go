// SPDX-License-Identifier: MIT

package udp

import (
	"fmt"
	"testing"

	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/umem"
)

// What is our part of a datagram's way, without the kernel's. A value that is copied
// once more on it shows here.

// perDatagram reports the time of one datagram of a batch.
func perDatagram(b *testing.B) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batch, "ns/datagram")
}

// BenchmarkDecode is what making datagrams of received packets costs.
func BenchmarkDecode(b *testing.B) {
	for _, size := range []int{64, 1472, 8000} {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			l := newLink(b, testnet.Config{MTU: 9000}, Config{})
			q := l.c.queues[0]
			for range batch {
				l.peer.WriteToUDPAddrPort(make([]byte, size), l.to)
			}
			frames := make([]umem.Frame, 6*batch)
			n, ds := 0, make([]Received, batch)
			for packets := 0; packets < batch; {
				k, err := q.sock.ReceiveContext(soon(b), frames[n:])
				if err != nil {
					b.Fatal(err)
				}
				for _, f := range frames[n : n+k] {
					if !f.More() {
						packets++
					}
				}
				n += k
			}
			for b.Loop() {
				if k, _ := q.sort(ds, frames[:n]); k != batch {
					b.Fatal("no datagram")
				}
				for i := range ds { // without the frames, which we go on to use
					if x := ds[i].extra; x != nil && x.end(ds[i].use) {
						q.extras = x.push(q.extras)
					}
				}
			}
			perDatagram(b)
			q.sock.Release(frames[:n])
		})
	}
}

// BenchmarkRelease is what giving received datagrams back costs.
func BenchmarkRelease(b *testing.B) {
	_, tx, rx := twoConns(b, Config{}, Config{})
	f, q, ds := resolve(b, tx, rx), rx.queues[0], make([]Received, batch)
	for b.Loop() {
		b.StopTimer()
		sendAll(b, tx.queues[0], f, 0, batch, 64)
		for n := 0; n < batch; {
			k, err := q.ReceiveContext(soon(b), ds[n:])
			if err != nil {
				b.Fatal(err)
			}
			n += k
		}
		b.StartTimer()
		if err := q.Release(ds); err != nil {
			b.Fatal(err)
		}
	}
	perDatagram(b)
}

// BenchmarkPlace is what reserving datagrams, giving them headers, and giving their
// frames back costs.
func BenchmarkPlace(b *testing.B) {
	_, tx, rx := twoConns(b, Config{TxChecksum: TxNone}, Config{})
	f, q, os := resolve(b, tx, rx), tx.queues[0], make([]Outgoing, batch)
	for b.Loop() {
		if n, err := q.Reserve(os); n != batch || err != nil {
			b.Fatal(n, err)
		}
		q.txMu.Lock()
		for i := range os {
			os[i].Flow, os[i].Payload = f, os[i].Payload[:64]
			if err := q.place(&os[i]); err != nil {
				b.Fatal(err)
			}
		}
		q.sock.Release(q.tx)
		q.tx, q.sizes = q.tx[:0], q.sizes[:0]
		q.txMu.Unlock()
	}
	perDatagram(b)
}
