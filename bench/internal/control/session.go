// SPDX-License-Identifier: MIT

package control

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
)

// The types of messages between a client and the server on another machine, beside
// those for its worker.
const (
	TypeChallenge Type = "challenge"
	TypeOpen      Type = "open"
	TypeWelcome   Type = "welcome"
	TypeWorker    Type = "worker" // start a worker; the one before it ends
)

// A Challenge is what a server says first.
type Challenge struct {
	Nonce []byte `json:"nonce"`
	Token bool   `json:"token"` // the client must prove that it has one
}

// Open asks for a session.
type Open struct {
	Nonce   []byte         `json:"nonce"`
	Proof   []byte         `json:"proof,omitempty"`
	Addrs   []netip.Prefix `json:"addrs"`   // IPv4, of the client's interface
	Longest time.Duration  `json:"longest"` // nanoseconds that the session takes at most
}

// A Welcome is the answer to it: who sends to whom.
type Welcome struct {
	Proof     []byte     `json:"proof,omitempty"`
	Interface string     `json:"interface"`
	Addr      netip.Addr `json:"addr"`   // the server's
	Client    netip.Addr `json:"client"` // which of its addresses the client shall have
	MAC       string     `json:"mac"`
	NextHop   string     `json:"next_hop"` // hardware address towards the client
	MTU       int        `json:"mtu"`
	Busy      float64    `json:"busy_pct"` // of the server's machine, by other things
}

const (
	MaxAddrs = 64 // of an interface
	maxProof = 64 // bytes
	// MaxSession is the longest that a session may be asked to take.
	MaxSession = 7 * 24 * time.Hour
)

func (c *Challenge) validate() error {
	if c == nil {
		return errBody
	}
	return between("length of nonce", len(c.Nonce), NonceSize, NonceSize)
}

func (o *Open) validate() error {
	if o == nil {
		return errBody
	}
	if o.Longest <= 0 || o.Longest > MaxSession {
		return fmt.Errorf("session of %v: must be above 0 and at most %v", o.Longest, MaxSession)
	}
	for _, a := range o.Addrs {
		if !a.IsValid() || !a.Addr().Is4() {
			return fmt.Errorf("address %s: must be IPv4 with a prefix length", a)
		}
	}
	return errors.Join(
		between("length of nonce", len(o.Nonce), NonceSize, NonceSize),
		between("length of proof", len(o.Proof), 0, maxProof),
		between("number of addresses", len(o.Addrs), 1, MaxAddrs),
	)
}

func (w *Welcome) validate() error {
	if w == nil {
		return errBody
	}
	if !w.Addr.Is4() || !w.Client.Is4() {
		return fmt.Errorf("addresses %s and %s: must be IPv4", w.Addr, w.Client)
	}
	for _, a := range []string{w.MAC, w.NextHop} {
		if mac, err := net.ParseMAC(a); err != nil || len(mac) != 6 {
			return fmt.Errorf("hardware address %.40q: must be six bytes in hex with colons", a)
		}
	}
	return errors.Join(
		between("length of proof", len(w.Proof), 0, maxProof),
		between("length of interface", len(w.Interface), 1, maxName),
		between("MTU", w.MTU, 68, MaxMTU),
	)
}
