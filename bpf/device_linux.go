// SPDX-License-Identifier: MIT

package bpf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// device asks the kernel about one interface and changes its XDP program, over a
// netlink socket that belongs to the namespace of the thread that opened it.
type device struct {
	socket *nl.NetlinkSocket
	index  int
	name   string
	kind   string // as "ip -d link" shows it, or "device" for hardware
	mac    net.HardwareAddr
	mtu    int
}

// found is an XDP program that is on the device. id is 0 if several are.
type found struct {
	id   uint32
	mode string
}

// openDevice finds the interface that cfg means and checks that it carries
// Ethernet frames. The caller closes it.
func openDevice(cfg Config) (_ *device, err error) {
	socket, err := openNetlink(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("bpf: open netlink socket (a sandbox may forbid AF_NETLINK): %w", err)
	}
	d := &device{socket: socket, index: cfg.Ifindex, name: cfg.Interface}
	defer func() {
		if err != nil {
			d.close()
		}
	}()
	if err := d.resolve(cfg); err != nil {
		return nil, err
	}
	message, err := d.get()
	if err != nil {
		return nil, fmt.Errorf("bpf: read interface %s: %w", d, err)
	}
	return d, d.read(message)
}

// openNetlink makes a socket on which each request is bounded: the kernel answers at
// once or, while another holds the rtnl lock, a little later.
func openNetlink(protocol int) (*nl.NetlinkSocket, error) {
	socket, err := nl.Subscribe(protocol)
	if err != nil {
		return nil, err
	}
	limit := unix.Timeval{Sec: 10}
	if err := errors.Join(socket.SetSendTimeout(&limit), socket.SetReceiveTimeout(&limit)); err != nil {
		socket.Close()
		return nil, fmt.Errorf("set timeout: %w", err)
	}
	_ = socket.SetExtAck(true) // the driver's own words in errors, from Linux 4.12 on
	return socket, nil
}

func (d *device) close() { d.socket.Close() }

// String gives the best name we have for messages.
func (d *device) String() string {
	if d.name != "" {
		return d.name
	}
	return fmt.Sprintf("index %d", d.index)
}

// resolve turns the name into an index. The ioctl does it on every kernel, and
// works on any socket.
func (d *device) resolve(cfg Config) error {
	if cfg.Interface == "" {
		return nil
	}
	request, err := unix.NewIfreq(cfg.Interface)
	if err != nil {
		return fmt.Errorf("bpf: interface %q: %w", cfg.Interface, err)
	}
	if err := unix.IoctlIfreq(d.socket.GetFd(), unix.SIOCGIFINDEX, request); err != nil {
		return fmt.Errorf("bpf: find interface %q: %w", cfg.Interface, err)
	}
	d.index = int(request.Uint32())
	if cfg.Ifindex != 0 && cfg.Ifindex != d.index {
		return fmt.Errorf("bpf: config: Interface %q has index %d, Ifindex is %d: %w",
			cfg.Interface, d.index, cfg.Ifindex, unix.EINVAL)
	}
	return nil
}

// get asks for all that the kernel tells about the device.
func (d *device) get() ([]byte, error) {
	header := nl.NewIfInfomsg(unix.AF_UNSPEC)
	header.Index = int32(d.index)
	messages, err := d.execute(unix.RTM_GETLINK, unix.NLM_F_ACK, header)
	if err != nil {
		return nil, err
	}
	if len(messages) == 0 || len(messages[0]) < unix.SizeofIfInfomsg {
		return nil, fmt.Errorf("short netlink answer: %w", unix.EPROTO)
	}
	return messages[0], nil
}

func (d *device) execute(kind, flags int, data ...nl.NetlinkRequestData) ([][]byte, error) {
	return execute(d.socket, unix.NETLINK_ROUTE, kind, flags, data...)
}

// execute sends one request on a socket of the protocol and gives the answers.
func execute(socket *nl.NetlinkSocket, protocol, kind, flags int, data ...nl.NetlinkRequestData) ([][]byte, error) {
	request := nl.NewNetlinkRequest(kind, flags)
	request.Sockets = map[int]*nl.SocketHandle{protocol: {Seq: request.Seq, Socket: socket}}
	for _, one := range data {
		request.AddData(one)
	}
	return request.Execute(protocol, 0)
}

func (d *device) read(message []byte) error {
	link, err := netlink.LinkDeserialize(nil, message)
	if err != nil {
		return fmt.Errorf("bpf: read interface %s: %w", d, err)
	}
	attrs := link.Attrs()
	d.name, d.kind, d.mac, d.mtu = attrs.Name, link.Type(), attrs.HardwareAddr, attrs.MTU
	if attrs.EncapType == "loopback" && d.mac == nil {
		d.mac = make(net.HardwareAddr, 6) // the netlink package leaves out a zero address
	}
	if attrs.EncapType != "ether" && attrs.EncapType != "loopback" || len(d.mac) != 6 {
		return fmt.Errorf("bpf: interface %s carries no Ethernet frames (%s): %w", d, attrs.EncapType, unix.EAFNOSUPPORT)
	}
	return nil
}

// programs lists the XDP programs on the device.
func (d *device) programs() ([]found, error) {
	message, err := d.get()
	if err != nil {
		return nil, err
	}
	attrs, err := nl.ParseRouteAttr(message[unix.SizeofIfInfomsg:])
	if err != nil {
		return nil, err
	}
	for _, a := range attrs {
		if a.Attr.Type&nl.NLA_TYPE_MASK == unix.IFLA_XDP {
			return parseXDP(a.Value)
		}
	}
	return nil, nil
}

// parseXDP reads the nested attributes of IFLA_XDP (rtnl_xdp_fill in
// net/core/rtnetlink.c). The ids by mode came with Linux 4.18 or so; before, there
// was one program at most.
func parseXDP(value []byte) ([]found, error) {
	attrs, err := nl.ParseRouteAttr(value)
	if err != nil {
		return nil, err
	}
	modes := map[byte]string{1: "native", 2: "generic", 3: "offload", 4: "several"}
	byMode := map[uint16]string{
		unix.IFLA_XDP_DRV_PROG_ID: "native",
		unix.IFLA_XDP_SKB_PROG_ID: "generic",
		unix.IFLA_XDP_HW_PROG_ID:  "offload",
	}
	var list []found
	one := found{}
	for _, a := range attrs {
		kind := a.Attr.Type & nl.NLA_TYPE_MASK
		switch {
		case kind == unix.IFLA_XDP_ATTACHED && len(a.Value) >= 1:
			one.mode = modes[a.Value[0]]
		case len(a.Value) < 4:
		case kind == unix.IFLA_XDP_PROG_ID:
			one.id = binary.NativeEndian.Uint32(a.Value)
		case byMode[kind] != "":
			list = append(list, found{binary.NativeEndian.Uint32(a.Value), byMode[kind]})
		}
	}
	if len(list) == 0 && one.mode != "" {
		list = append(list, one)
	}
	return list, nil
}

// setProgram puts the program with descriptor fd on the device, or takes the
// present one off if fd is -1. With expected >= 0 and XDP_FLAGS_REPLACE in flags
// the kernel does so only if that program is there.
func (d *device) setProgram(fd, expected int, flags uint32) error {
	header := nl.NewIfInfomsg(unix.AF_UNSPEC)
	header.Index = int32(d.index)
	xdp := nl.NewRtAttr(unix.IFLA_XDP|unix.NLA_F_NESTED, nil)
	xdp.AddRtAttr(unix.IFLA_XDP_FD, nl.Uint32Attr(uint32(fd)))
	xdp.AddRtAttr(unix.IFLA_XDP_FLAGS, nl.Uint32Attr(flags))
	if expected >= 0 {
		xdp.AddRtAttr(unix.IFLA_XDP_EXPECTED_FD, nl.Uint32Attr(uint32(expected)))
	}
	_, err := d.execute(unix.RTM_SETLINK, unix.NLM_F_ACK, header, xdp)
	return err
}
