// SPDX-License-Identifier: MIT

package testnet

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
)

// Config says what NewPair builds. The zero value is a plain pair: one queue, MTU
// 1500, IPv4 only.
type Config struct {
	// Queues is the number of active receive and transmit queues of each end, 1 if
	// zero. SetQueues can later go up to 8, or to Queues if that is more.
	Queues int
	// MTU of both ends in bytes, 1500 if zero.
	MTU int
	// IPv6 adds fd09::1/64 and fd09::2/64 and leaves the ends their link-local
	// addresses. Without it IPv6 is off in both namespaces, so that no multicast
	// report or router solicitation disturbs a test that counts frames.
	IPv6 bool
	// Prefix begins the names of the interfaces, "xp" if empty, at most 8 bytes.
	Prefix string
}

const (
	minMaxQueues = 8     // queues a pair can grow to by SetQueues
	maxQueues    = 4096  // what veth accepts
	minMTU       = 68    // what veth and IPv4 accept
	maxMTU       = 65535 // what veth accepts
	maxPrefix    = 8     // leaves 7 of the 15 bytes of a name: a letter and 6 digits
)

func (c Config) withDefaults() Config {
	if c.Queues == 0 {
		c.Queues = 1
	}
	if c.MTU == 0 {
		c.MTU = 1500
	}
	if c.Prefix == "" {
		c.Prefix = "xp"
	}
	return c
}

func (c Config) validate() error {
	var errs []error
	if c.Queues < 1 || c.Queues > maxQueues {
		errs = append(errs, fmt.Errorf("testnet: Config.Queues %d: want 1 to %d", c.Queues, maxQueues))
	}
	if c.MTU < minMTU || c.MTU > maxMTU {
		errs = append(errs, fmt.Errorf("testnet: Config.MTU %d: want %d to %d", c.MTU, minMTU, maxMTU))
	}
	if len(c.Prefix) > maxPrefix {
		errs = append(errs, fmt.Errorf("testnet: Config.Prefix %q: want at most %d bytes", c.Prefix, maxPrefix))
	}
	return errors.Join(errs...)
}

// Pair is two namespaces joined by a veth. It owns both.
type Pair struct {
	A, B End // 10.9.0.1/24 and 10.9.0.2/24, with IPv6 fd09::1/64 and fd09::2/64
}

// NewPair makes the two namespaces and the veth between them. When it returns,
// both ends are up and have carrier, and their addresses can be used at once.
// The names of the two interfaces differ and are new for every pair.
func NewPair(cfg Config) (*Pair, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	p := &Pair{}
	if err := p.build(cfg); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *Pair) build(cfg Config) (err error) {
	if p.A.NS, err = newNS(cfg.IPv6); err != nil {
		return err
	}
	if p.B.NS, err = newNS(cfg.IPv6); err != nil {
		return err
	}
	return join(&p.A, &p.B, cfg, 0)
}

// Close deletes the veth and gives up both namespaces. Sockets and processes still
// inside keep their namespace, but not the interfaces. Idempotent.
func (p *Pair) Close() error {
	return errors.Join(closeEnd(&p.A), closeEnd(&p.B))
}

// closeEnd deletes the interface before the handle is given up: a namespace is
// taken down by the kernel some time later, the interface is gone on return.
func closeEnd(e *End) error {
	if e.NS == nil {
		return nil
	}
	err := e.Delete()
	if isGone(err) {
		err = nil
	}
	return errors.Join(err, e.NS.Close())
}

// subnet is the n-th link's network: 10.9.n.0/24 and fd09:0:0:n::/64.
func subnet(n int, host byte) (ip4, ip6 netip.Addr) {
	ip4 = netip.AddrFrom4([4]byte{10, 9, byte(n), host})
	ip6 = netip.AddrFrom16([16]byte{0: 0xfd, 1: 0x09, 7: byte(n), 15: host})
	return ip4, ip6
}

// newNames returns the names of two ends, with one random number for both.
func newNames(prefix string) (a, b string) {
	id := rand.Uint32N(1 << 24)
	return fmt.Sprintf("%sa%06x", prefix, id), fmt.Sprintf("%sb%06x", prefix, id)
}
