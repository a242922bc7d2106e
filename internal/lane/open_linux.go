// SPDX-License-Identifier: MIT

package lane

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Open makes the socket in the network namespace of the calling thread and binds
// it; the caller closes it. An error names the step and the address, and wraps the
// kernel's errno: EADDRINUSE, EADDRNOTAVAIL, EACCES and so on.
func Open(cfg Config) (*Lane, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	l := &Lane{fd: -1}
	if err := l.socket(cfg); err != nil {
		return nil, err
	}
	if err := l.setUp(cfg); err != nil {
		unix.Close(l.fd)
		return nil, err
	}
	l.pool = newPool(cfg.Buffers, cfg.BufferSize)
	l.in.init(min(cfg.Buffers, batchLen), l.info.Local.Port())
	l.out.init(l.ip6, cfg.Remote.Addr())
	return l, nil
}

// batchLen is how many datagrams go into one system call at most. More than this
// does not make a datagram cheaper.
const batchLen = 64

// socket opens the socket of the right family. Without an address it is IPv4 where
// the kernel has no IPv6.
func (l *Lane) socket(cfg Config) (err error) {
	l.ip6 = !cfg.ip4()
	l.fd, err = udpSocket(l.ip6)
	either := !cfg.Local.Addr().IsValid() && !cfg.Remote.Addr().IsValid() && !cfg.IPv6Only
	if errors.Is(err, unix.EAFNOSUPPORT) && l.ip6 && either {
		l.ip6 = false
		l.fd, err = udpSocket(false)
	}
	if err != nil {
		return stepError("open socket for", cfg.Local, err)
	}
	return nil
}

func udpSocket(ip6 bool) (int, error) {
	family := unix.AF_INET
	if ip6 {
		family = unix.AF_INET6
	}
	return unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.IPPROTO_UDP)
}

// setUp sets all options before the socket is bound: no datagram arrives without
// its metadata.
func (l *Lane) setUp(cfg Config) error {
	if err := l.setOptions(cfg); err != nil {
		return err
	}
	if err := l.setBuffers(cfg); err != nil {
		return err
	}
	l.setOffloads(cfg)
	if err := l.bind(cfg.Local); err != nil {
		return err
	}
	if cfg.Remote.Addr().IsValid() {
		if err := unix.Connect(l.fd, l.sockaddr(cfg.Remote)); err != nil {
			return stepError("connect to", cfg.Remote, err)
		}
		l.info.Remote = cfg.Remote
	}
	return l.readLocal(cfg)
}

// option is one socket option and what it is for, for an error's text.
type option struct {
	level, name, value int
	text               string
}

func (l *Lane) setOptions(cfg Config) error {
	opts := []option{
		// With IPv6 as well: IPv4 datagrams on an IPv6 socket tell theirs this way.
		{unix.SOL_IP, unix.IP_RECVTTL, 1, "receive TTL on"},
		{unix.SOL_IP, unix.IP_RECVTOS, 1, "receive TOS on"},
	}
	if l.ip6 {
		opts = append(opts,
			option{unix.SOL_IPV6, unix.IPV6_V6ONLY, boolInt(cfg.IPv6Only), "choose families of"},
			option{unix.SOL_IPV6, unix.IPV6_RECVPKTINFO, 1, "receive destination on"},
			option{unix.SOL_IPV6, unix.IPV6_RECVHOPLIMIT, 1, "receive hop limit on"},
			option{unix.SOL_IPV6, unix.IPV6_RECVTCLASS, 1, "receive traffic class on"})
	} else {
		opts = append(opts, option{unix.SOL_IP, unix.IP_PKTINFO, 1, "receive destination on"})
	}
	if cfg.Broadcast {
		opts = append(opts, option{unix.SOL_SOCKET, unix.SO_BROADCAST, 1, "permit broadcast on"})
	}
	for _, o := range opts {
		if err := unix.SetsockoptInt(l.fd, o.level, o.name, o.value); err != nil {
			return stepError(o.text, cfg.Local, err)
		}
	}
	// What it tells comes by SO_MEMINFO too, on all but old kernels.
	_ = unix.SetsockoptInt(l.fd, unix.SOL_SOCKET, unix.SO_RXQ_OVFL, 1)
	if cfg.Timestamps {
		return l.setTimestamps(cfg.Local)
	}
	return nil
}

// setTimestamps asks for 64-bit time, which is from Linux 5.1 on; without it 32-bit
// machines have time until 2038.
func (l *Lane) setTimestamps(local netip.AddrPort) error {
	err := unix.SetsockoptInt(l.fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS_NEW, 1)
	if err != nil {
		err = unix.SetsockoptInt(l.fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS_OLD, 1)
	}
	if err != nil {
		return stepError("receive timestamps on", local, err)
	}
	return nil
}

// setBuffers sets the buffers that were asked for, and reads what they are.
func (l *Lane) setBuffers(cfg Config) (err error) {
	l.info.ReceiveBuffer, err = receiveSide.set(l.fd, cfg.ReceiveBuffer)
	if err != nil {
		return stepError("set receive buffer of", cfg.Local, err)
	}
	l.info.SendBuffer, err = sendSide.set(l.fd, cfg.SendBuffer)
	if err != nil {
		return stepError("set send buffer of", cfg.Local, err)
	}
	return nil
}

// setOffloads turns on what there is; the rest goes without.
func (l *Lane) setOffloads(cfg Config) {
	l.info.GRO = Offload{Note: "not asked for"}
	if cfg.GRO {
		l.info.GRO = offload("UDP_GRO", "Linux 5.0", unix.SetsockoptInt(l.fd, unix.SOL_UDP, unix.UDP_GRO, 1))
	}
	_, err := unix.GetsockoptInt(l.fd, unix.SOL_UDP, unix.UDP_SEGMENT)
	l.out.gso = offload("UDP_SEGMENT", "Linux 4.18", err)
}

func offload(name, since string, err error) Offload {
	if err != nil {
		return Offload{Note: fmt.Sprintf("no %s, which is from %s on: %v", name, since, err)}
	}
	return Offload{On: true}
}

func (l *Lane) bind(local netip.AddrPort) error {
	if !local.Addr().IsValid() {
		local = netip.AddrPortFrom(netip.IPv6Unspecified(), local.Port())
		if !l.ip6 {
			local = netip.AddrPortFrom(netip.IPv4Unspecified(), local.Port())
		}
	}
	if err := unix.Bind(l.fd, l.sockaddr(local)); err != nil {
		return stepError("bind", local, err)
	}
	return nil
}

// sockaddr is addr in the socket's family.
func (l *Lane) sockaddr(addr netip.AddrPort) unix.Sockaddr {
	if !l.ip6 {
		return &unix.SockaddrInet4{Port: int(addr.Port()), Addr: addr.Addr().As4()}
	}
	zone := interfaceIndex(l.fd, addr.Addr().Zone())
	return &unix.SockaddrInet6{Port: int(addr.Port()), Addr: addr.Addr().As16(), ZoneId: zone}
}

// readLocal asks the kernel what the socket is bound to, after connect: the source
// address towards a peer is the kernel's choice.
func (l *Lane) readLocal(cfg Config) error {
	sa, err := unix.Getsockname(l.fd)
	if err != nil {
		return stepError("read the address of", cfg.Local, err)
	}
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		l.info.Local = netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port))
	case *unix.SockaddrInet6:
		addr := netip.AddrFrom16(sa.Addr).Unmap()
		if sa.ZoneId != 0 {
			addr = addr.WithZone(interfaceName(l.fd, sa.ZoneId))
		}
		l.info.Local = netip.AddrPortFrom(addr, uint16(sa.Port))
	}
	l.info.DualStack = l.ip6 && !cfg.IPv6Only && l.info.Local.Addr() == netip.IPv6Unspecified()
	return nil
}

// stepError names what was being done to which address, and what to do about it.
func stepError(step string, addr netip.AddrPort, err error) error {
	name := addr.String()
	if !addr.Addr().IsValid() {
		name = fmt.Sprintf("port %d of any address", addr.Port())
	}
	if hint := remedy(step, err); hint != "" {
		name += " (" + hint + ")"
	}
	return fmt.Errorf("lane: %s %s: %w", step, name, err)
}

func remedy(step string, err error) string {
	switch {
	case errors.Is(err, unix.EADDRINUSE):
		return "another socket has this port: close it or take another port"
	case errors.Is(err, unix.EADDRNOTAVAIL):
		return "no interface of this network namespace has the address"
	case errors.Is(err, unix.EACCES) && step == "bind":
		return "ports below net.ipv4.ip_unprivileged_port_start need CAP_NET_BIND_SERVICE"
	case errors.Is(err, unix.EACCES) && step == "connect to":
		return "a broadcast address needs Config.Broadcast"
	case errors.Is(err, unix.EINVAL) && step == "bind":
		return "a link-local address needs the zone of an interface that exists"
	case errors.Is(err, unix.EAFNOSUPPORT):
		return "the kernel has no such address family, or a sandbox forbids it"
	}
	return ""
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
