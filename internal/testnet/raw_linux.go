// SPDX-License-Identifier: MIT

package testnet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Raw sends and receives whole Ethernet frames on one interface through a packet
// socket, for tests: it sends what no ordinary socket would, and it sees what
// arrives beside the one under test. Send and Receive may run at the same time,
// each from one goroutine.
type Raw struct {
	name string
	file *os.File // owns the socket; non-blocking, so that deadlines work
	conn syscall.RawConn
	buf  []byte // the frame being received, belongs to Receive
	oob  []byte

	closed atomic.Bool
}

// rawRoom holds the largest frame of the largest MTU, and what GRO makes of it.
const rawRoom = 1 << 17

// auxLen is the size of struct tpacket_auxdata (linux/if_packet.h).
const auxLen = 20

// OpenRaw opens a packet socket on the interface. It receives the frames of all
// protocols that arrive from now on, those for other hosts included, and none that
// leave. The caller closes it.
func OpenRaw(end End) (*Raw, error) {
	r := &Raw{name: end.Name, buf: make([]byte, rawRoom), oob: make([]byte, unix.CmsgSpace(auxLen))}
	err := end.NS.Do(func() error { return r.open(end.Index) })
	if err != nil {
		return nil, fmt.Errorf("testnet: open packet socket on %s: %w", end.Name, err)
	}
	return r, nil
}

func (r *Raw) open(index int) error {
	// Protocol 0 receives nothing yet: nothing of other interfaces slips in
	// before bind.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return err
	}
	r.file = os.NewFile(uintptr(fd), "packet "+r.name)
	if err := r.configure(fd, index); err != nil {
		return errors.Join(err, r.file.Close())
	}
	if r.conn, err = r.file.SyscallConn(); err != nil {
		return errors.Join(err, r.file.Close())
	}
	return nil
}

func (r *Raw) configure(fd, index int) error {
	if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_AUXDATA, 1); err != nil {
		return err
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1); err != nil {
		return err
	}
	// Room for a few thousand frames, past the limit for ordinary users.
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 16<<20); err != nil {
		return err
	}
	all := binary.NativeEndian.Uint16([]byte{0, unix.ETH_P_ALL}) // network order
	return unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: index})
}

// Send puts one frame on the link, from the destination address on and without
// the checksum at its end. ENOBUFS means that the link dropped it. After the link
// was down, one call of Send or Receive says ENETDOWN, as with any packet socket.
func (r *Raw) Send(frame []byte) error {
	var err error
	ctlErr := r.conn.Write(func(fd uintptr) bool {
		_, err = unix.Write(int(fd), frame)
		return err != unix.EAGAIN
	})
	if ctlErr != nil {
		err = r.ended(ctlErr)
	}
	if err != nil {
		return fmt.Errorf("testnet: send %d bytes on %s: %w", len(frame), r.name, err)
	}
	return nil
}

// Receive returns the next frame as it was on the link, its VLAN tag included. The
// bytes are valid until the next call. The UDP checksum of a frame that the
// sender's kernel left to the device holds only the pseudo-header sum. At the
// deadline, zero for none, the error is os.ErrDeadlineExceeded.
func (r *Raw) Receive(deadline time.Time) ([]byte, error) {
	frame, err := r.receive(deadline)
	if err != nil {
		return nil, fmt.Errorf("testnet: receive on %s: %w", r.name, err)
	}
	return frame, nil
}

func (r *Raw) receive(deadline time.Time) ([]byte, error) {
	if err := r.file.SetReadDeadline(deadline); err != nil {
		return nil, r.ended(err)
	}
	var (
		n, oobn int
		err     error
	)
	ctlErr := r.conn.Read(func(fd uintptr) bool {
		// Four bytes are left free in front for a VLAN tag.
		n, oobn, _, _, err = unix.Recvmsg(int(fd), r.buf[4:], r.oob, unix.MSG_TRUNC)
		return err != unix.EAGAIN
	})
	if ctlErr != nil {
		return nil, r.ended(ctlErr)
	}
	if err != nil {
		return nil, err
	}
	if n > len(r.buf)-4 {
		return nil, fmt.Errorf("frame of %d bytes: %w", n, unix.EMSGSIZE)
	}
	return restoreTag(r.buf[:4+n], r.oob[:oobn])
}

// restoreTag puts a frame back together whose VLAN tag the kernel has moved into
// the control message, as it does for every frame it receives. The frame begins 4
// bytes into buf; the result shares buf's memory.
func restoreTag(buf, oob []byte) ([]byte, error) {
	tci, tpid, tagged, err := vlanTag(oob)
	if err != nil {
		return nil, err
	}
	if !tagged || len(buf) < 4+12 {
		return buf[4:], nil
	}
	copy(buf, buf[4:4+12]) // the two addresses
	binary.BigEndian.PutUint16(buf[12:], tpid)
	binary.BigEndian.PutUint16(buf[14:], tci)
	return buf, nil
}

func vlanTag(oob []byte) (tci, tpid uint16, tagged bool, err error) {
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return 0, 0, false, err
	}
	for _, m := range msgs {
		if m.Header.Level != unix.SOL_PACKET || m.Header.Type != unix.PACKET_AUXDATA || len(m.Data) < auxLen {
			continue
		}
		// status, len, snaplen: 32 bits each; mac, net, tci, tpid: 16 bits each.
		status := binary.NativeEndian.Uint32(m.Data)
		if status&unix.TP_STATUS_VLAN_VALID == 0 {
			continue
		}
		tpid := uint16(unix.ETH_P_8021Q)
		if status&unix.TP_STATUS_VLAN_TPID_VALID != 0 {
			tpid = binary.NativeEndian.Uint16(m.Data[18:])
		}
		return binary.NativeEndian.Uint16(m.Data[16:]), tpid, true, nil
	}
	return 0, 0, false, nil
}

// ended gives the end by Close its name: a raw connection of package os tells it by
// an error that no other package can compare with.
func (r *Raw) ended(err error) error {
	if r.closed.Load() {
		return os.ErrClosed
	}
	return err
}

// Close closes the socket and ends a waiting Receive with os.ErrClosed.
func (r *Raw) Close() error {
	r.closed.Store(true)
	return r.file.Close()
}
