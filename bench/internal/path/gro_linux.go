// SPDX-License-Identifier: MIT

package path

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/sys"
)

// groBuffer holds any bundle that the kernel merges. A smaller buffer would
// lose what does not fit, and only a flag would tell.
const groBuffer = 64 << 10

// A groReceiver is the receiving side of the gso path.
type groReceiver struct {
	*udpSocket
	bufs  [][]byte
	batch *sys.Batch
	got   int // messages of the last call, of which
	next  int // this one is being cut into datagrams
	rest  []byte
	seg   int // bytes a datagram in rest

	truncated uint64 // datagrams
	offload   *offload
}

// openGROReceiver reads into buffers of size bytes.
func openGROReceiver(cfg Config, size int) (*groReceiver, error) {
	// A merged datagram is charged a little more than one of its own.
	cfg.Hold += cfg.Hold / 8
	u, err := openUDP(cfg)
	if err != nil {
		return nil, err
	}
	messages := min(cfg.Batch, gsoSegments)
	u.info.Batch, u.info.Bundle = cfg.Batch, gsoSegments
	_, bufs := slices(messages, size)
	r := &groReceiver{udpSocket: u, bufs: bufs, batch: sys.NewBatch(bufs, unix.CmsgSpace(4))}
	if err := r.setUp(cfg); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *groReceiver) setUp(cfg Config) error {
	if err := unix.SetsockoptInt(r.fd, unix.SOL_UDP, unix.UDP_GRO, 1); err != nil {
		return fmt.Errorf("set UDP_GRO (Linux 5.0 and later): %w", err)
	}
	veth, err := isVeth(cfg.Interface)
	if err != nil || !veth || cfg.Keep {
		return err
	}
	r.offload, err = switchOffload(cfg.Interface, offloadGRO, true)
	return err
}

// Receive hands out datagrams of the bundles of the last call, and makes a call
// only when there are none left: the views lie in the buffers of that call.
func (r *groReceiver) Receive(_ context.Context, views [][]byte) (int, error) {
	if len(r.rest) == 0 && r.next == r.got {
		n, err := r.batch.Receive(r.fd, len(r.bufs), unix.MSG_WAITFORONE)
		if err != nil {
			if timedOut(err) {
				return 0, nil
			}
			return 0, fmt.Errorf("recvmmsg: %w", err)
		}
		r.got, r.next = n, 0
	}
	n := 0
	for n < len(views) {
		if len(r.rest) == 0 {
			if r.next == r.got {
				break
			}
			r.open(r.next)
			r.next++
			continue
		}
		k := min(r.seg, len(r.rest))
		views[n] = r.rest[:k:k]
		r.rest = r.rest[k:]
		n++
	}
	return n, nil
}

// open makes message i the one that is cut into datagrams. What the kernel cut
// off of a bundle is lost, and how much that was it does not say: it counts as
// one datagram at least, and the sequence numbers tell the rest.
func (r *groReceiver) open(i int) {
	r.rest = r.bufs[i][:r.batch.Len(i)]
	r.seg = segmentSize(r.batch.Control(i))
	if r.seg <= 0 {
		r.seg = max(1, len(r.rest)) // not a bundle
	}
	if r.batch.Truncated(i) {
		r.truncated++
	}
}

// segmentSize finds the length of the datagrams of a bundle in what the kernel
// said about it, 0 if it said nothing.
func segmentSize(control []byte) int {
	for len(control) > 0 {
		h, data, rest, err := unix.ParseOneSocketControlMessage(control)
		if err != nil {
			return 0
		}
		if h.Level == unix.SOL_UDP && h.Type == unix.UDP_GRO && len(data) >= 4 {
			return int(int32(binary.NativeEndian.Uint32(data)))
		}
		control = rest
	}
	return 0
}

// Counters adds what the kernel cut off to what it dropped.
func (r *groReceiver) Counters() (loss.Counts, error) {
	counts, err := r.udpSocket.Counters()
	if err != nil {
		return nil, err
	}
	for i := range counts {
		counts[i].Each = gsoSegments
	}
	return append(counts, loss.Count{Place: loss.Truncated, N: r.truncated, Each: gsoSegments}), nil
}

// Close closes the socket and gives the interface its offload back.
func (r *groReceiver) Close() error {
	err := errors.Join(r.udpSocket.Close(), r.offload.restore())
	r.offload = nil
	return err
}
