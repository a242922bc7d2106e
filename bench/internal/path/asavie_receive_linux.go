// SPDX-License-Identifier: MIT

//go:build linux && !386

package path

import (
	"context"
	"errors"
	"fmt"

	"github.com/asavie/xdp"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
)

// An asavieReceiver is the receiving side, with the library's own program.
type asavieReceiver struct {
	*asavie
	ifindex int
	queue   int
	program *xdp.Program
	parser  parser
	rest    []xdp.Desc // received and not handed out yet, the library's slice
}

// openAsavieReceiver opens a socket with the ring sizes in opt.
func openAsavieReceiver(cfg Config, opt xdp.SocketOptions) (*asavieReceiver, error) {
	link, err := netlink.LinkByName(cfg.Interface)
	if err != nil {
		return nil, fmt.Errorf("look up interface %s: %w", cfg.Interface, err)
	}
	a, err := openAsavie(cfg, link.Attrs().Index, opt)
	if err != nil {
		return nil, err
	}
	r := &asavieReceiver{asavie: a, ifindex: link.Attrs().Index, queue: cfg.Queue, parser: parser{local: cfg.Local.Port()}}
	if err := r.attach(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// attach fills the fill ring and then lets frames come.
func (r *asavieReceiver) attach() error {
	r.fill()
	program, err := xdp.NewProgram(r.queue + 1)
	if err != nil {
		return fmt.Errorf("load asavie program: %w", err)
	}
	r.program = program
	if err := program.Register(r.queue, r.xsk.FD()); err != nil {
		return fmt.Errorf("put asavie socket into the map: %w", err)
	}
	if err := program.Attach(r.ifindex); err != nil {
		return fmt.Errorf("attach asavie program: %w", err)
	}
	link, err := netlink.LinkByIndex(r.ifindex)
	if err != nil {
		return fmt.Errorf("read mode of asavie program: %w", err)
	}
	attach := "generic"
	if x := link.Attrs().Xdp; x != nil && x.AttachMode != nl.XDP_ATTACHED_SKB {
		attach = "native"
	}
	r.info.Mode = attach + " " + r.info.Mode
	return nil
}

func (r *asavieReceiver) fill() {
	if n := r.xsk.NumFreeFillSlots(); n > 0 {
		r.xsk.Fill(r.xsk.GetDescs(n))
	}
}

// Receive runs the library's loop once all frames of the last round have been
// handed out: the library gives their chunks to the kernel in the next fill.
func (r *asavieReceiver) Receive(_ context.Context, views [][]byte) (int, error) {
	if len(r.rest) == 0 {
		r.fill()
		n, _, err := r.xsk.Poll(int(receiveWait.Milliseconds()))
		if err != nil {
			return 0, fmt.Errorf("poll asavie socket: %w", err)
		}
		r.rest = r.xsk.Receive(n)
	}
	n := 0
	for n < len(views) && len(r.rest) > 0 {
		if p, ok := r.parser.payload(r.xsk.GetFrame(r.rest[0])); ok {
			views[n] = p
			n++
		}
		r.rest = r.rest[1:]
	}
	return n, nil
}

// Close takes the program off and closes the socket.
func (r *asavieReceiver) Close() error {
	var errs error
	if r.program != nil {
		errs = errors.Join(r.program.Detach(r.ifindex), r.program.Close())
		r.program = nil
	}
	return errors.Join(errs, r.asavie.Close())
}
