// SPDX-License-Identifier: MIT

package lane

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/internal/wait"
)

// patience bounds every wait for something that must come.
const patience = 5 * time.Second

// openOn opens a lane in the end's namespace; it is closed when the test ends.
func openOn(t *testing.T, end testnet.End, cfg Config) *Lane {
	t.Helper()
	l, err := tryOpenOn(end, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func tryOpenOn(end testnet.End, cfg Config) (l *Lane, err error) {
	err = end.NS.Do(func() error {
		l, err = Open(cfg)
		return err
	})
	return l, err
}

// at is a Config for a local address.
func at(local string) Config { return Config{Local: netip.MustParseAddrPort(local)} }

// peerOn opens a socket of package net in the end's namespace, as the other side.
func peerOn(t *testing.T, end testnet.End, network, local string) *net.UDPConn {
	t.Helper()
	var c *net.UDPConn
	err := end.NS.Do(func() error {
		addr, err := net.ResolveUDPAddr(network, local)
		if err != nil {
			return err
		}
		c, err = net.ListenUDP(network, addr)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(6 * patience)); err != nil {
		t.Fatal(err)
	}
	return c
}

func addrOf(c *net.UDPConn) netip.AddrPort {
	return unmap(c.LocalAddr().(*net.UDPAddr).AddrPort())
}

// linkLocal is the end's fe80 address, with its zone.
func linkLocal(t *testing.T, end testnet.End) netip.Addr {
	t.Helper()
	var found netip.Addr
	err := end.NS.Do(func() error {
		link, err := net.InterfaceByIndex(end.Index)
		if err != nil {
			return err
		}
		addrs, err := link.Addrs()
		for _, a := range addrs {
			p, parseErr := netip.ParsePrefix(a.String())
			if parseErr == nil && p.Addr().IsLinkLocalUnicast() {
				found = p.Addr().WithZone(end.Name)
			}
		}
		return err
	})
	if err != nil || !found.IsValid() {
		t.Fatalf("no link-local address on %s: %v", end.Name, err)
	}
	return found
}

// waiter waits for a lane's descriptor as package udp does.
type waiter struct {
	l   *Lane
	set wait.Set
}

// next receives something, an error included, and fails after patience.
func (w *waiter) next(t *testing.T, dst []Message) (int, error) {
	t.Helper()
	w.set.SetDeadline(time.Now().Add(patience))
	for {
		n, err := w.l.Receive(dst)
		if n > 0 || err != nil {
			return n, err
		}
		if err := w.set.Sleep(context.Background(), wait.Forever, w.l.FD()); err != nil {
			t.Fatalf("nothing arrived: %v", err)
		}
	}
}

// collect receives want datagrams, which the caller releases.
func collect(t *testing.T, l *Lane, want int) []Message {
	t.Helper()
	w := waiter{l: l}
	defer w.set.Close()
	msgs := make([]Message, want)
	for got := 0; got < want; {
		n, err := w.next(t, msgs[got:])
		if err != nil {
			t.Fatalf("after %d of %d datagrams: %v", got, want, err)
		}
		got += n
	}
	return msgs
}

// nothing fails if a datagram is there.
func nothing(t *testing.T, l *Lane) {
	t.Helper()
	msgs := make([]Message, 1)
	if n, err := l.Receive(msgs); n != 0 || err != nil {
		t.Errorf("received %d, %v (%d bytes from %v to %v), want nothing", n, err, len(msgs[0].Payload), msgs[0].Src, msgs[0].Dst)
		l.Release(msgs)
	}
}

// sendAll fails unless all is taken.
func sendAll(t *testing.T, l *Lane, out ...Outgoing) {
	t.Helper()
	if n, err := l.Send(out); n != len(out) || err != nil {
		t.Fatalf("sent %d of %d: %v", n, len(out), err)
	}
}

// writeTo fails unless the peer sends.
func writeTo(t *testing.T, c *net.UDPConn, to netip.AddrPort, payload []byte) {
	t.Helper()
	if n, err := c.WriteToUDPAddrPort(payload, to); n != len(payload) || err != nil {
		t.Fatalf("peer: %d of %d bytes to %v: %v", n, len(payload), to, err)
	}
}

// readFrom is the peer's next datagram.
func readFrom(t *testing.T, c *net.UDPConn) ([]byte, netip.AddrPort) {
	t.Helper()
	buf := make([]byte, maxDatagram)
	n, from, err := c.ReadFromUDPAddrPort(buf)
	if err != nil {
		t.Fatalf("peer: %v", err)
	}
	return buf[:n], unmap(from)
}

// until waits for a condition that the kernel brings about.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, patience)
		}
		_, _ = unix.Poll(nil, 1) // a millisecond, for the other threads
	}
}

// pattern is n bytes that tell their place.
func pattern(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i) ^ byte(i>>8)
	}
	return p
}

// interfaceByIndex looks in the calling thread's namespace.
func interfaceByIndex(index int) (*net.Interface, error) { return net.InterfaceByIndex(index) }
