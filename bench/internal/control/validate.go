// SPDX-License-Identifier: MIT

package control

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/xdpath/xdpath/bench/internal/camera"
	"github.com/xdpath/xdpath/bench/internal/stream"
)

// Bounds of what a controller may ask for.
const (
	MaxDuration = 10 * time.Minute // of a window
	MaxSize     = 65507            // payload bytes that an IPv4 packet holds
	MaxMTU      = 65535
	MaxHold     = 1 << 16
	MaxRate     = 1e9 // a second
	MaxRing     = 1 << 16
	MaxDelay    = time.Second
	MaxQueues   = 64
	maxText     = 4096 // bytes of any text in a message
	maxQueue    = 4095
	maxName     = 15 // bytes of the name of a test, or of an interface: IFNAMSIZ less its final zero
)

// validate tells what is wrong with m, if anything. A message that passes can
// be acted on without a look at its numbers.
func (m *Message) validate() error {
	bodies := 0
	for _, has := range []bool{m.Hello != nil, m.Prepare != nil, m.Ready != nil, m.Start != nil, m.Totals != nil, m.Error != nil,
		m.Challenge != nil, m.Open != nil, m.Welcome != nil} {
		if has {
			bodies++
		}
	}
	var want int
	var err error
	switch m.Type {
	case TypeHello:
		want, err = 1, m.Hello.validate()
	case TypePrepare:
		want, err = 1, m.Prepare.validate()
	case TypeReady:
		want, err = 1, need(m.Ready != nil)
	case TypeStart:
		want, err = 1, m.Start.validate()
	case TypeError:
		want, err = 1, m.Error.validate()
	case TypeTotals:
		want, err = bodies, need(bodies == 0 || m.Totals != nil)
		if err == nil && bodies > 1 {
			err = errBody
		}
	case TypeChallenge:
		want, err = 1, m.Challenge.validate()
	case TypeOpen:
		want, err = 1, m.Open.validate()
	case TypeWelcome:
		want, err = 1, m.Welcome.validate()
	case TypeStop, TypeClose, TypeBye, TypeOK, TypeWorker:
	default:
		return fmt.Errorf("unknown type %.40q", m.Type)
	}
	if err == nil && bodies != want {
		err = errBody
	}
	if err != nil {
		return fmt.Errorf("%s message: %w", m.Type, err)
	}
	return nil
}

var errBody = errors.New("the body does not belong to the type")

func need(ok bool) error {
	if !ok {
		return errBody
	}
	return nil
}

func (h *Hello) validate() error {
	if h == nil {
		return errBody
	}
	return between("length of interface", len(h.Interface), 0, maxName)
}

func (e *Error) validate() error {
	if e == nil {
		return errBody
	}
	return between("length of reason", len(e.Reason), 1, maxText)
}

func (s *Start) validate() error {
	if s == nil {
		return errBody
	}
	if s.Duration <= 0 || s.Duration > MaxDuration {
		return fmt.Errorf("duration %v: must be above 0 and at most %v", s.Duration, MaxDuration)
	}
	return rate(s.Rate)
}

func (p *Prepare) validate() error {
	if p == nil {
		return errBody
	}
	if p.Role != RoleSender && p.Role != RoleReceiver {
		return fmt.Errorf("role %.40q: there are %s and %s", p.Role, RoleSender, RoleReceiver)
	}
	for _, a := range []string{p.LocalMAC, p.PeerMAC} {
		if mac, err := net.ParseMAC(a); err != nil || len(mac) != 6 {
			return fmt.Errorf("hardware address %.40q: must be six bytes in hex with colons", a)
		}
	}
	if !p.Local.Addr().Is4() || !p.Peer.Addr().Is4() || p.Local.Port() == 0 || p.Peer.Port() == 0 {
		return fmt.Errorf("addresses %s and %s: must be IPv4 with a port", p.Local, p.Peer)
	}
	return errors.Join(
		between("length of test", len(p.Test), 1, maxName),
		between("length of path", len(p.Path), 1, maxText),
		between("length of parameter", len(p.Param), 0, maxText),
		between("length of interface", len(p.Interface), 1, maxName),
		between("queue", p.Queue, 0, maxQueue),
		between("size", p.Size, stream.HeaderSize, MaxSize),
		between("batch", p.Batch, 1, stream.MaxBatch),
		between("MTU", p.MTU, 68, MaxMTU),
		between("hold", p.Hold, 0, MaxHold),
		between("image", p.Image, 0, camera.MaxImage),
		rate(p.Rate),
		p.Row.settings(),
	)
}

// settings checks what paths are set to.
func (r *Row) settings() error {
	var errs error
	for name, n := range map[string]int{"ring": r.Ring, "RX ring": r.RX, "TX ring": r.TX, "fill ring": r.Fill} {
		if err := between(name, n, 0, MaxRing); err != nil || n&(n-1) != 0 {
			errs = errors.Join(errs, err, fmt.Errorf("%s %d: must be a power of two", name, n))
		}
	}
	if r.Delay < 0 || r.Delay > MaxDelay {
		errs = errors.Join(errs, fmt.Errorf("delay %v: must be 0 to %v", r.Delay, MaxDelay))
	}
	return errors.Join(errs, between("frames", r.Frames, 0, MaxRing), between("queues", r.Queues, 0, MaxQueues))
}

func rate(r float64) error {
	if !(r >= 0 && r <= MaxRate) {
		return fmt.Errorf("rate %v: must be 0 to %v", r, float64(MaxRate))
	}
	return nil
}

func between(what string, v, least, most int) error {
	if v < least || v > most {
		return fmt.Errorf("%s %d: must be %d to %d", what, v, least, most)
	}
	return nil
}
