// SPDX-License-Identifier: MIT

package device

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/xdpath/xdpath/udp"
	"github.com/xdpath/xdpath/umem"
	"github.com/xdpath/xdpath/xsk"
)

const (
	// ring is how many descriptors a ring has, and how many frames there are for
	// headers, and for what comes in.
	ring = 1024
	// full is how long to wait when the ring is full.
	full = 50 * time.Microsecond
	// ipHeaders are those of IPv4 and UDP.
	ipHeaders = 20 + 8
)

// xdp is the transport by package udp: images lie in a region of the memory that the
// driver sends from.
type xdp struct {
	area   *umem.Area
	region *umem.Region
	conn   *udp.Conn
	queue  *udp.Queue
	link   int // the interface's MTU when it was opened
	to     atomic.Pointer[udp.Flow]

	mu   sync.Mutex // guards what follows
	due  []uint64   // cookies of trains that could not begin
	pace *udp.Pacer // nil: none was needed yet
	gap  time.Duration
}

func openXDP(ctx context.Context, cfg Config, local netip.Addr, mtu int) (_ transport, err error) {
	page := os.Getpagesize()
	images := (cfg.memory() + page - 1) / page
	// The largest chunks make the fewest descriptors.
	x := &xdp{link: mtu}
	if x.area, err = umem.New(umem.Config{ChunkSize: page, Chunks: images + 2*ring}); err != nil {
		return nil, fmt.Errorf("device: memory for images: %w", err)
	}
	if x.region, err = x.area.NewRegion(images * page); err != nil {
		return nil, errors.Join(err, x.area.Close())
	}
	x.conn, err = udp.Listen(ctx, udp.Config{
		Interface: cfg.Interface, Local: netip.AddrPortFrom(local, 0), Queues: []int{0},
		Area: x.area, RingSize: ring, Gather: cfg.Gather, Wait: xsk.Block,
		// A checksum would be the only reason to look at an image's bytes. Cameras
		// send none.
		TxChecksum: udp.TxNone,
	})
	if err != nil {
		return nil, errors.Join(err, x.area.Close())
	}
	x.queue = x.conn.Queues()[0]
	x.aim(netip.AddrPort{})
	return x, nil
}

func (x *xdp) memory() []byte { return x.region.Bytes() }

func (x *xdp) aim(dst netip.AddrPort) {
	if !dst.IsValid() {
		dst = netip.AddrPortFrom(netip.IPv4Unspecified(), 0) // sends are refused
	}
	x.to.Store(x.conn.Flow(dst))
}

// mtu follows the interface's, and the route's. What could not be sent by the fast
// lane, because no chain of chunks is as long, is over it too.
func (x *xdp) mtu() int {
	if most := x.to.Load().MaxPayload(); most > 0 {
		return most + ipHeaders
	}
	return x.link // until the receiver is known
}

func (x *xdp) port() uint16 { return x.conn.LocalAddr().Port() }

func (x *xdp) train(ctx context.Context, t train) (n int, err error) {
	data, err := x.region.Slice(t.off, t.len)
	if err != nil {
		x.back(t.cookie)
		return 0, err
	}
	p, err := x.pacer(t.gap)
	if err != nil {
		x.back(t.cookie)
		return 0, err
	}
	n, err = x.queue.SendTrain(ctx, udp.Train{
		Flow: x.to.Load(), Data: data, Size: t.size, First: int(t.first), Cookie: t.cookie, Pacer: p,
		Header: func(i int, room []byte) int { return t.header(uint32(i), room) },
	})
	if n == 0 && errors.Is(err, udp.ErrCookies) {
		x.back(t.cookie)
	}
	return n, err
}

// back returns the cookie of what did not get into the ring.
func (x *xdp) back(cookie uint64) {
	if cookie != 0 {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.due = append(x.due, cookie)
	}
}

func (x *xdp) single(ctx context.Context, s single) error {
	placed := false
	defer func() {
		if !placed {
			x.back(s.cookie)
		}
	}()
	data, err := x.region.Slice(s.off, s.n)
	if err != nil {
		return err
	}
	p, err := x.pacer(s.gap)
	if err != nil {
		return err
	}
	if p != nil {
		if err := p.Wait(ctx); err != nil {
			return err
		}
	}
	placed, err = x.gather(ctx, []udp.Gather{{Header: s.header, Slices: []umem.Slice{data}, Flow: x.to.Load(), Cookie: s.cookie}})
	if p != nil && err == nil {
		p.Sent()
	}
	return err
}

// gather sends one datagram when there is room for it. If it was placed, its cookie
// comes: also if the kernel then says that it, or another, is lost or has to wait.
func (x *xdp) gather(ctx context.Context, one []udp.Gather) (placed bool, err error) {
	for {
		if k, err := x.queue.SendGather(one); k > 0 || err != nil {
			var refused *udp.SendError
			return k > 0 && !errors.As(err, &refused), err
		}
		select { // the ring is full
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(full):
		}
	}
}

// rest lets the pacer not count the time until the next image.
func (x *xdp) rest() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.pace != nil {
		x.pace.Pause()
	}
}

// pacer is the one for a gap, nil for none.
func (x *xdp) pacer(gap time.Duration) (*udp.Pacer, error) {
	if gap <= 0 {
		return nil, nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.pace == nil || x.gap != gap {
		p, err := udp.NewPacer(udp.PacerConfig{Gap: gap})
		if err != nil {
			return nil, fmt.Errorf("device: stream: %w", err)
		}
		x.pace, x.gap = p, gap
	}
	return x.pace, nil
}

// gaps are those of the latest delay that was asked for.
func (x *xdp) gaps() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.pace == nil {
		return ""
	}
	return x.pace.Stats().String()
}

func (x *xdp) completed(cookies []uint64) int {
	n := x.queue.Completed(cookies)
	x.mu.Lock()
	defer x.mu.Unlock()
	k := copy(cookies[n:], x.due)
	x.due = x.due[:copy(x.due, x.due[k:])]
	return n + k
}

// wait takes in and gives back what is sent to the stream's port: viewers send empty
// datagrams there, to open the way through a firewall.
func (x *xdp) wait(ctx context.Context) error {
	in := make([]udp.Received, 16)
	for {
		n, err := x.queue.ReceiveContext(ctx, in)
		if ctx.Err() != nil {
			return errors.Join(x.queue.Release(in[:n]))
		}
		if err = errors.Join(err, x.queue.Release(in[:n])); err != nil {
			return fmt.Errorf("device: stream: %w", err)
		}
	}
}

func (x *xdp) String() string { return x.conn.Info().String() }

func (x *xdp) close() error {
	err := x.conn.Close()
	return errors.Join(err, x.area.Close())
}
