// SPDX-License-Identifier: MIT

package lane

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// side is one of the socket's two buffers, by the option that sets it.
type side int

const (
	receiveSide side = unix.SO_RCVBUF
	sendSide    side = unix.SO_SNDBUF
)

// force is the option that needs CAP_NET_ADMIN and heeds no limit.
func (s side) force() int {
	if s == receiveSide {
		return unix.SO_RCVBUFFORCE
	}
	return unix.SO_SNDBUFFORCE
}

// set asks for a size, past the system's limit if that is permitted, and reads what
// there is. The kernel doubles what is asked and tells the double: half of it is
// bookkeeping (sock_setsockopt, net/core/sock.c).
func (s side) set(fd, asked int) (BufferInfo, error) {
	if asked > 0 {
		err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, s.force(), asked)
		if errors.Is(err, unix.EPERM) {
			err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, int(s), asked)
		}
		if err != nil {
			return BufferInfo{}, err
		}
	}
	got, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, int(s))
	return BufferInfo{Asked: asked, Got: got / 2}, err
}

// SetReceiveBuffer sets the size of the socket's receive buffer in bytes. It is no
// error if the system's limit cuts it: Info tells what was got.
func (l *Lane) SetReceiveBuffer(bytes int) error {
	return l.setBuffer("receive", receiveSide, bytes, &l.info.ReceiveBuffer)
}

// SetSendBuffer is the same for the send buffer.
func (l *Lane) SetSendBuffer(bytes int) error {
	return l.setBuffer("send", sendSide, bytes, &l.info.SendBuffer)
}

func (l *Lane) setBuffer(name string, s side, bytes int, info *BufferInfo) error {
	step := fmt.Sprintf("set %s buffer to %d bytes on", name, bytes)
	return l.control(step, func(fd int) error {
		if bytes < 0 {
			return unix.EINVAL // as a size of the kernel's it would be 2^32 minus it
		}
		got, err := s.set(fd, bytes)
		if err == nil {
			*info = got
		}
		return err
	})
}

// control runs f with the socket, and names the step if it fails.
func (l *Lane) control(step string, f func(fd int) error) error {
	l.ctl.Lock()
	defer l.ctl.Unlock()
	err := error(net.ErrClosed)
	if l.fd >= 0 {
		err = f(l.fd)
	}
	if err != nil {
		return fmt.Errorf("lane: %s %v: %w", step, l.info.Local, err)
	}
	return nil
}

// JoinGroup lets datagrams to a multicast group in, as far as the bound address
// does: they arrive at a socket bound to an unspecified address or to the group's.
// ifindex is the interface, 0 leaves it to the zone of the group or to the routes.
// A second join is EADDRINUSE.
func (l *Lane) JoinGroup(group netip.Addr, ifindex int) error {
	return l.membership("join", group, ifindex, unix.IP_ADD_MEMBERSHIP, unix.IPV6_JOIN_GROUP)
}

// LeaveGroup undoes JoinGroup with the same values. Without a join it is
// EADDRNOTAVAIL. Close leaves all groups.
func (l *Lane) LeaveGroup(group netip.Addr, ifindex int) error {
	return l.membership("leave", group, ifindex, unix.IP_DROP_MEMBERSHIP, unix.IPV6_LEAVE_GROUP)
}

func (l *Lane) membership(verb string, group netip.Addr, ifindex, option4, option6 int) error {
	group = group.Unmap()
	step := fmt.Sprintf("%s group %v, interface %d, on", verb, group, ifindex)
	return l.control(step, func(fd int) error {
		switch {
		case !group.IsValid():
			return unix.EINVAL
		case group.Is4():
			// On an IPv6 socket too, for its IPv4 half.
			mreq := &unix.IPMreqn{Multiaddr: group.As4(), Ifindex: int32(ifindex)}
			return unix.SetsockoptIPMreqn(fd, unix.SOL_IP, option4, mreq)
		case !l.ip6:
			return unix.EAFNOSUPPORT
		}
		if ifindex == 0 {
			ifindex = int(interfaceIndex(fd, group.Zone()))
		}
		mreq := &unix.IPv6Mreq{Multiaddr: group.As16(), Interface: uint32(ifindex)}
		return unix.SetsockoptIPv6Mreq(fd, unix.SOL_IPV6, option6, mreq)
	})
}

// SetMulticastTTL sets how many hops multicast datagrams may go, 0 to 255; 1 is the
// default, 0 keeps them on the machine.
func (l *Lane) SetMulticastTTL(hops int) error {
	if hops < 0 || hops > 255 {
		return fmt.Errorf("lane: multicast TTL %d: want 0 to 255", hops)
	}
	step := fmt.Sprintf("set multicast TTL %d on", hops)
	return l.setBoth(step, unix.IP_MULTICAST_TTL, unix.IPV6_MULTICAST_HOPS, hops)
}

// SetMulticastLoop chooses whether listeners on this machine get the multicast
// datagrams that this socket sends. They do by default.
func (l *Lane) SetMulticastLoop(on bool) error {
	step := fmt.Sprintf("set multicast loop %t on", on)
	return l.setBoth(step, unix.IP_MULTICAST_LOOP, unix.IPV6_MULTICAST_LOOP, boolInt(on))
}

// SetMulticastInterface sets the interface that multicast datagrams leave by; 0 is
// that of the routes, the default.
func (l *Lane) SetMulticastInterface(ifindex int) error {
	step := fmt.Sprintf("set multicast interface %d on", ifindex)
	return l.control(step, func(fd int) error {
		mreq := &unix.IPMreqn{Ifindex: int32(ifindex)}
		err := unix.SetsockoptIPMreqn(fd, unix.SOL_IP, unix.IP_MULTICAST_IF, mreq)
		if err == nil && l.ip6 {
			err = unix.SetsockoptInt(fd, unix.SOL_IPV6, unix.IPV6_MULTICAST_IF, ifindex)
		}
		return err
	})
}

// SetDontFragment sets the policy of both families (IP_MTU_DISCOVER). Before the
// first call it is the system's default, FragmentLarger unless the sysctl
// net.ipv4.ip_no_pmtu_disc says otherwise.
func (l *Lane) SetDontFragment(policy DontFragment) error {
	// The values for IPv6 are the same.
	values := [...]int{
		FragmentLarger:   unix.IP_PMTUDISC_WANT,
		FragmentAnywhere: unix.IP_PMTUDISC_DONT,
		FragmentNever:    unix.IP_PMTUDISC_DO,
		FragmentProbe:    unix.IP_PMTUDISC_PROBE,
	}
	if policy < 0 || int(policy) >= len(values) {
		return fmt.Errorf("lane: fragmentation policy %d: want 0 to %d", policy, len(values)-1)
	}
	step := fmt.Sprintf("set fragmentation policy %d on", policy)
	return l.setBoth(step, unix.IP_MTU_DISCOVER, unix.IPV6_MTU_DISCOVER, values[policy])
}

// setBoth sets an option of IPv4 and, on an IPv6 socket, its twin of IPv6.
func (l *Lane) setBoth(step string, option4, option6, value int) error {
	return l.control(step, func(fd int) error {
		err := unix.SetsockoptInt(fd, unix.SOL_IP, option4, value)
		if err == nil && l.ip6 {
			err = unix.SetsockoptInt(fd, unix.SOL_IPV6, option6, value)
		}
		return err
	})
}

// Unsent is how many bytes of sent datagrams, with the kernel's bookkeeping, have
// not left the machine's queues yet: those that wait for a neighbour to be
// resolved, in a queueing discipline, or in the device. When it is 0, what is sent
// by another way cannot overtake what was sent by this one.
func (l *Lane) Unsent() (int, error) {
	l.ctl.Lock()
	defer l.ctl.Unlock()
	if l.fd < 0 {
		return 0, net.ErrClosed
	}
	// A 32-bit int, also where Go's has 64: on big-endian machines that matters.
	n, err := unix.IoctlGetUint32(l.fd, unix.SIOCOUTQ)
	return int(n), err
}

// Errors takes the error that waits on the socket, an ICMP error from a connected
// peer as a rule, which Receive or Send would return else; nil if there is none. A
// socket without a Remote never has one, as with net.UDPConn.
func (l *Lane) Errors() error {
	l.ctl.Lock()
	defer l.ctl.Unlock()
	if l.fd < 0 {
		return net.ErrClosed
	}
	n, err := unix.GetsockoptInt(l.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && n != 0 {
		err = unix.Errno(n)
	}
	return err
}
