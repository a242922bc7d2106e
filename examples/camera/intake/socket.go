// SPDX-License-Identifier: MIT

package intake

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"time"
)

// Socket is a stream by an ordinary socket, read packet by packet.
type Socket struct {
	conn   *net.UDPConn
	camera netip.Addr
	buffer int // what was asked for
	other  atomic.Uint64
}

// OpenSocket opens a port for the stream of one camera. Buffer is the bytes that the
// kernel may hold, its bookkeeping included; 0 leaves them alone.
func OpenSocket(local netip.AddrPort, buffer int, camera netip.Addr) (*Socket, error) {
	conn, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(local))
	if err != nil {
		return nil, fmt.Errorf("intake: %w", err)
	}
	if buffer > 0 {
		if err := SetReceiveBuffer(conn, buffer); err != nil {
			conn.Close()
			return nil, err
		}
	}
	s := NewSocket(conn, camera)
	s.buffer = buffer
	return s, nil
}

// NewSocket makes a stream of a socket, which is the Socket's from now on.
func NewSocket(conn *net.UDPConn, camera netip.Addr) *Socket {
	conn.SetReadDeadline(time.Now()) // Receive begins with a look at the clock
	return &Socket{conn: conn, camera: camera.Unmap()}
}

func (s *Socket) Port() uint16 { return uint16(s.conn.LocalAddr().(*net.UDPAddr).Port) }
func (s *Socket) Close() error { return s.conn.Close() }

func (s *Socket) String() string {
	text := fmt.Sprintf("socket: %v", s.conn.LocalAddr())
	if n, err := receiveBuffer(s.conn); err == nil {
		text += fmt.Sprintf(", receive buffer %d bytes", n)
		if n < s.buffer {
			text += fmt.Sprintf(" of the %d asked for (net.core.rmem_max)", s.buffer)
		}
	}
	return text
}

func (s *Socket) Drops() (Drops, error) {
	n, err := socketDrops(s.Port())
	return Drops{Ring: n, Other: s.other.Load()}, err
}

func (s *Socket) Receive(ctx context.Context, in *Intake) error {
	stop := context.AfterFunc(ctx, func() { s.conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	b := make([]byte, 1<<16)
	var n int
	packet := func(int) ([]byte, [][]byte) { return b[:n], nil }
	empty := false // the last wait was in vain
	for ctx.Err() == nil {
		var from netip.AddrPort
		var err error
		n, from, err = s.conn.ReadFromUDPAddrPort(b)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			// The deadline comes first, also if packets wait: two in a row tell that
			// there are none.
			if empty {
				in.Idle()
			}
			empty = !empty
			s.conn.SetReadDeadline(time.Now().Add(tail / 2))
			continue
		case err != nil:
			return fmt.Errorf("intake: %w", err)
		case from.Addr().Unmap() != s.camera:
			s.other.Add(1)
		default:
			in.Take(1, packet, true)
		}
		empty = false
	}
	return nil
}
