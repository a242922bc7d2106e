// SPDX-License-Identifier: MIT

package path

import (
	"errors"
	"fmt"
	"math/bits"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/sys"
)

// receiveWait bounds one wait for a datagram, so that a receiver sees soon
// enough that it shall end.
const receiveWait = 10 * time.Millisecond

// sendWait bounds one wait for room in the send buffer.
const sendWait = time.Second

// A udpSocket is what the socket paths have in common: a connected IPv4 socket
// in blocking mode, used by plain system calls rather than net.UDPConn, which
// costs more.
type udpSocket struct {
	fd   int
	info Info
}

// openUDP opens a socket from cfg.Local to cfg.Peer with buffers as large as
// the rings of the AF_XDP paths, in datagrams.
func openUDP(cfg Config) (*udpSocket, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open UDP socket: %w", err)
	}
	s := &udpSocket{fd: fd, info: Info{Mode: "-", Batch: 1}}
	if err := s.setUp(cfg); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *udpSocket) setUp(cfg Config) error {
	if err := s.setBuffers(cfg); err != nil {
		return err
	}
	for opt, d := range map[int]time.Duration{unix.SO_RCVTIMEO: receiveWait, unix.SO_SNDTIMEO: sendWait} {
		tv := unix.NsecToTimeval(d.Nanoseconds())
		if err := unix.SetsockoptTimeval(s.fd, unix.SOL_SOCKET, opt, &tv); err != nil {
			return fmt.Errorf("set time limit of UDP socket: %w", err)
		}
	}
	if err := unix.Bind(s.fd, sockaddr(cfg.Local)); err != nil {
		return fmt.Errorf("bind UDP socket to %s: %w", cfg.Local, err)
	}
	if err := unix.Connect(s.fd, sockaddr(cfg.Peer)); err != nil {
		return fmt.Errorf("connect UDP socket to %s: %w", cfg.Peer, err)
	}
	return nil
}

func sockaddr(a netip.AddrPort) *unix.SockaddrInet4 {
	return &unix.SockaddrInet4{Addr: a.Addr().As4(), Port: int(a.Port())}
}

// setBuffers asks for room for cfg.Hold datagrams each way. The forcing
// options pass the limits of the system but need CAP_NET_ADMIN; without it the
// kernel silently gives what the limits allow, so the value is read back.
func (s *udpSocket) setBuffers(cfg Config) error {
	want := cfg.Hold * cfg.charge()
	var err error
	if s.info.ReceiveRoom, err = sizeBuffer(s.fd, receiveBuffer, want); err != nil {
		return err
	}
	if s.info.SendRoom, err = sizeBuffer(s.fd, sendBuffer, want); err != nil {
		return err
	}
	got := s.info.ReceiveRoom
	s.info.BufferAsked, s.info.BufferGot = want, got
	if got < want {
		s.info.Notes = append(s.info.Notes, fmt.Sprintf(
			"receive buffer is %d bytes of the %d that hold as much as the XDP rings: not a fair comparison (needs CAP_NET_ADMIN)", got, want))
	}
	return nil
}

// A buffer is one of the two of a socket: the options that set it.
type buffer struct{ force, plain int }

var (
	receiveBuffer = buffer{unix.SO_RCVBUFFORCE, unix.SO_RCVBUF}
	sendBuffer    = buffer{unix.SO_SNDBUFFORCE, unix.SO_SNDBUF}
)

// sizeBuffer asks for want bytes, and returns what there is then.
func sizeBuffer(fd int, b buffer, want int) (int, error) {
	// The kernel doubles the value: it expects the caller to count payload only.
	err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, b.force, want/2)
	if errors.Is(err, unix.EPERM) {
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, b.plain, want/2)
	}
	if err != nil {
		return 0, fmt.Errorf("set socket buffer to %d bytes: %w", want/2, err)
	}
	got, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, b.plain)
	if err != nil {
		return 0, fmt.Errorf("read size of socket buffer: %w", err)
	}
	return got, nil
}

// charge is what one datagram counts against a socket buffer, in fragments or not.
func (cfg Config) charge() int {
	return fragments(cfg) * charge(min(cfg.Size, cfg.MTU-ipHeaders))
}

// charge is what one packet counts against a socket buffer: not its length
// but the memory it sits in, skb->truesize. That is struct sk_buff, and a block
// for headers, payload and struct skb_shared_info whose size is a power of two
// except for the small one (measured on 6.18 over veth from 18 to 8972 bytes;
// a network card's driver may place packets otherwise).
func charge(size int) int {
	const (
		skb      = 256
		overhead = 384 // headroom, headers, skb_shared_info
		small    = 576 // the data block of short packets
	)
	block := size + overhead
	if block <= small {
		return skb + small
	}
	return skb + 1<<bits.Len(uint(block-1))
}

// ready tells whether err only says that nothing happened in the time allowed
// for it.
func timedOut(err error) bool {
	return errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR)
}

func (s *udpSocket) Info() Info { return s.info }

// Flush has nothing to do: what a socket took is on its way.
func (s *udpSocket) Flush() (int, error) { return 0, nil }

// Counters tells what the kernel dropped on arrival. A merged bundle of
// datagrams counts as one drop, so a socket that takes bundles sets Each.
func (s *udpSocket) Counters() (loss.Counts, error) {
	drops, err := sys.SocketDrops(s.fd)
	if err != nil {
		return nil, fmt.Errorf("read drops of UDP socket: %w", err)
	}
	return loss.Counts{{Place: loss.Socket, N: uint64(drops)}}, nil
}

// Close closes the socket. Idempotent.
func (s *udpSocket) Close() error { return closeSocket(&s.fd, "UDP socket") }

// closeSocket closes a descriptor that is not closed yet.
func closeSocket(fd *int, what string) error {
	if *fd < 0 {
		return nil
	}
	err := unix.Close(*fd)
	*fd = -1
	if err != nil {
		return fmt.Errorf("close %s: %w", what, err)
	}
	return nil
}
