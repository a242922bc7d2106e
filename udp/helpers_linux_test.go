// SPDX-License-Identifier: MIT

package udp

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/xdpath/xdpath/internal/testnet"
)

// listenIn opens a Conn in a namespace, and closes it after the test.
func listenIn(t testing.TB, ns *testnet.NS, cfg Config) *Conn {
	t.Helper()
	c, err := tryIn(ns, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		for _, q := range c.queues {
			a := q.sock.Area()
			if s := a.Snapshot(); s.Sum() != s.Total || s.Free != s.Total {
				t.Errorf("chunks after close: %v", s)
			}
			if err := a.Check(); err != nil {
				t.Error(err)
			}
		}
	})
	return c
}

func tryIn(ns *testnet.NS, cfg Config) (c *Conn, err error) {
	err = ns.Do(func() error {
		c, err = Listen(context.Background(), cfg)
		return err
	})
	return c, err
}

// kernelIn opens a net.UDPConn in a namespace.
func kernelIn(t testing.TB, ns *testnet.NS, local netip.AddrPort) *net.UDPConn {
	t.Helper()
	var c *net.UDPConn
	err := ns.Do(func() (err error) {
		c, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(local))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// link is a Conn on end B of a pair and a kernel socket on end A.
type link struct {
	pair *testnet.Pair
	c    *Conn
	peer *net.UDPConn
	to   netip.AddrPort // the Conn
	from netip.AddrPort // the peer
}

const port = 5000

func newLink(t testing.TB, net testnet.Config, cfg Config) *link {
	t.Helper()
	return newLinkOn(t, testnet.TestPair(t, net), cfg)
}

// newLinkOn is newLink on a pair that there is.
func newLinkOn(t testing.TB, pair *testnet.Pair, cfg Config) *link {
	t.Helper()
	l := &link{pair: pair}
	l.to = netip.AddrPortFrom(l.pair.B.IP4, port)
	l.from = netip.AddrPortFrom(l.pair.A.IP4, 4000)
	cfg.Interface = l.pair.B.Name
	if !cfg.Local.IsValid() {
		cfg.Local = l.to
	}
	l.c = listenIn(t, l.pair.B.NS, cfg)
	l.peer = kernelIn(t, l.pair.A.NS, l.from)
	return l
}

// soon bounds a wait that should not be long.
func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	t.Cleanup(cancel)
	return ctx
}
