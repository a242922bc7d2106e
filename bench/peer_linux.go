// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/cpu"
	"github.com/xdpath/xdpath/bench/internal/path"
	"github.com/xdpath/xdpath/bench/internal/referee"
	"github.com/xdpath/xdpath/bench/internal/remote"
)

// workerCommand starts a worker: this program again.
var workerCommand = []string{"/proc/self/exe", workerArg}

// A wire is the link of a run, to be closed after it.
type wire interface {
	referee.Link
	Close() error
}

// openWire makes the link that the options ask for. With another machine, rows that
// name no MTU get the one that there is.
func openWire(ctx context.Context, opts *options) (wire, error) {
	cross := opts.plan.Test.Kind == path.Cross
	switch {
	case cross && opts.peer.addr != "":
		return nil, usageError{errors.New("-peer: forward is three namespaces of one machine")}
	case cross:
		return referee.NewChain(workerCommand...)
	case opts.peer.addr == "":
		return referee.NewLocal(workerCommand...)
	}
	l, err := dialPeer(ctx, *opts)
	if err != nil {
		return nil, err
	}
	opts.peerBusy = l.Busy()
	if opts.anyMTU {
		for i := range opts.plan.Rows {
			opts.plan.Rows[i].MTU = l.MTU()
		}
	}
	return l, nil
}

func dialPeer(ctx context.Context, opts options) (*remote.Link, error) {
	token, err := opts.peer.secret.read()
	if err != nil {
		return nil, err
	}
	processor, err := pick(opts.peer.cpu)
	if err != nil {
		return nil, err
	}
	return remote.Dial(ctx, remote.Config{
		Address: opts.peer.addr, Interface: opts.peer.iface, Token: token, Command: workerCommand, Processor: processor,
		Reverse: opts.peer.reverse, Longest: longest(opts.plan), Test: opts.plan.Test.Name,
	})
}

// pick is the processor that -cpu names, if this process may use it. The last is the
// usual one: interrupts of a card that nobody has spread go to the first.
func pick(number int) (int, error) {
	allowed, err := cpu.Allowed()
	switch {
	case err != nil:
		return 0, err
	case number == -1:
		return allowed[len(allowed)-1], nil
	case !slices.Contains(allowed, number):
		return 0, fmt.Errorf("-cpu %d: this process may use %v", number, allowed)
	}
	return number, nil
}

// describe names both ends of a link between machines.
func describe(peer string, s, r control.Facts) string {
	return fmt.Sprintf("link between two machines, %s to %s (control port %s)", describeNIC(s.NIC), describeNIC(r.NIC), peer)
}

func describeNIC(n *control.NIC) string {
	if n == nil {
		return "an interface"
	}
	return fmt.Sprintf("%s (%s, MTU %d, %d RX and %d TX queues)", n.Name, n.Driver, n.MTU, n.RXQueues, n.TXQueues)
}
