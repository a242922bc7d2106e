// SPDX-License-Identifier: MIT

package udp

import (
	"fmt"
	"testing"
	"time"

	"github.com/xdpath/xdpath/internal/testnet"
)

// A datagram there and back, by the PacketConn and by the Queue, on both lanes.
func TestThereAndBack(t *testing.T) {
	l := newLink(t, testnet.Config{}, Config{})
	p := l.c.PacketConn()
	buf := make([]byte, 2048)
	for i := range 20 {
		msg := fmt.Sprint("datagram ", i)
		if _, err := l.peer.WriteToUDPAddrPort([]byte(msg), l.to); err != nil {
			t.Fatal(err)
		}
		p.SetReadDeadline(time.Now().Add(5 * time.Second))
		n, src, err := p.ReadFromUDPAddrPort(buf)
		if err != nil || string(buf[:n]) != msg || src != l.from {
			t.Fatalf("%q from %v: %v", buf[:n], src, err)
		}
		if _, err := p.WriteToUDPAddrPort([]byte("re: "+msg), src); err != nil {
			t.Fatal(err)
		}
		l.peer.SetReadDeadline(time.Now().Add(5 * time.Second))
		n, src, err = l.peer.ReadFromUDPAddrPort(buf)
		if err != nil || string(buf[:n]) != "re: "+msg || src != l.to {
			t.Fatalf("%q from %v: %v", buf[:n], src, err)
		}
	}
	st, err := l.c.Stats()
	t.Log(l.c.Info(), st)
	if err != nil || st.FastRx != 20 || st.FastTx == 0 {
		t.Errorf("%v %+v", err, st)
	}
}
