// SPDX-License-Identifier: MIT

package referee

import (
	"context"
	"errors"
	"fmt"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/cpu"
	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/path"
	"github.com/xdpath/xdpath/internal/testnet"
)

// A Chain is a Link of two workers with a namespace between them that forwards, in the
// way that a row's path says. The forwarder is of this process, so that it needs no
// protocol; it has a processor of its own if there are two.
type Chain struct {
	crew
	chain     *testnet.Chain
	processor int // of the forwarder
	mtu       int
	row       control.Row
	forwarder path.End // nil: none is open
}

// NewChain makes three namespaces in a row, and the two links between them.
func NewChain(command ...string) (*Chain, error) {
	allowed, err := cpu.Allowed()
	if err != nil {
		return nil, err
	}
	chain, err := testnet.NewChain(testnet.Config{MTU: usualMTU})
	if err != nil {
		return nil, err
	}
	l := &Chain{
		crew:  crew{command: command, cpus: [2]int{allowed[0], allowed[0]}},
		chain: chain, mtu: usualMTU, processor: allowed[min(1, len(allowed)-1)],
	}
	if err := errors.Join(
		chain.BA.AddNeigh(chain.A.IP4, chain.A.MAC), chain.BC.AddNeigh(chain.C.IP4, chain.C.MAC),
	); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Ends implements Link.
func (l *Chain) Ends(ctx context.Context) (tx, rx *End, err error) {
	if err := l.man(ctx, l.chain.A, l.chain.C); err != nil {
		return nil, nil, err
	}
	l.ends[0].NextHop, l.ends[1].NextHop = l.chain.BA.MAC, l.chain.BC.MAC
	return l.ends[0], l.ends[1], nil
}

// Ready implements Link. The forwarder is opened with the ends, which a veth needs.
func (l *Chain) Ready(row control.Row) error {
	if row.MTU != l.mtu {
		l.mtu = 0 // of none, if only one of them changes
		for _, end := range []*testnet.End{&l.chain.A, &l.chain.BA, &l.chain.BC, &l.chain.C} {
			if err := end.SetMTU(row.MTU); err != nil {
				return err
			}
		}
		l.mtu = row.MTU
	}
	l.row = row
	return nil
}

// Open implements Middle.
func (l *Chain) Open() error {
	p, err := path.Find(l.row.Path, path.Cross)
	if err != nil {
		return err
	}
	a := path.Leg{Interface: l.chain.BA.Name, MAC: l.chain.BA.MAC, PeerMAC: l.chain.A.MAC}
	b := path.Leg{Interface: l.chain.BC.Name, MAC: l.chain.BC.MAC, PeerMAC: l.chain.C.MAC}
	// Both ends have the same port.
	cfg := path.Config{Local: l.ends[0].addr(crossPort), Size: l.row.Size, MTU: l.row.MTU, Processor: l.processor}
	return l.inside(func() (err error) { l.forwarder, err = p.Forward(a, b, cfg); return err })
}

// Mode implements Middle.
func (l *Chain) Mode() string { return l.forwarder.Info().Mode }

// Counters implements Middle.
func (l *Chain) Counters() (counts loss.Counts, err error) {
	err = l.inside(func() (err error) { counts, err = l.forwarder.Counters(); return err })
	return counts, err
}

// Shut implements Middle.
func (l *Chain) Shut() error {
	if l.forwarder == nil {
		return nil
	}
	err := l.inside(l.forwarder.Close)
	l.forwarder = nil
	return err
}

func (l *Chain) inside(f func() error) error {
	if err := l.chain.BA.NS.Do(f); err != nil {
		return fmt.Errorf("forwarder: %w", err)
	}
	return nil
}

// Close ends workers and forwarder, and gives up the namespaces.
func (l *Chain) Close() error {
	l.dismiss()
	return errors.Join(l.Shut(), l.chain.Close())
}
