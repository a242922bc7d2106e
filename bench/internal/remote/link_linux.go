// SPDX-License-Identifier: MIT

package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/referee"
	"github.com/xdpath/xdpath/bench/internal/spawn"
	"github.com/xdpath/xdpath/internal/nic"
)

// Config says what a run on two machines needs.
type Config struct {
	Address   string // of the server's control port
	Interface string // of this machine
	Token     control.Token
	Command   []string      // starts a worker here
	Processor int           // for it
	Reverse   bool          // the server's end sends, or asks
	Longest   time.Duration // that the run takes at most
	Test      string
}

// Link is a referee.Link to a server: one worker here and one there.
type Link struct {
	cfg     Config
	own     nic.Link
	channel *channel // nil: to be opened anew
	worker  *spawn.Process
	ends    [2]*referee.End // here and there
}

var _ referee.Link = (*Link)(nil)

// workerTime bounds the wait for a worker that is started, after another has ended.
const workerTime = 20 * time.Second

// againTime is how long a server may take to see that our last session has ended.
const (
	againTime  = 20 * time.Second
	againEvery = 100 * time.Millisecond
)

// Dial opens a session.
func Dial(ctx context.Context, cfg Config) (*Link, error) {
	own, err := look(cfg.Interface)
	if err != nil {
		return nil, err
	}
	if len(own.MAC) != 6 {
		return nil, fmt.Errorf("%s is no Ethernet interface", own.Name)
	}
	l := &Link{cfg: cfg, own: own}
	l.channel, err = dial(ctx, cfg, own)
	return l, err
}

// MTU is the largest that both interfaces have.
func (l *Link) MTU() int { return min(l.own.MTU, l.channel.welcome.MTU) }

// Busy is how much of the server's machine was in use by other things, in percent.
func (l *Link) Busy() float64 { return l.channel.welcome.Busy }

// Ends implements referee.Link.
func (l *Link) Ends(ctx context.Context) (tx, rx *referee.End, err error) {
	if l.ends[1] != nil && l.ends[1].Lost() {
		_ = l.channel.close() // it is of no use any more
		l.channel, l.ends[1] = nil, nil
	}
	if l.channel == nil {
		if l.channel, err = l.again(ctx); err != nil {
			return nil, nil, err
		}
	}
	if err := errors.Join(l.here(ctx), l.there()); err != nil {
		return nil, nil, err
	}
	if l.cfg.Reverse {
		return l.ends[1], l.ends[0], nil
	}
	return l.ends[0], l.ends[1], nil
}

// again opens another session in the place of one that broke.
func (l *Link) again(ctx context.Context) (*channel, error) {
	tick := time.NewTicker(againEvery)
	defer tick.Stop()
	for begun := time.Now(); ; {
		s, err := dial(ctx, l.cfg, l.own)
		if err == nil || !isBusy(err) || time.Since(begun) > againTime {
			return s, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// here sees to the worker of this machine.
func (l *Link) here(ctx context.Context) error {
	if l.ends[0] != nil && !l.ends[0].Broken() {
		return nil
	}
	l.worker.Stop()
	w, err := spawn.Start(ctx, spawn.Config{Command: l.cfg.Command, Processor: l.cfg.Processor})
	if err != nil {
		return fmt.Errorf("start worker: %w", err)
	}
	l.worker = w
	e := referee.NewEnd(w.Conn, l.own.Name, l.channel.welcome.Client, l.own.MAC)
	e.NextHop, e.Keep = l.channel.hop, true
	if err := e.Greet(); err != nil {
		return fmt.Errorf("greet worker: %w", err)
	}
	l.ends[0] = e
	return nil
}

// there sees to the worker of the server.
func (l *Link) there() error {
	if l.ends[1] != nil && !l.ends[1].Broken() {
		return nil
	}
	w := l.channel.welcome
	mac, err := net.ParseMAC(w.MAC)
	if err != nil {
		return err
	}
	hop, err := net.ParseMAC(w.NextHop)
	if err != nil {
		return err
	}
	if _, err := l.channel.Call(control.Message{Type: control.TypeWorker}, workerTime); err != nil {
		return fmt.Errorf("start worker at %s: %w", l.cfg.Address, err)
	}
	e := referee.NewEnd(l.channel.Conn, w.Interface, w.Addr, mac)
	e.NextHop, e.Keep = hop, true
	if err := e.Greet(); err != nil {
		return fmt.Errorf("greet worker at %s: %w", l.cfg.Address, err)
	}
	l.ends[1] = e
	return nil
}

// Ready implements referee.Link. The interfaces are not the bench's own: it changes
// none of their settings.
func (l *Link) Ready(row control.Row) error {
	if have := l.MTU(); row.MTU != have {
		return fmt.Errorf("needs an MTU of %d, %s here has %d and %s there %d; the bench leaves them as they are: ip link set dev %s mtu %d changes one",
			row.MTU, l.own.Name, l.own.MTU, l.channel.welcome.Interface, l.channel.welcome.MTU, l.own.Name, row.MTU)
	}
	return separate(l.cfg.Test, row, l.own.Name, l.channel.shared)
}

// Close ends the session and the workers.
func (l *Link) Close() error {
	l.worker.Stop()
	if l.channel == nil {
		return nil
	}
	if e := l.ends[1]; e != nil && !e.Lost() {
		_, _ = l.channel.Call(control.Message{Type: control.TypeBye}, workerTime) // best effort: it sees the end as well
	}
	return l.channel.close()
}
