// SPDX-License-Identifier: MIT

package lane

import (
	"net"
	"net/netip"
	"sync"

	"golang.org/x/sys/unix"
)

// sender is the sending half of a lane.
type sender struct {
	mu     sync.Mutex // guards all that follows
	batch  batch
	zones  zones
	ip6    bool       // the socket's family
	remote netip.Addr // of the peer, if there is one
	// limit is how many datagrams go into a call. With a peer it is one: the kernel
	// may find an ICMP error when it takes a datagram, and sendmmsg keeps quiet
	// about an error that is not the first datagram's.
	limit int

	gso         Offload
	maxSegments int // of a bundle
}

func (s *sender) init(ip6 bool, remote netip.Addr) {
	s.batch = newBatch(batchLen, sendRoom())
	s.ip6, s.remote = ip6, remote
	s.limit = batchLen
	if remote.IsValid() {
		s.limit = 1
	}
	s.maxSegments = maxSegments
}

// Send hands datagrams to the kernel, in order, and returns how many it took; their
// payloads are the caller's again. It never waits: (n, nil) with n less than
// len(out) means that the send buffer is full, and FD is writable when there is
// room. Any other reason to stop is the error, which is about out[n] and bare:
// EMSGSIZE, ENETUNREACH, EHOSTUNREACH, EACCES (broadcast not permitted), EINVAL (port
// 0, families of Src and Dst that differ), EDESTADDRREQ, or on a lane with a Remote
// the errno of an ICMP message, with out[n] not sent.
func (l *Lane) Send(out []Outgoing) (int, error) {
	s := &l.out
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.fd < 0 {
		return 0, net.ErrClosed
	}
	sent, bytes := 0, 0
	var err error
	for sent < len(out) && err == nil {
		var n int
		n, err = l.sendSome(out[sent:])
		for i := range n {
			bytes += len(out[sent+i].Payload)
		}
		sent += n
	}
	return sent, l.sentNow(sent, bytes, err)
}

// sendSome sends the first of out, as many as go into one batch. It returns how many
// the kernel took, all of them if the error is nil.
func (l *Lane) sendSome(out []Outgoing) (n int, err error) {
	s := &l.out
	whole := min(len(out), s.limit)
	var refused error
	for i := range out[:whole] {
		if refused = s.pack(l.fd, i, &out[i], out[i].Payload, 0); refused != nil {
			whole = i
			break
		}
	}
	n, err = s.transmit(l.fd, whole)
	if err == nil {
		err = refused
	}
	return n, err
}

// sentNow counts what a call did, and makes a full send buffer no error.
func (l *Lane) sentNow(sent, bytes int, err error) error {
	l.count.sent.Add(uint64(sent))
	l.count.sentBytes.Add(uint64(bytes))
	if err == unix.EAGAIN {
		return nil
	}
	if err != nil {
		l.count.sendErrors.Add(1)
	}
	return err
}

// transmit sends the first n messages of the batch, and returns how many the kernel
// took, all of them if the error is nil, which is about the next one.
func (s *sender) transmit(fd, n int) (sent int, err error) {
	defer s.batch.forget(n)
	for sent < n {
		var k int
		if k, err = sendmmsg(fd, s.batch.hdrs[sent:n]); err != nil {
			break
		}
		sent += k
	}
	return sent, err
}

// pack makes message i of the batch: payload, sent as o says. With a segment it is a
// bundle of datagrams of that many bytes.
func (s *sender) pack(fd, i int, o *Outgoing, payload []byte, segment int) error {
	dst := unmap(o.Dst)
	src := o.Src.Unmap()
	if !dst.Addr().IsValid() {
		dst = netip.AddrPortFrom(s.remote, 0) // for its family
	}
	ip4 := dst.Addr().Is4()
	if src.IsValid() && src.Is4() != ip4 {
		return unix.EINVAL
	}
	named := 0
	if o.Dst.Addr().IsValid() {
		scope := s.zones.index(fd, dst.Addr().Zone())
		named = putAddr(s.batch.name(i), s.ip6, dst, scope)
	}
	s.batch.setName(i, named)
	s.batch.lend(i, payload)
	ctl := s.batch.control(i)[:0]
	if src.IsValid() || o.Ifindex != 0 {
		ctl = addSource(ctl, ip4, src, o.Ifindex)
	}
	if o.TOS != 0 || o.TTL != 0 {
		ctl = addHeaderFields(ctl, ip4, o.TOS, o.TTL)
	}
	if segment != 0 {
		ctl = addSegment(ctl, segment)
	}
	s.batch.setControl(i, len(ctl))
	return nil
}

// addHeaderFields appends the messages that set TOS and TTL, where they are not 0.
func addHeaderFields(ctl []byte, ip4 bool, tos, ttl uint8) []byte {
	level, tosKind, ttlKind := unix.SOL_IPV6, unix.IPV6_TCLASS, unix.IPV6_HOPLIMIT
	if ip4 {
		level, tosKind, ttlKind = unix.SOL_IP, unix.IP_TOS, unix.IP_TTL
	}
	if tos != 0 {
		ctl = addInt(ctl, level, tosKind, int(tos))
	}
	if ttl != 0 {
		ctl = addInt(ctl, level, ttlKind, int(ttl))
	}
	return ctl
}
