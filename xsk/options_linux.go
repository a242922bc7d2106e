// SPDX-License-Identifier: MIT

package xsk

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// options sets what improves the socket and is not vital: what cannot be had
// becomes a note.
func (o *opening) options() error {
	s := o.s
	s.info.Notes, s.info.BusyPoll, s.info.TxBudget = nil, false, defaultTxBudget
	if want := min(s.cfg.TxBudget, int(s.cfg.TxSize)); o.tx != nil && want > defaultTxBudget {
		// EACCES outside 32 .. TX ring size; ENOPROTOOPT before 6.17.
		if err := unix.SetsockoptInt(o.sys.fd, unix.SOL_XDP, maxTxBudget, want); err != nil {
			s.note("a wakeup sends %d frames, not %d (XDP_MAX_TX_SKB_BUDGET needs Linux 6.17): %v", defaultTxBudget, want, err)
		} else {
			s.info.TxBudget = want
		}
	}
	if s.cfg.BusyPoll {
		s.info.BusyPoll = true
		for _, opt := range []struct {
			name   string
			option int
			value  int
		}{
			{"SO_PREFER_BUSY_POLL", unix.SO_PREFER_BUSY_POLL, 1},
			{"SO_BUSY_POLL", unix.SO_BUSY_POLL, 20}, // µs
			{"SO_BUSY_POLL_BUDGET", unix.SO_BUSY_POLL_BUDGET, 64},
		} {
			if err := unix.SetsockoptInt(o.sys.fd, unix.SOL_SOCKET, opt.option, opt.value); err != nil {
				s.info.BusyPoll = false
				s.note("no busy polling: %s (needs CAP_NET_ADMIN and Linux 5.11): %v", opt.name, err)
				break
			}
		}
	}
	return nil
}

// kernelIs tells whether the kernel is Linux major.minor or newer, or does not say
// what it is.
func kernelIs(major, minor int) bool {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return true
	}
	var has [2]int
	if n, _ := fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &has[0], &has[1]); n != 2 {
		return true
	}
	return has[0] > major || has[0] == major && has[1] >= minor
}

func (s *Socket) note(format string, args ...any) {
	s.info.Notes = append(s.info.Notes, fmt.Sprintf(format, args...))
}

// readBack asks the kernel what the socket has become.
func (o *opening) readBack() error {
	s := o.s
	var opts struct{ flags uint32 } // struct xdp_options
	if _, err := getStruct(o.sys.fd, unix.XDP_OPTIONS, &opts); err != nil {
		return o.errorf("options of", err)
	}
	s.info.Mode, s.info.MaxSegments = Copy, maxSegments
	if opts.flags&unix.XDP_OPTIONS_ZEROCOPY != 0 {
		s.info.Mode, s.info.MaxSegments = ZeroCopy, s.cfg.ZeroCopySegments
		o.sys.asker, o.sys.index = asker(), s.info.Index
	}
	s.info.Driver = driver(s.info.Interface)
	return nil
}

// asker is a socket for asking the interface by ioctl, which one of AF_XDP does
// not pass on; -1 where there is none to be had.
func asker() int {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	return fd
}

// driver is the name of the interface's driver, or empty.
func driver(name string) string {
	fd := asker()
	defer unix.Close(fd)
	d, err := unix.IoctlGetEthtoolDrvinfo(fd, name)
	if err != nil {
		return ""
	}
	return unix.ByteSliceToString(d.Driver[:])
}

// system is the kernel behind a real socket.
type system struct {
	fd    int
	maps  [][]byte // RX and TX ring
	asker int      // in zero-copy mode, for present: of the network namespace that the socket is in
	index int      // of the interface
}

// present tells whether the interface is still in the socket's network namespace,
// or that there is no telling.
func (k *system) present() bool { return k.asker < 0 || hasIndex(k.asker, k.index) }

// wakeTx makes the kernel look at the TX ring. Without MSG_DONTWAIT it would
// answer EOPNOTSUPP (__xsk_sendmsg, net/xdp/xsk.c).
func (k *system) wakeTx() error { return unix.Sendto(k.fd, nil, unix.MSG_DONTWAIT, nil) }

// wakeRx makes the kernel look at the fill ring, and poll the queue's NAPI where
// busy polling is on.
func (k *system) wakeRx() error {
	_, _, err := unix.Recvfrom(k.fd, nil, unix.MSG_DONTWAIT)
	return err
}

func (k *system) statistics() (kernelStats, error) {
	var st unix.XDPStatistics
	if _, err := getStruct(k.fd, unix.XDP_STATISTICS, &st); err != nil {
		return kernelStats{}, err
	}
	return kernelStats{
		rxDropped: st.Rx_dropped, rxInvalid: st.Rx_invalid_descs, txInvalid: st.Tx_invalid_descs,
		rxRingFull: st.Rx_ring_full, rxFillEmpty: st.Rx_fill_ring_empty_descs, txRingEmpty: st.Tx_ring_empty_descs,
	}, nil
}

func (k *system) poller() int { return k.fd }

// close unmaps the rings before it closes the descriptor: a mapping that is left
// keeps the queue busy for ever.
func (k *system) close() error {
	var first error
	for _, m := range k.maps {
		if err := unix.Munmap(m); err != nil && first == nil {
			first = os.NewSyscallError("munmap", err)
		}
	}
	k.maps = nil
	if k.asker >= 0 {
		unix.Close(k.asker)
		k.asker = -1
	}
	if err := unix.Close(k.fd); err != nil && first == nil {
		first = os.NewSyscallError("close", err)
	}
	k.fd = -1
	return first
}
