// SPDX-License-Identifier: MIT

package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/xdpath/xdpath/examples/camera/gv"
)

const (
	// minSize is a packet size that every path takes.
	minSize = 576
	// granularity is what packet sizes are rounded down to.
	granularity = 4
	// tries and testWait are for each size that is tried.
	tries    = 3
	testWait = 10 * time.Millisecond
)

// ErrNoTestPackets is a camera that sends no test packets, or whose smallest one does
// not arrive.
var ErrNoTestPackets = errors.New("the camera sends no test packets")

// PacketSize finds the largest packet size up to a limit, such as the interface's
// MTU, whose test packet arrives in one piece. Fragmented ones do not count: they
// would arrive, and every image would cost several times as much. It leaves the
// camera's stream channel closed and SCPS as it was tried last.
//
// Errors: ErrNoTestPackets.
func (c *Client) PacketSize(ctx context.Context, limit int) (int, error) {
	t, err := c.openTest(ctx)
	if err != nil {
		return 0, err
	}
	size, err := t.search(ctx, limit-limit%granularity)
	return size, errors.Join(err, t.close(ctx))
}

// test is a socket that test packets come to.
type test struct {
	c    *Client
	conn *net.UDPConn
}

// openTest has the stream channel lead to a socket for test packets.
func (c *Client) openTest(ctx context.Context) (*test, error) {
	conn, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(c.Local(), 0)))
	if err != nil {
		return nil, fmt.Errorf("control: socket for test packets: %w", err)
	}
	if err := tellFragments(conn); err != nil {
		conn.Close()
		return nil, err
	}
	t := &test{c, conn}
	port := conn.LocalAddr().(*net.UDPAddr).Port
	if err := c.OpenStream(ctx, netip.AddrPortFrom(c.Local(), uint16(port))); err != nil {
		return nil, errors.Join(err, t.close(ctx))
	}
	return t, nil
}

func (t *test) close(ctx context.Context) error {
	return errors.Join(t.c.CloseStream(ctx), t.conn.Close())
}

// search bisects. Low arrives, high does not; the limit itself is the likeliest.
func (t *test) search(ctx context.Context, limit int) (int, error) {
	if ok, err := t.arrives(ctx, limit); ok || err != nil {
		return limit, err
	}
	low, high := min(minSize, limit), limit
	if ok, err := t.arrives(ctx, low); !ok || err != nil {
		return 0, errors.Join(err, ErrNoTestPackets)
	}
	for high-low > granularity {
		mid := (low + high) / 2 / granularity * granularity
		ok, err := t.arrives(ctx, mid)
		switch {
		case err != nil:
			return 0, err
		case ok:
			low = mid
		default:
			high = mid
		}
	}
	return low, nil
}

// arrives tells whether a test packet of a size does.
func (t *test) arrives(ctx context.Context, size int) (bool, error) {
	for range tries {
		err := t.c.Write(ctx, gv.RegSCPS, gv.SCPSFireTest|gv.SCPSDontFrag|uint32(size))
		var status gv.Status
		if errors.As(err, &status) {
			return false, nil // it does not take this size
		}
		if err != nil {
			return false, err
		}
		if ok, err := t.received(size); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// received waits a little for the test packet of a size. Others are of other sizes
// that were tried, and late.
func (t *test) received(size int) (bool, error) {
	t.conn.SetReadDeadline(time.Now().Add(testWait))
	b, oob := make([]byte, 1<<16), make([]byte, 128)
	for {
		n, oobn, _, from, err := t.conn.ReadMsgUDPAddrPort(b, oob)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return false, nil
		case err != nil && !refused(err):
			return false, fmt.Errorf("control: wait for a test packet: %w", err)
		case err != nil || from.Addr().Unmap() != t.c.Camera():
		case n == gv.TestPacketLen(size) && !fragmented(oob[:oobn]):
			return true, nil
		}
	}
}

// OpenStream has the camera send its stream to an address.
func (c *Client) OpenStream(ctx context.Context, to netip.AddrPort) error {
	ip := to.Addr().Unmap().As4()
	address := uint32(ip[0])<<24 | uint32(ip[1])<<16 | uint32(ip[2])<<8 | uint32(ip[3])
	if err := c.Write(ctx, gv.RegSCDA, address); err != nil {
		return err
	}
	return c.Write(ctx, gv.RegSCP, uint32(to.Port()))
}

// CloseStream has the camera send nothing.
func (c *Client) CloseStream(ctx context.Context) error { return c.Write(ctx, gv.RegSCP, 0) }
