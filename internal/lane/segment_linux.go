// SPDX-License-Identifier: MIT

package lane

import (
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

const (
	// maxSegments is UDP_MAX_SEGMENTS of include/linux/udp.h, which newer kernels
	// have doubled.
	maxSegments = 64
	// maxBundle is the payload of the largest IPv4 packet, which a bundle is until
	// it is cut.
	maxBundle = 65535 - 20 - 8
)

// SendSegments sends o.Payload as datagrams of size bytes each, the last one
// shorter, and returns how many the kernel took: the rest begins n*size bytes into
// the payload. An empty payload is one empty datagram. Otherwise it is as Send, the
// error being about datagram n.
//
// The kernel gets bundles and cuts them up late (UDP_SEGMENT). A bundle that it
// refuses goes out again as plain datagrams, so that size may be above the MTU. If
// it refused not for the size but for being a bundle, as devices without checksum
// offload made older kernels do, no more are made: Info then says so.
func (l *Lane) SendSegments(o Outgoing, size int) (int, error) {
	s := &l.out
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.fd < 0 {
		return 0, net.ErrClosed
	}
	if size <= 0 {
		return 0, l.sentNow(0, 0, unix.EINVAL)
	}
	size = min(size, max(len(o.Payload), 1)) // so that no product overflows
	sent, bytes := 0, 0
	for {
		part := o.Payload[bytes:]
		part = part[:min(len(part), s.partLen(size))]
		n, err := l.sendPart(&o, part, size)
		sent += n
		bytes = min(bytes+n*size, len(o.Payload))
		if err != nil || bytes == len(o.Payload) {
			return sent, l.sentNow(sent, bytes, err)
		}
	}
}

// partLen is how many bytes are handled at a time: a bundle, or a batch of plain
// datagrams, both of whole datagrams.
func (s *sender) partLen(size int) int {
	if s.gso.On {
		return size * max(1, min(s.maxSegments, maxBundle/size))
	}
	return size * min(batchLen, max(1, maxBundle/size))
}

// sendPart sends one part, as a bundle if it can be.
func (l *Lane) sendPart(o *Outgoing, part []byte, size int) (int, error) {
	s := &l.out
	count := pieces(len(part), size)
	if !s.gso.On || count == 1 {
		return l.sendPlain(o, part, size)
	}
	err := s.pack(l.fd, 0, o, part, size)
	if err != nil {
		return 0, err
	}
	_, err = s.transmit(l.fd, 1)
	if err == nil {
		l.count.sentBundles.Add(1)
		return count, nil
	}
	if !refusesBundle(err) {
		return 0, err
	}
	n, plainErr := l.sendPlain(o, part, size)
	if n > 0 && err != unix.EMSGSIZE {
		// The same went out plain: the bundle was the reason, not the datagrams.
		s.gso = Offload{Note: fmt.Sprintf("plain sends since UDP_SEGMENT was refused for %d datagrams of %d bytes: %v", count, size, err)}
	}
	return n, plainErr
}

// refusesBundle tells the errors that may be about the bundle and not about its
// datagrams (udp_send_skb, net/ipv4/udp.c): too many or too large segments, no
// checksum offload, a device or a tunnel that cannot. Where they are about the
// datagrams, sending these plain brings the same error again.
func refusesBundle(err error) bool {
	switch err {
	case unix.EINVAL, unix.EIO, unix.EMSGSIZE, unix.EOPNOTSUPP, unix.ENOPROTOOPT, notSupported:
		return true
	}
	return false
}

// notSupported is ENOTSUPP, which the kernel keeps for itself but lets out at times
// (include/linux/errno.h).
const notSupported = unix.Errno(524)

// sendPlain sends part as datagrams of their own. The caller's part may be longer
// than a batch.
func (l *Lane) sendPlain(o *Outgoing, part []byte, size int) (sent int, err error) {
	s := &l.out
	count := pieces(len(part), size)
	for sent < count {
		n := min(count-sent, s.limit)
		for i := range n {
			start := (sent + i) * size
			end := min(start+size, len(part))
			if err = s.pack(l.fd, i, o, part[start:end], 0); err != nil {
				return sent, err
			}
		}
		k, err := s.transmit(l.fd, n)
		sent += k
		if err != nil {
			return sent, err
		}
	}
	return sent, nil
}
