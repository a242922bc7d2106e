// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"fmt"
	"time"

	"github.com/vishvananda/netlink/nl"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// answerWait bounds the wait for the kernel's answer, which it gives within the
// request unless it is very busy.
const answerWait = 10 * time.Second

// dumpTries is how often a list is asked for again that changed while it was read.
const dumpTries = 5

// requester asks the kernel, one request at a time on each of its sockets.
// Safe for concurrent use.
type requester struct {
	sockets map[int]*nl.SocketHandle // by protocol
}

// newRequester opens the sockets in the namespace of the calling thread.
func newRequester() (*requester, error) {
	r := &requester{sockets: make(map[int]*nl.SocketHandle)}
	for _, protocol := range []int{unix.NETLINK_ROUTE, unix.NETLINK_GENERIC} {
		s, err := newSocket(protocol)
		if err != nil {
			r.close()
			return nil, err
		}
		// The kernel then says in words what was wrong; since Linux 4.12.
		_ = s.SetExtAck(true)
		wait := unix.NsecToTimeval(answerWait.Nanoseconds())
		err = errors.Join(s.SetSendTimeout(&wait), s.SetReceiveTimeout(&wait))
		r.sockets[protocol] = &nl.SocketHandle{Socket: s}
		if err != nil {
			r.close()
			return nil, err
		}
	}
	return r, nil
}

// newSocket opens a close-on-exec netlink socket here.
func newSocket(protocol int) (*nl.NetlinkSocket, error) {
	s, err := nl.GetNetlinkSocketAt(netns.None(), netns.None(), protocol)
	if err != nil {
		return nil, fmt.Errorf("open netlink socket, protocol %d (a sandbox may forbid AF_NETLINK): %w", protocol, err)
	}
	return s, nil
}

func (r *requester) close() {
	for _, s := range r.sockets {
		s.Close()
	}
}

// fd is a descriptor for ioctls on interfaces: any socket of the namespace does.
func (r *requester) fd() int { return r.sockets[unix.NETLINK_ROUTE].Socket.GetFd() }

// do sends one request and returns the bodies of the answers.
func (r *requester) do(protocol int, typ uint16, flags int, body ...nl.NetlinkRequestData) ([][]byte, error) {
	for try := 1; ; try++ {
		req := nl.NewNetlinkRequest(int(typ), flags)
		req.Sockets = r.sockets
		req.Data = body
		answers, err := req.Execute(protocol, 0)
		if errors.Is(err, nl.ErrDumpInterrupted) && try < dumpTries {
			continue
		}
		return answers, err
	}
}

// one is do for requests that have one answer.
func (r *requester) one(protocol int, typ uint16, body ...nl.NetlinkRequestData) ([]byte, error) {
	answers, err := r.do(protocol, typ, 0, body...)
	if err != nil {
		return nil, err
	}
	if len(answers) != 1 {
		return nil, fmt.Errorf("%d answers, want one: %w", len(answers), unix.EBADMSG)
	}
	return answers[0], nil
}

// skipStats keeps the counters out of the answer (RTEXT_FILTER_SKIP_STATS).
const skipStats = 1 << 3

// link asks for an interface by index, or by name if index is 0.
func (r *requester) link(index int, name string) (Link, error) {
	head := nl.NewIfInfomsg(unix.AF_UNSPEC)
	head.Index = int32(index)
	body := []nl.NetlinkRequestData{head, nl.NewRtAttr(unix.IFLA_EXT_MASK, nl.Uint32Attr(skipStats))}
	if index == 0 {
		body = append(body, nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(name)))
	}
	answer, err := r.one(unix.NETLINK_ROUTE, unix.RTM_GETLINK, body...)
	if errors.Is(err, unix.ENODEV) {
		return Link{}, ErrNoInterface
	}
	if err != nil {
		return Link{}, fmt.Errorf("ask for link: %w", err)
	}
	m, err := parseLink(answer)
	return m.link, err
}

// addrs fills in the addresses of the interface.
func (r *requester) addrs(l *Link) error {
	head := make(rawBody, unix.SizeofIfAddrmsg) // of all families
	answers, err := r.do(unix.NETLINK_ROUTE, unix.RTM_GETADDR, unix.NLM_F_DUMP, head)
	if err != nil {
		return fmt.Errorf("ask for addresses: %w", err)
	}
	l.Addrs = nil
	for _, answer := range answers {
		if len(answer) == 0 || answer[0] != unix.AF_INET && answer[0] != unix.AF_INET6 {
			continue // other protocols have addresses too
		}
		m, err := parseAddr(answer)
		if err != nil {
			return err
		}
		if m.index == l.Index && m.usable {
			l.Addrs = append(l.Addrs, m.addr)
		}
	}
	return nil
}

// family asks for the number of a generic netlink family; 0 if there is none.
func (r *requester) family(name string) (family, error) {
	answer, err := r.generic(unix.GENL_ID_CTRL, unix.CTRL_CMD_GETFAMILY, 1,
		nl.NewRtAttr(unix.CTRL_ATTR_FAMILY_NAME, nl.ZeroTerminated(name)))
	if errors.Is(err, unix.ENOENT) {
		return family{}, nil
	}
	if err != nil {
		return family{}, fmt.Errorf("ask for generic netlink family %s: %w", name, err)
	}
	return parseFamily(answer)
}

// generic sends a command of a generic netlink family that has one answer.
func (r *requester) generic(family uint16, cmd, version uint8, attrs ...nl.NetlinkRequestData) ([]byte, error) {
	// Built here: the type of package nl sends two bytes of foreign memory with it,
	// which the kernel refuses if they are not zero.
	head := rawBody{cmd, version, 0, 0}
	return r.one(unix.NETLINK_GENERIC, family, append([]nl.NetlinkRequestData{head}, attrs...)...)
}

// features asks for the XDP features of an interface.
func (r *requester) features(f family, index int) (Features, error) {
	if f.id == 0 {
		return Features{}, nil
	}
	answer, err := r.generic(f.id, netdevCmdDevGet, netdevVersion,
		nl.NewRtAttr(netdevIfindex, nl.Uint32Attr(uint32(index))))
	if errors.Is(err, unix.ENODEV) {
		return Features{}, ErrNoInterface
	}
	if err != nil {
		return Features{}, fmt.Errorf("ask for XDP features: %w", err)
	}
	return parseFeatures(answer)
}

// channels asks for the queue counts. ok is false if the driver does not tell.
func (r *requester) channels(f family, index int) (c channels, ok bool, err error) {
	header := nl.NewRtAttr(unix.ETHTOOL_A_CHANNELS_HEADER|unix.NLA_F_NESTED, nil)
	header.AddRtAttr(unix.ETHTOOL_A_HEADER_DEV_INDEX, nl.Uint32Attr(uint32(index)))
	answer, err := r.generic(f.id, unix.ETHTOOL_MSG_CHANNELS_GET, unix.ETHTOOL_GENL_VERSION, header)
	switch {
	case errors.Is(err, unix.EOPNOTSUPP):
		return channels{}, false, nil
	case errors.Is(err, unix.ENODEV):
		return channels{}, false, ErrNoInterface
	case err != nil:
		return channels{}, false, fmt.Errorf("ask for channels: %w", err)
	}
	c, err = parseChannels(answer)
	return c, err == nil, err
}

// rawBody is a request body that is bytes already.
type rawBody []byte

func (b rawBody) Len() int          { return len(b) }
func (b rawBody) Serialize() []byte { return b }
