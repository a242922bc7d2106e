// SPDX-License-Identifier: MIT

package udp

import (
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/xdpath/xdpath/xsk"
)

// The size of a chunk, and whether a packet may take several of them, follow from
// the interface's MTU when the Conn opens.

// chunkSize is the least that a frame of the interface's MTU fits into. Where even a
// page is too small it is the least of which a packet takes few enough: not a page,
// since chunks go round in the ring, and the more pages they lie on, the more do
// small datagrams cost too.
func (c *Conn) chunkSize() int {
	switch {
	case c.cfg.Area != nil:
		return c.cfg.Area.ChunkSize()
	case c.cfg.ChunkSize != 0:
		return c.cfg.ChunkSize
	}
	return chunkFor(c.link.Load().MTU+tagged, os.Getpagesize(), c.segments())
}

// chunkFor is chunkSize for frames of up to n bytes and packets of up to segments.
func chunkFor(n, page, segments int) int {
	if n > page-kernelHeadroom {
		n = (n-1)/segments + 1
	}
	size := minChunk
	for size-kernelHeadroom < n && size < page {
		size *= 2
	}
	return size
}

// segments is how many chunks a packet may take: fewer in zero-copy mode, if that
// may be had.
func (c *Conn) segments() int {
	if x := c.link.Load().XDP; c.cfg.Mode != xsk.Copy && x.ZeroCopy && x.ZCMaxSegs > 1 {
		return min(x.ZCMaxSegs, maxSegments)
	}
	return maxSegments
}

const (
	minChunk = 2048 // see umem.Config
	// kernelHeadroom is what the kernel keeps in a chunk before a received frame
	// (XDP_PACKET_HEADROOM, include/uapi/linux/bpf.h).
	kernelHeadroom = 256
	// tagged is how much longer a frame is than the MTU: Ethernet header, tag.
	tagged = 14 + 4
	// minChainRing is the least ring that a packet of maxSegments fits into.
	minChainRing = 32
)

// chunkRoom is the longest frame that is received into one chunk.
func (c *Conn) chunkRoom() int {
	if c.cfg.Area != nil {
		return c.cfg.Area.MaxFrame()
	}
	return c.chunkSize() - kernelHeadroom
}

// needsChain tells whether a frame of the interface's MTU takes several chunks.
func (c *Conn) needsChain() bool { return c.link.Load().MTU+tagged > c.chunkRoom() }

// multiBuffer tells whether packets may be of several chunks: where those that come
// need it, or where datagrams are to be gathered. It is not asked for without need:
// a driver that has none in zero-copy mode would be left for copy mode.
func (c *Conn) multiBuffer() bool {
	gathers := c.cfg.Gather == GatherAlways ||
		c.cfg.Gather == GatherAuto && c.cfg.Area != nil && c.link.Load().XDP.ZCMaxSegs > 1
	return gathers || c.needsChain()
}

// checkMTU refuses an interface whose frames do not fit into as many chunks as a
// packet may take, or into the ring.
func (c *Conn) checkMTU(segments int) error {
	mtu, room := c.link.Load().MTU, c.chunkRoom()
	most := segments*room - tagged
	switch {
	case !c.multiBuffer() || c.chunkSize() < minChunk: // which umem refuses
	case mtu > most:
		return fmt.Errorf("udp: listen on %s: an MTU of %d is beyond the %d chunks that a packet may take, %d bytes each: lower it to %d, or raise ChunkSize: %w",
			c.info.Interface, mtu, segments, room, most, errMTU)
	case c.cfg.RingSize < minChainRing:
		return fmt.Errorf("udp: listen on %s: config: RingSize %d: a datagram of several chunks, with an MTU of %d or an Area, may take %d entries: at least %d: %w",
			c.info.Interface, c.cfg.RingSize, mtu, maxSegments, minChainRing, errInvalid)
	}
	return nil
}

// explainOpen adds what to do where datagrams may not take several chunks.
func (c *Conn) explainOpen(err error) error {
	switch {
	case !errors.Is(err, errInvalid) && !errors.Is(err, errUnsupported), c.loopback(): // which is refused at any MTU
		return err
	case !c.needsChain() && c.cfg.Gather == GatherAlways:
		return fmt.Errorf("GatherAlways needs datagrams of several descriptors (multi-buffer: Linux 6.6, and the driver's support in zero-copy mode): "+
			"without, GatherAuto copies: %w", err)
	case !c.needsChain():
		return err
	}
	return fmt.Errorf("an MTU of %d needs datagrams in several chunks (multi-buffer: Linux 6.6, and the driver's support in zero-copy mode): "+
		"where they cannot be had, lower the MTU to %d, or set FallbackAllow for the kernel lane: %w",
		c.link.Load().MTU, c.wholeMTU(), err)
}

// loopback tells whether the interface is the host's own.
func (c *Conn) loopback() bool {
	ifi, err := net.InterfaceByIndex(c.info.Index)
	return err == nil && ifi.Flags&net.FlagLoopback != 0
}

// wholeMTU is the largest MTU for which no packet takes several chunks.
func (c *Conn) wholeMTU() int {
	if c.cfg.Area != nil || c.cfg.ChunkSize != 0 {
		return c.chunkRoom() - tagged
	}
	return os.Getpagesize() - kernelHeadroom - tagged
}

// outgrown tells what becomes of frames that an MTU lets in which was raised since
// the sockets were opened.
func (c *Conn) outgrown() error {
	if len(c.queues) == 0 || c.queues[0].sock.Info().MultiBuffer {
		return nil
	}
	if most := c.queues[0].sock.Area().MaxFrame(); c.maxFrame() > most {
		return fmt.Errorf("udp: %s: an MTU of %d: frames of more than %d bytes do not fit into a chunk and are dropped from now on, counted in Sockets as RxTooBig: open the Conn anew: %w",
			c.info.Interface, c.link.Load().MTU, most, errMTU)
	}
	return nil
}
