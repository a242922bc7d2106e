// SPDX-License-Identifier: MIT

package testnet

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
)

// Chain is three namespaces in a row, for what needs a router or a second
// interface. B forwards, and A and C know the way to each other through it.
//
//	A.IP4 10.9.0.1 ── BA.IP4 10.9.0.2 │ BC.IP4 10.9.1.1 ── C.IP4 10.9.1.2
//
// IPv6 addresses are fd09::1, ::2 and fd09:0:0:1::1, ::2. BA and BC share one NS.
type Chain struct {
	A, BA, BC, C End
}

// NewChain builds a Chain; both links are made as cfg says.
func NewChain(cfg Config) (*Chain, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	c := &Chain{}
	if err := c.build(cfg); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Chain) build(cfg Config) (err error) {
	for _, ns := range []**NS{&c.A.NS, &c.BA.NS, &c.C.NS} {
		if *ns, err = newNS(cfg.IPv6); err != nil {
			return err
		}
	}
	c.BC.NS = c.BA.NS
	if err := c.BA.NS.Do(func() error { return forward(cfg.IPv6) }); err != nil {
		return err
	}
	if err := join(&c.A, &c.BA, cfg, 0); err != nil {
		return err
	}
	if err := join(&c.BC, &c.C, cfg, 1); err != nil {
		return err
	}
	err = errors.Join(
		c.A.AddRoute(netip.PrefixFrom(c.C.IP4, 24), c.BA.IP4),
		c.C.AddRoute(netip.PrefixFrom(c.A.IP4, 24), c.BC.IP4))
	if cfg.IPv6 {
		err = errors.Join(err,
			c.A.AddRoute(netip.PrefixFrom(c.C.IP6, 64), c.BA.IP6),
			c.C.AddRoute(netip.PrefixFrom(c.A.IP6, 64), c.BC.IP6))
	}
	return err
}

// forward makes the calling thread's namespace a router.
func forward(ipv6 bool) error {
	paths := []string{"/proc/sys/net/ipv4/ip_forward"}
	if ipv6 {
		paths = append(paths, "/proc/sys/net/ipv6/conf/all/forwarding")
	}
	for _, path := range paths {
		if err := os.WriteFile(path, []byte("1"), 0); err != nil {
			return fmt.Errorf("testnet: forward packets: %w", err)
		}
	}
	return nil
}

// Close deletes both links and gives up the namespaces. Idempotent.
func (c *Chain) Close() error {
	return errors.Join(closeEnd(&c.A), closeEnd(&c.C), closeEnd(&c.BA), closeEnd(&c.BC))
}
