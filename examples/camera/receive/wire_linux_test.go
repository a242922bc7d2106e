// SPDX-License-Identifier: MIT

package main

import (
	"encoding/binary"
	"errors"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/examples/camera/gv"
	"github.com/xdpath/xdpath/internal/testnet"
)

// wire looks at what leaves an interface for a UDP port, by a packet socket.
type wire struct {
	fd   int
	port uint16
	stop func() // once all that has left is counted
	done chan struct{}

	mu     sync.Mutex // guards what follows
	images map[uint64]*seen
	order  []uint64
}

// seen is what left of one image.
type seen struct {
	ids     map[uint32]bool
	trailer uint32
}

func watch(t *testing.T, end testnet.End, port uint16) *wire {
	t.Helper()
	w := &wire{port: port, done: make(chan struct{}), images: map[uint64]*seen{}}
	err := end.NS.Do(func() (err error) {
		if w.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
			return err
		}
		all := binary.NativeEndian.Uint16([]byte{0, unix.ETH_P_ALL})
		return errors.Join(
			unix.SetsockoptInt(w.fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 256<<20),
			unix.SetsockoptTimeval(w.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 50_000}),
			unix.Bind(w.fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: end.Index}))
	})
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	go w.run(stop)
	w.stop = sync.OnceFunc(func() {
		close(stop)
		<-w.done
	})
	t.Cleanup(func() {
		w.stop()
		unix.Close(w.fd)
	})
	return w
}

func (w *wire) run(stop chan struct{}) {
	defer close(w.done)
	b := make([]byte, 1<<16)
	for {
		n, err := unix.Read(w.fd, b)
		if err == nil {
			w.add(b[:n])
			continue
		}
		select {
		case <-stop:
			return
		default:
		}
	}
}

// add counts a frame if it is a packet of the stream, over IPv4 without options.
func (w *wire) add(frame []byte) {
	const headers = 14 + 20 + 8
	if len(frame) < headers || frame[12] != 8 || frame[13] != 0 || frame[14] != 0x45 || frame[23] != 17 ||
		binary.BigEndian.Uint16(frame[36:]) != w.port {
		return
	}
	p, err := gv.ParsePacket(frame[headers:])
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.images[p.Block]
	if s == nil {
		s = &seen{ids: map[uint32]bool{}}
		w.images[p.Block] = s
		w.order = append(w.order, p.Block)
	}
	s.ids[p.ID] = true
	if p.Kind == gv.PartTrailer {
		s.trailer = p.ID
	}
}

// missing is how many packets of images with so many did not leave, and how many
// images left, whole ones and all.
func (w *wire) missing(t *testing.T, packets int) (missing, whole, images int) {
	t.Helper()
	w.stop()
	if st, err := unix.GetsockoptTpacketStats(w.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS); err != nil || st.Drops > 0 {
		t.Errorf("the packet socket itself lost frames: %+v, %v", st, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, block := range w.order {
		lost := packets - len(w.images[block].ids)
		missing += lost
		if lost == 0 {
			whole++
		}
	}
	return missing, whole, len(w.order)
}
