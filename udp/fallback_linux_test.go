// SPDX-License-Identifier: MIT

package udp

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/umem"
	"github.com/xdpath/xdpath/xsk"
)

// Where AF_XDP cannot be had: refused with the reason, or, if allowed, the kernel
// lane alone, which says so and does all that both do.
func TestFallback(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	cfg := Config{Interface: pair.B.Name, Mode: xsk.ZeroCopy} // which veth has not
	if _, err := tryIn(pair.B.NS, cfg); !errors.Is(err, syscall.EOPNOTSUPP) {
		t.Errorf("refused with %v", err)
	}
	// The loopback interface is refused for what it is, not for its MTU.
	if _, err := tryIn(pair.B.NS, Config{Interface: "lo"}); !errors.Is(err, syscall.EOPNOTSUPP) || strings.Contains(err.Error(), "MTU") {
		t.Errorf("lo refused with %v", err)
	}
	l := newLink(t, testnet.Config{}, Config{Mode: xsk.ZeroCopy, Fallback: FallbackAllow, ReceiveBuffer: 4 << 20})
	if info := l.c.Info(); !errors.Is(info.Reason, syscall.EOPNOTSUPP) || !strings.Contains(info.String(), "kernel lane only") {
		t.Errorf("%v", info)
	}
	if err := l.peer.SetReadBuffer(4 << 20); err != nil {
		t.Fatal(err)
	}
	q := l.c.Queues()[0]
	os, ds := make([]Outgoing, 200), make([]Received, 200)
	buf := make([]byte, 2000)
	for _, size := range []int{8, 100, 1472} {
		n, err := q.Reserve(os)
		if n != len(os) || err != nil {
			t.Fatal(n, err)
		}
		for i := range os {
			os[i].Dst = l.from
			os[i].Payload = os[i].Payload[:size]
			copy(os[i].Payload, fmt.Sprintf("%08d", i))
		}
		os[199].Payload = os[199].Payload[:8]
		done := make(chan error, 1)
		go func() {
			for i := range os {
				l.peer.SetReadDeadline(time.Now().Add(2 * time.Second))
				k, src, err := l.peer.ReadFromUDPAddrPort(buf)
				want := size
				if i == 199 {
					want = 8
				}
				if err != nil || k != want || string(buf[:8]) != fmt.Sprintf("%08d", i) || src != l.to {
					done <- fmt.Errorf("datagram %d of %d bytes came as %d bytes %q from %v: %v", i, want, k, buf[:8], src, err)
					return
				}
				// And back.
				l.peer.WriteToUDPAddrPort(buf[:k], src)
			}
			done <- nil
		}()
		if n, err := q.Send(os); n != len(os) || err != nil {
			t.Fatal(n, err)
		}
		for got := 0; got < 200; {
			n, err := q.ReceiveContext(soon(t), ds)
			if err != nil {
				t.Fatal(err)
			}
			got += n
			if err := q.Release(ds[:n]); err != nil {
				t.Fatal(err)
			}
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	st, err := l.c.Stats()
	if err != nil || st.KernelTx != 600 || st.KernelRx != 600 || st.FastTx+st.FastRx != 0 || st.Kernel.SentBundles == 0 {
		t.Errorf("%v %+v", err, st)
	}
	// A bad one in the middle, a reply, and what is given up.
	q.Reserve(os[:3])
	for i := range os[:3] {
		os[i].Dst, os[i].Payload = l.from, os[i].Payload[:10+i]
	}
	os[1].Payload = make([]byte, 70000)
	if n, err := q.Send(os[:3]); n != 3 || !errors.Is(err, syscall.EMSGSIZE) || os[1].Payload == nil || os[2].Payload != nil {
		t.Errorf("%d: %v", n, err)
	}
	if err := q.Abort(os[:3]); err != nil {
		t.Error(err)
	}
	l.peer.WriteToUDPAddrPort([]byte("question"), l.to)
	if n, err := q.ReceiveContext(soon(t), ds[:1]); n != 1 || err != nil {
		t.Fatal(err)
	}
	if err := q.Reply(&ds[0], &os[0]); err != nil {
		t.Fatal(err)
	}
	if n, err := q.Send(os[:1]); n != 1 || err != nil {
		t.Error(n, err)
	}
	if n, err := q.Send(os[:1]); n != 1 || !errors.Is(err, umem.ErrFrame) {
		t.Errorf("sent twice: %d %v", n, err)
	}
	if err := l.c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := q.Reserve(os); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	if _, err := q.ReceiveContext(nil, ds); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}
