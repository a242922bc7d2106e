// SPDX-License-Identifier: MIT

package udp

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/internal/lane"
	"github.com/xdpath/xdpath/internal/nic"
	"github.com/xdpath/xdpath/internal/route"
	"github.com/xdpath/xdpath/umem"
	"github.com/xdpath/xdpath/xsk"
)

// Listen opens a UDP port on an interface, in the caller's network namespace. When
// it returns, both lanes are open: nothing sent to the port from then on is lost
// for want of them. ctx bounds the opening only.
//
// Errors say which step failed and what to do; those of packages xsk and bpf are
// in the chain. Nothing is left behind.
func Listen(ctx context.Context, cfg Config) (*Conn, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	c := &Conn{cfg: cfg, remote: cfg.Remote, peer: netip.AddrPortFrom(cfg.Remote.Addr().WithZone(""), cfg.Remote.Port()), events: make(chan Event, eventBacklog)}
	if err := c.open(ctx); err != nil {
		return nil, errors.Join(err, c.release())
	}
	c.done.Go(c.follow)
	return c, nil
}

// Dial is Listen for one peer: it receives from there only, and the PacketConn's
// Write sends there.
func Dial(ctx context.Context, cfg Config) (*Conn, error) {
	if !cfg.Remote.IsValid() {
		return nil, errors.New("udp: config: Remote: a peer is required")
	}
	return Listen(ctx, cfg)
}

// open does the steps: facts, kernel lane, fast lane.
func (c *Conn) open(ctx context.Context) error {
	if err := c.openLink(); err != nil {
		return err
	}
	if err := c.openLane(); err != nil {
		return err
	}
	err := c.openFast(ctx)
	if err == nil {
		c.in.setup(c, c.queues...)
		return nil
	}
	if c.cfg.Fallback != FallbackAllow || ctx.Err() != nil {
		return err
	}
	c.info.Reason = err
	errs := []error{c.closeFast()}
	c.in.setup(c)
	c.kernel = newKernelQueue(c)
	return errors.Join(errs...)
}

// openLink finds the interface and reads its facts.
func (c *Conn) openLink() (err error) {
	name := c.cfg.Interface
	if name == "" {
		if name, err = interfaceOf(c.cfg.Local.Addr()); err != nil {
			return err
		}
	}
	if c.nic, err = nic.Open(name); err != nil {
		return fmt.Errorf("udp: listen: %w", err)
	}
	if c.watch, err = c.nic.Watch(); err != nil {
		return fmt.Errorf("udp: listen on %s: %w", name, err)
	}
	link, err := c.nic.Link()
	if err != nil {
		return fmt.Errorf("udp: listen on %s: %w", name, err)
	}
	c.link.Store(&link)
	c.virtual = virtual(link)
	c.info.Interface, c.info.Index, c.info.Driver = link.Name, link.Index, link.Driver
	return nil
}

// openLane opens the companion socket, which reserves the port.
func (c *Conn) openLane() (err error) {
	c.lane, err = lane.Open(lane.Config{
		Local: c.cfg.Local, Remote: c.cfg.Remote, Broadcast: c.cfg.Broadcast,
		ReceiveBuffer: c.cfg.ReceiveBuffer, SendBuffer: c.cfg.SendBuffer, Timestamps: c.cfg.Timestamps, GRO: true,
	})
	if err != nil {
		return fmt.Errorf("udp: listen on %v: companion socket: %w", c.cfg.Local, err)
	}
	c.local = c.lane.LocalAddr()
	// Groups are on the Conn's interface by either lane.
	if err := c.lane.SetMulticastInterface(c.link.Load().Index); err != nil {
		return fmt.Errorf("udp: listen on %v: companion socket: %w", c.cfg.Local, err)
	}
	return nil
}

// openFast opens sockets, program and tables.
func (c *Conn) openFast(ctx context.Context) error {
	link := c.link.Load()
	index, vlan := link.Index, uint16(0)
	if link.Kind == "vlan" && link.Parent != 0 && !link.ParentOutside {
		index, vlan = link.Parent, uint16(link.VLAN)
	}
	c.planChecksum(link)
	if err := c.checkMTU(maxSegments); err != nil {
		return err
	}
	table, err := route.Open(route.Config{Ifindex: index, Accept: []int{link.Index}})
	if err != nil {
		return fmt.Errorf("udp: listen on %s: routes: %w", link.Name, err)
	}
	c.table = table
	for _, n := range c.wanted(link) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := c.openQueue(index, n); err != nil {
			return err
		}
	}
	slices.SortFunc(c.queues, func(a, b *Queue) int { return a.Number() - b.Number() })
	return c.attach(index, vlan)
}

// wanted are the numbers of the queues to open.
func (c *Conn) wanted(link *nic.Link) []int {
	if c.cfg.Queues != nil {
		return c.cfg.Queues
	}
	all := make([]int, max(link.RxQueues, 1))
	for i := range all {
		all[i] = i
	}
	return all
}

// openQueue opens the socket of one queue, with an area of its own.
func (c *Conn) openQueue(index, number int) error {
	cfg := xsk.Config{
		Area: c.cfg.Area, ZeroCopySegments: c.link.Load().XDP.ZCMaxSegs,
		Index: index, Queue: number, Mode: c.cfg.Mode,
		RxSize: uint32(c.cfg.RingSize), TxSize: uint32(c.cfg.RingSize), TxFrames: c.cfg.TxFrames,
		Wait: c.cfg.Wait, Spin: c.cfg.Spin, BusyPoll: c.cfg.BusyPoll, MultiBuffer: c.multiBuffer(),
	}
	if c.cfg.Area == nil {
		cfg.ChunkSize = c.chunkSize()
	}
	if (c.offload || c.launch) && c.cfg.Area == nil {
		cfg.TxMetadata, cfg.SoftwareChecksum = xsk.TxMetadataSize, c.offload && !c.link.Load().XDP.TxChecksum
	}
	s, err := xsk.Open(cfg)
	if err != nil {
		return fmt.Errorf("udp: listen on %s: %w", c.info.Interface, c.explainOpen(err))
	}
	if s.Info().Mode == xsk.ZeroCopy {
		if err := c.checkMTU(s.Info().MaxSegments); err != nil {
			return errors.Join(fmt.Errorf("%w; or set Mode to xsk.Copy", err), s.Close())
		}
	}
	room := batch
	if s.Info().MultiBuffer {
		room += packetRoom(s.Area().MaxFrame())
	}
	q := &Queue{conn: c, sock: s, rx: make([]umem.Frame, room), bad: make([]umem.Frame, 0, room), tx: make([]umem.Frame, 0, batch), sizes: make([]int, 0, batch), pieces: newPieces()}
	q.in.setup(c, q)
	c.queues = append(c.queues, q)
	return nil
}

// planChecksum decides who computes checksums and who keeps launch times, and where
// payloads begin.
func (c *Conn) planChecksum(link *nic.Link) {
	c.headerRoom = headerRoom
	c.offload = c.cfg.TxChecksum == TxOffload || c.cfg.TxChecksum == TxAuto && link.XDP.TxChecksum && c.cfg.Gather != GatherAlways
	if a := c.cfg.Area; c.offload && a != nil {
		// Its metadata are as they are.
		c.offload = a.Info().TxMetadata >= xsk.TxMetadataSize && (link.XDP.TxChecksum || a.Info().SoftwareChecksum)
	}
	c.planLaunch(link.XDP.TxLaunchTime)
	if !c.offload && !c.launch {
		return
	}
	if c.headerRoom = headerRoom4; c.local.Addr().Is6() && !c.local.Addr().IsUnspecified() {
		c.headerRoom = headerRoom6
	}
}

// attach puts the program on the interface, with filters and sockets.
func (c *Conn) attach(index int, vlan uint16) error {
	prog, err := bpf.Attach(bpf.Config{Ifindex: index, Mode: c.cfg.Attach, Replace: c.cfg.Replace, Metadata: c.cfg.Metadata, Queues: c.queues[len(c.queues)-1].Number() + 1})
	if err != nil {
		return fmt.Errorf("udp: listen on %s: %w", c.info.Interface, err)
	}
	c.prog = prog
	c.info.Attach, c.info.Program = prog.Info().Mode, prog.Info()
	c.info.vlan = vlan
	for _, q := range c.queues {
		if err := prog.SetQueue(q.Number(), q.sock.FD()); err != nil {
			return fmt.Errorf("udp: listen on %s: %w", c.info.Interface, err)
		}
	}
	if err := c.filter(); err != nil {
		return err
	}
	return c.deferNAPI()
}

// deferNAPI coalesces what is received. A veth has NAPIs only once a native
// program is on it.
func (c *Conn) deferNAPI() (err error) {
	co := c.cfg.RxCoalesce
	if co.Timeout == 0 {
		// What one that crashed has left. Without the right to put it back it
		// stays for who has.
		_ = c.nic.RestoreNAPI()
		return nil
	}
	var queues []int
	for _, q := range c.queues {
		queues = append(queues, q.Number())
	}
	c.deferred, err = c.nic.DeferNAPI(queues, nic.Deferral{Interrupts: co.Interrupts, Timeout: co.Timeout})
	if err != nil {
		return fmt.Errorf("udp: listen on %s: receive coalescing: %w", c.info.Interface, err)
	}
	return nil
}

// closeFast gives up what openFast obtained before it failed.
func (c *Conn) closeFast() error {
	errs := []error{c.undefer()}
	if c.prog != nil {
		errs = append(errs, c.prog.Close())
	}
	for _, q := range c.queues {
		errs = append(errs, q.sock.Close())
	}
	if c.table != nil {
		errs = append(errs, c.table.Close())
	}
	c.prog, c.queues, c.table = nil, nil, nil
	c.planLaunch(false)
	return errors.Join(errs...)
}

// addresses are the local addresses that the program redirects datagrams to:
// exactly those of the interface that the Conn is bound to, so that what is to be
// forwarded to others is not taken.
func (c *Conn) addresses(link *nic.Link) (addrs []netip.Addr) {
	bound := c.local.Addr()
	for _, p := range link.Addrs {
		a := p.Addr().WithZone("")
		switch {
		case bound.IsUnspecified() && (bound.Is6() || a.Is4()), bound.WithZone("") == a:
			addrs = append(addrs, a)
		}
	}
	return addrs
}
