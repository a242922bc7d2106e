// SPDX-License-Identifier: MIT

package xsk

import (
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/xdpath/xdpath/internal/ring"
	"github.com/xdpath/xdpath/umem"
	"golang.org/x/sys/unix"
)

// sharesQueue tells whether fill and completion ring are those of another socket.
func (o *opening) sharesQueue() bool {
	sh := o.s.cfg.Share
	return sh != nil && sh.info.Index == o.s.info.Index && sh.info.Queue == o.s.info.Queue
}

// makeRings asks the kernel for rings of the configured sizes.
func (o *opening) makeRings() error {
	c := &o.s.cfg
	rings := []struct {
		name   string
		option int
		size   uint32
		need   bool
	}{
		{"fill", unix.XDP_UMEM_FILL_RING, c.FillSize, !o.sharesQueue()},
		{"completion", unix.XDP_UMEM_COMPLETION_RING, c.CompletionSize, !o.sharesQueue()},
		{"RX", unix.XDP_RX_RING, c.RxSize, c.Direction != TransmitOnly},
		{"TX", unix.XDP_TX_RING, c.TxSize, c.Direction != ReceiveOnly},
	}
	for _, r := range rings {
		if !r.need {
			continue
		}
		if err := unix.SetsockoptInt(o.sys.fd, unix.SOL_XDP, r.option, int(r.size)); err != nil {
			return o.errorf(fmt.Sprintf("%s ring of %d entries for", r.name, r.size), os.NewSyscallError("setsockopt", err))
		}
	}
	return nil
}

// mapRings maps the rings and lays producers and consumers over them.
func (o *opening) mapRings() error {
	c, fd := &o.s.cfg, o.sys.fd
	var off unix.XDPMmapOffsets
	if n, err := getStruct(fd, unix.XDP_MMAP_OFFSETS, &off); err != nil {
		return o.errorf("ring offsets of", err)
	} else if n < offsetsSize {
		return o.errorf("ring offsets of", fmt.Errorf("kernel without need-wakeup flags (5.4 or newer is required): %w", errors.ErrUnsupported))
	}
	if c.Direction != TransmitOnly {
		shared, mem, err := mapRing[desc](fd, unix.XDP_PGOFF_RX_RING, off.Rx, c.RxSize)
		if err != nil {
			return o.errorf("map the RX ring of", err)
		}
		o.sys.maps = append(o.sys.maps, mem)
		rx := ring.NewConsumer(shared)
		o.rx = &rx
	}
	if c.Direction != ReceiveOnly {
		shared, mem, err := mapRing[desc](fd, unix.XDP_PGOFF_TX_RING, off.Tx, c.TxSize)
		if err != nil {
			return o.errorf("map the TX ring of", err)
		}
		o.sys.maps = append(o.sys.maps, mem)
		tx := ring.NewProducer(shared)
		o.tx = &tx
	}
	if o.sharesQueue() {
		if c.Share.os.poller() < 0 || !c.Share.rings.join(fd) {
			return o.errorf("share the queue of", fmt.Errorf("the other socket was closed: %w", net.ErrClosed))
		}
		o.pair = c.Share.rings
		return nil
	}
	return o.mapPair(off)
}

// offsetsSize is the length of struct xdp_mmap_offsets with flags.
const offsetsSize = 128

// mapPair maps fill and completion ring.
func (o *opening) mapPair(off unix.XDPMmapOffsets) error {
	fd := o.sys.fd
	pool, own, err := o.fillPool()
	if err != nil {
		return err
	}
	closePool := func() error {
		if !own {
			return nil
		}
		if err := pool.Close(); !o.s.own {
			return err
		}
		return nil // an area of the socket's own says it itself
	}
	remap := func(fd int) (mapping, error) { return o.mapBoth(fd, off) }
	m, err := remap(fd)
	if err != nil {
		return errors.Join(err, closePool())
	}
	o.pair = newPair(o.s.area, pool, fd, m)
	o.pair.remap, o.pair.closePool = remap, closePool
	return nil
}

// mapBoth maps fill and completion ring through the socket fd.
func (o *opening) mapBoth(fd int, off unix.XDPMmapOffsets) (m mapping, err error) {
	fill, fillMem, err := mapRing[uint64](fd, unix.XDP_UMEM_PGOFF_FILL_RING, off.Fr, o.s.cfg.FillSize)
	if err != nil {
		return m, o.errorf("map the fill ring of", err)
	}
	done, doneMem, err := mapRing[uint64](fd, unix.XDP_UMEM_PGOFF_COMPLETION_RING, off.Cr, o.s.cfg.CompletionSize)
	if err != nil {
		unix.Munmap(fillMem)
		return m, o.errorf("map the completion ring of", err)
	}
	fr, cr := ring.NewProducer(fill), ring.NewConsumer(done)
	unmap := func() error { return errors.Join(unix.Munmap(fillMem), unix.Munmap(doneMem)) }
	return mapping{&fr, &cr, unmap}, nil
}

// fillPool is the pool for a fill ring of the socket's own, and whether it is
// to be closed with the ring: one in an area that lives on.
func (o *opening) fillPool() (pool *umem.Pool, own bool, err error) {
	if o.s.cfg.RxPool != nil {
		return o.s.cfg.RxPool, false, nil
	}
	if pool, err = o.s.area.NewPool(o.s.cfg.RxFrames); err != nil {
		return nil, false, o.errorf("frames for the fill ring of", err)
	}
	return pool, true, nil
}
