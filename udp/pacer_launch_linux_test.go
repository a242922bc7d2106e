// SPDX-License-Identifier: MIT

package udp

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/xdpath/xdpath/internal/packet"
	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/umem"
	"github.com/xdpath/xdpath/xsk"
)

// A device without launch times leaves the pacing to the loop, and Info says so.
func TestLaunchTimeMissing(t *testing.T) {
	_, a, f := sender(t, Config{LaunchClock: ClockTAI})
	if a.Info().LaunchTime {
		t.Fatal("veth has launch times now: test with them")
	}
	p := newPacer(t, 100*time.Microsecond)
	paced(t, a.queues[0], f, p, 20, 64)
	st, err := a.Stats()
	if err != nil || st.Sockets[0].TxWakeups < 20 {
		t.Errorf("%d kicks for 20 datagrams: %v", st.Sockets[0].TxWakeups, err)
	}
}

// launcher is a Conn that takes veth for a device with launch times. The kernel takes
// them (Linux 6.15), and veth sends at once. Offload makes it leave room for metadata.
func launcher(t *testing.T, end testnet.End, cfg Config) *Conn {
	t.Helper()
	cfg.Interface, cfg.LaunchClock, cfg.TxChecksum = end.Name, ClockTAI, TxOffload
	c := listenIn(t, end.NS, cfg)
	if c.planLaunch(true); !c.Info().LaunchTime {
		t.Error("not told")
	}
	return c
}

// fastFlow is a flow that has its fast lane.
func fastFlow(t testing.TB, c *Conn, to netip.AddrPort) *Flow {
	t.Helper()
	f := c.Flow(to)
	hello := f.hello(t)
	for end := time.Now().Add(5 * time.Second); f.MaxPayload() == 0 || c.stats.fastTx.Load() == 0; {
		if hello(); time.Now().After(end) {
			t.Fatal(f)
		}
	}
	return f
}

// The metadata before a frame say when it is to leave, whatever the headers' length and
// wherever the payload was.
func TestLaunchTimeMetadata(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{IPv6: true})
	for _, c := range []struct {
		name  string
		local netip.Addr
		to    netip.Addr
		sum   bool // is left to the device
	}{
		{"IPv4", pair.A.IP4, pair.B.IP4, true},
		{"IPv6", pair.A.IP6, pair.B.IP6, true},
		{"our own checksum", pair.A.IP4, pair.B.IP4, false},
		// Headers of IPv6 do not begin on a multiple of 8 in a frame made for IPv4.
		{"IPv6 by an address for both", netip.Addr{}, pair.B.IP6, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			to := netip.AddrPortFrom(c.to, port)
			kernelIn(t, pair.B.NS, to)
			conn := launcher(t, pair.A, Config{Local: netip.AddrPortFrom(c.local, 0)})
			conn.offload = conn.offload && c.name != "our own checksum"
			f := fastFlow(t, conn, to)
			q, tmpl := conn.queues[0], &f.current().tmpl
			stamped(t, q, f, func(frame umem.Frame, launch time.Duration) { checkLaunch(t, q, frame, tmpl, launch, c.sum) })
		})
	}
}

// stamped makes frames with launch times, and sends some.
func stamped(t *testing.T, q *Queue, f *Flow, check func(umem.Frame, time.Duration)) {
	t.Helper()
	os := make([]Outgoing, 2)
	if n, err := q.Reserve(os); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	defer q.Abort(os)
	os[0].Payload = append(os[0].Payload[:0], "in place"...)
	os[1].Payload = []byte("elsewhere")
	launch := ClockTAI()
	for i := range os {
		launch++
		os[i].launch = launch
		frame, err := q.stamp(&os[i], &f.current().tmpl)
		if err != nil {
			t.Fatal(err)
		}
		check(frame, launch)
	}
	q.txMu.Lock()
	defer q.txMu.Unlock()
	q.free = 0
	if err := q.placeGather(&Gather{Header: []byte("from pieces"), Flow: f, launch: launch}, xsk.Ticket{}); err != nil || len(q.tx) != 1 {
		t.Fatalf("%d frames staged: %v", len(q.tx), err)
	}
	check(q.tx[0], launch)
	if err := errors.Join(q.commit(), q.kick()); err != nil {
		t.Error(err)
	}
}

// checkLaunch looks at the bytes that the device would.
func checkLaunch(t *testing.T, q *Queue, frame umem.Frame, tmpl *packet.Template, launch time.Duration, sum bool) {
	t.Helper()
	area := q.sock.Area()
	b, err := area.Bytes(frame)
	if u, reason := packet.Parse(b); err != nil || reason != packet.OK || u.Offset != tmpl.Len() || !frame.Metadata() || frame.Offset()%8 != 0 {
		t.Errorf("%v in %v: %v", reason, frame, err)
	}
	front, err := area.Shift(frame, -xsk.TxMetadataSize)
	if err != nil {
		t.Fatal(err)
	}
	meta, err := area.Bytes(front)
	if err != nil {
		t.Fatal(err)
	}
	// struct xsk_tx_metadata: flags; checksum start and offset; launch time.
	flags := uint64(1 << 2)
	if sum {
		flags |= 1 << 1
	}
	if got := binary.NativeEndian.Uint64(meta); got != flags {
		t.Errorf("flags %#x, want %#x", got, flags)
	}
	if got := binary.NativeEndian.Uint64(meta[16:]); got != uint64(launch) {
		t.Errorf("launch time %d, want %d", got, launch)
	}
}

// Datagrams with launch times go many with a kick, ahead of their times, and arrive
// whole; what the kernel lane takes goes when it is due.
func TestLaunchTimeTraffic(t *testing.T) {
	const n, gap = 500, 20 * time.Microsecond
	pair := testnet.TestPair(t, testnet.Config{})
	a := launcher(t, pair.A, Config{})
	kernelIn(t, pair.B.NS, netip.AddrPortFrom(pair.B.IP4, port))
	f := fastFlow(t, a, netip.AddrPortFrom(pair.B.IP4, port))
	tap, p, q := newTap(t, pair.B, f.hello(t)), newPacer(t, gap), a.queues[0]
	before, _ := a.Stats()
	begun := ClockTAI()
	paced(t, q, f, p, n, 100)
	tap.arrivals(t, n)
	st, _ := a.Stats()
	if kicks := st.Sockets[0].TxWakeups - before.Sockets[0].TxWakeups; kicks > n/5 || st.Sockets[0].TxInvalid > 0 || st.FastTx-before.FastTx != n {
		t.Errorf("%d kicks for %d datagrams; %v", kicks, n, st)
	}
	got := p.Stats()
	if got.Count != n-1 || got.Min < gap/catchUp || p.from < begun+(n-1)*gap || p.from > ClockTAI()+launchMost {
		t.Errorf("the last is to leave after %v; %v", p.from-begun, got)
	}
	// Over the MTU: the kernel lane's, and not before its time.
	os := make([]Outgoing, 2)
	if k, err := q.Reserve(os); k != 2 || err != nil {
		t.Fatal(k, err)
	}
	for i := range os {
		os[i].Flow, os[i].Payload = f, make([]byte, 3000)
	}
	due := p.from + 2*gap
	if k, err := q.SendPaced(soon(t), os, p); k != 2 || err != nil {
		t.Error(k, err)
	}
	if now, _ := a.Stats(); now.KernelTx-st.KernelTx != 2 || ClockTAI() < due {
		t.Errorf("%d by the kernel lane, %v before their time", now.KernelTx-st.KernelTx, due-ClockTAI())
	}
}
