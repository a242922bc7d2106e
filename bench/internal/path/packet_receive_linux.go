// SPDX-License-Identifier: MIT

package path

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/sys"
)

// retire is after how many milliseconds the kernel hands over a block that is not full:
// the least that there is, since datagrams wait for it.
const retire = 1

// A packetReceiver reads frames from a ring.
type packetReceiver struct {
	*packetSocket
	ring    *sys.Blocks
	mute    int // a UDP socket that drops what the stack gets, -1 if there is none
	parser  parser
	wait    [1]unix.PollFd
	dropped uint64
}

func openPacketReceiver(cfg Config) (*packetReceiver, error) {
	p, err := openPacket(cfg)
	if err != nil {
		return nil, err
	}
	p.info.Mode = "ring"
	r := &packetReceiver{packetSocket: p, mute: -1, parser: parser{local: cfg.Local.Port()}}
	if cfg.Queues > 1 { // any flow may come
		r.parser.local, r.parser.more = flowPort(cfg.Local, -cfg.Flow).Port(), uint16(2*(cfg.Queues-1))
	}
	r.wait[0] = unix.PollFd{Fd: int32(p.fd), Events: unix.POLLIN}
	if err := r.setUp(cfg); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// setUp binds last: before that no frame comes, and none that the filter would not
// want.
func (r *packetReceiver) setUp(cfg Config) error {
	if err := setFilter(r.fd, toPorts(r.parser.local, r.parser.local+r.parser.more)); err != nil {
		return err
	}
	size, count := sys.BlocksFor(cfg.Hold, ipv4Headers+cfg.Size, os.Getpagesize())
	var err error
	if r.ring, err = sys.NewBlocks(r.fd, size, count, retire); err != nil {
		return err
	}
	r.info.ReceiveRoom = size * count
	if r.mute, err = openMute(cfg); err != nil {
		return err
	}
	if err := r.bind(unix.ETH_P_IP); err != nil || cfg.Queues < 2 {
		return err
	}
	return r.join()
}

// join makes the socket one of those of this process among which the kernel spreads
// flows, each to one of them.
func (r *packetReceiver) join() error {
	group := os.Getpid()&0xffff | unix.PACKET_FANOUT_HASH<<16
	if err := unix.SetsockoptInt(r.fd, unix.SOL_PACKET, unix.PACKET_FANOUT, group); err != nil {
		return fmt.Errorf("set PACKET_FANOUT: %w", err)
	}
	return nil
}

// openMute opens a UDP socket that gets what the receiver gets, and keeps none of it.
func openMute(cfg Config) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open UDP socket: %w", err)
	}
	err = setFilter(fd, []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K}})
	if err == nil {
		if err = unix.Bind(fd, sockaddr(cfg.Local)); err != nil {
			err = fmt.Errorf("bind UDP socket to %s: %w", cfg.Local, err)
		}
	}
	if err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}

// setFilter makes the socket take what the filter returns more than 0 for.
func setFilter(fd int, filter []unix.SockFilter) error {
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &prog); err != nil {
		return fmt.Errorf("set filter of socket: %w", err)
	}
	return nil
}

// toPorts takes whole frames of UDP over IPv4, unfragmented, for a range of ports.
func toPorts(first, last uint16) []unix.SockFilter {
	const (
		protocol, fragment, headers = 14 + 9, 14 + 6, 14 // where they are in a frame
		all                         = 1 << 18
	)
	// Jumps count instructions to skip.
	return []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: protocol},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.IPPROTO_UDP, Jf: 7},
		{Code: unix.BPF_LD | unix.BPF_H | unix.BPF_ABS, K: fragment},
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: 0x3fff, Jt: 5},
		{Code: unix.BPF_LDX | unix.BPF_B | unix.BPF_MSH, K: headers},
		{Code: unix.BPF_LD | unix.BPF_H | unix.BPF_IND, K: headers + 2},
		{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: uint32(first), Jf: 2},
		{Code: unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K, K: uint32(last), Jt: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: all},
		{Code: unix.BPF_RET | unix.BPF_K},
	}
}

// Receive hands out frames of the present block, and waits for one when there is none.
func (r *packetReceiver) Receive(_ context.Context, views [][]byte) (int, error) {
	if !r.ring.Ready() {
		n, err := unix.Poll(r.wait[:], int(receiveWait.Milliseconds()))
		if err != nil && err != unix.EINTR {
			return 0, fmt.Errorf("poll packet socket: %w", err)
		}
		if n <= 0 {
			return 0, nil
		}
	}
	got := 0
	for _, f := range views[:r.ring.Next(views)] {
		if p, ok := r.parser.payload(f); ok {
			views[got] = p
			got++
		}
	}
	return got, nil
}

// Counters adds up what the kernel found no room for: it forgets when it is asked.
func (r *packetReceiver) Counters() (loss.Counts, error) {
	st, err := unix.GetsockoptTpacketStatsV3(r.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err != nil {
		return nil, fmt.Errorf("read drops of packet socket: %w", err)
	}
	r.dropped += uint64(st.Drops)
	return loss.Counts{{Place: loss.Socket, N: r.dropped}}, nil
}

// Close closes both sockets.
func (r *packetReceiver) Close() error {
	var errs error
	if r.ring != nil {
		errs = r.ring.Close()
		r.ring = nil
	}
	if r.mute >= 0 {
		errs = errors.Join(errs, unix.Close(r.mute))
		r.mute = -1
	}
	return errors.Join(errs, r.packetSocket.Close())
}
