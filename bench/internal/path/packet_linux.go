// SPDX-License-Identifier: MIT

package path

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/sys"
)

// packetPath is packet sockets, which see frames as AF_XDP sockets do: a sender that
// goes past the queueing discipline, with a batch of frames a call, and a receiver with
// a ring of blocks (TPACKET_V3). The kernel's own stack gets all frames as well: a
// socket there drops the datagrams, so that it complains to nobody.
func packetPath() Path {
	return Path{
		Name: "packet", Extra: []Kind{Stream},
		Sender:   func(cfg Config) (Sender, error) { return openPacketSender(cfg) },
		Receiver: func(cfg Config) (Receiver, error) { return openPacketReceiver(cfg) },
	}
}

// A packetSocket is what both sides have in common.
type packetSocket struct {
	fd    int
	index int // of the interface
	info  Info
}

// openPacket opens a packet socket that receives nothing until it is bound.
func openPacket(cfg Config) (*packetSocket, error) {
	ifi, err := net.InterfaceByName(cfg.Interface)
	if err != nil {
		return nil, fmt.Errorf("look up interface %s: %w", cfg.Interface, err)
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open packet socket: %w", err)
	}
	return &packetSocket{fd: fd, index: ifi.Index, info: Info{Mode: "-", Batch: cfg.Batch}}, nil
}

// bind ties the socket to its interface. A protocol of 0 receives nothing.
func (s *packetSocket) bind(protocol uint16) error {
	if err := unix.Bind(s.fd, &unix.SockaddrLinklayer{Ifindex: s.index, Protocol: bigEndian(protocol)}); err != nil {
		return fmt.Errorf("bind packet socket: %w", err)
	}
	return nil
}

// bigEndian is htons, for a field that the kernel reads in network order.
func bigEndian(v uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, v))
}

// Info implements End.
func (s *packetSocket) Info() Info { return s.info }

// Close closes the socket. Idempotent.
func (s *packetSocket) Close() error { return closeSocket(&s.fd, "packet socket") }

// A packetSender sends frames whose headers were written when it was opened: they are
// the same for every datagram.
type packetSender struct {
	*packetSocket
	payloads [][]byte
	batch    *sys.Batch
	refused  uint64 // frames that the interface did not take
}

func openPacketSender(cfg Config) (*packetSender, error) {
	headers, err := newTemplate(cfg)
	if err != nil {
		return nil, err
	}
	p, err := openPacket(cfg)
	if err != nil {
		return nil, err
	}
	_, frames := slices(cfg.Batch, headers.Len()+cfg.Size)
	s := &packetSender{packetSocket: p, payloads: make([][]byte, cfg.Batch), batch: sys.NewBatch(frames, 0)}
	for i, f := range frames {
		s.payloads[i] = f[headers.Put(f, f[headers.Len():]):]
	}
	if err := s.setUp(cfg); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// setUp asks for as much room as the other senders over sockets have.
func (s *packetSender) setUp(cfg Config) error {
	if err := unix.SetsockoptInt(s.fd, unix.SOL_PACKET, unix.PACKET_QDISC_BYPASS, 1); err != nil {
		return fmt.Errorf("set PACKET_QDISC_BYPASS (Linux 3.14 and later): %w", err)
	}
	room, err := sizeBuffer(s.fd, sendBuffer, cfg.Hold*cfg.charge())
	if err != nil {
		return err
	}
	s.info.SendRoom = room
	return s.bind(0)
}

// Reserve lends the payload part of the frames.
func (s *packetSender) Reserve(bufs [][]byte) (int, error) { return copy(bufs, s.payloads), nil }

// Send repeats the call for what the kernel did not take at once. A frame that the
// interface refuses is gone, as with any socket, but here the caller hears of it.
func (s *packetSender) Send(n int) (int, error) {
	for done := 0; done < n; {
		k, err := s.batch.Send(s.fd, done, n, 0)
		switch {
		case errors.Is(err, unix.ENOBUFS):
			s.refused++
			done++
		case err != nil:
			return done, fmt.Errorf("sendmmsg on packet socket: %w", err)
		}
		done += k
	}
	return n, nil
}

// Flush has nothing to do: what the socket took is on its way.
func (s *packetSender) Flush() (int, error) { return 0, nil }

// Counters tells what the interface refused.
func (s *packetSender) Counters() (loss.Counts, error) {
	return loss.Counts{{Place: loss.Send, N: s.refused}}, nil
}
