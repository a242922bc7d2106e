// SPDX-License-Identifier: MIT

package path

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/stream"
	"github.com/xdpath/xdpath/internal/testnet"
)

// TestGSORefused has the kernel refuse bundles, at once or after some: the path
// goes on without them, loses nothing, and says so once.
func TestGSORefused(t *testing.T) {
	for _, errno := range []unix.Errno{unix.EIO, unix.EINVAL} {
		for _, after := range []int{0, 3} {
			t.Run(unix.ErrnoName(errno)+"/after="+itoa(after), func(t *testing.T) {
				r := openPath(t, gsoPath(), 1000, unchanged)
				s := r.tx.(*gsoSender)
				calls := 0
				s.write = func(fd int, p []byte) (int, error) {
					if calls++; calls > after {
						return 0, errno
					}
					return unix.Write(fd, p)
				}
				r.send(t, 0, 640)
				r.send(t, 640, 64)
				if got, want := r.collect(t), (stream.Tally{Received: 704}); got != want {
					t.Errorf("tally %+v, want %+v", got, want)
				}
				if calls != after+1 {
					t.Errorf("%d bundles tried, want %d", calls, after+1)
				}
				info := s.Info()
				if info.Mode != "GSO off" || len(info.Notes) != 1 || !strings.Contains(info.Notes[0], "refuses UDP_SEGMENT") {
					t.Errorf("info %+v", info)
				}
			})
		}
	}
}

// TestGSOTooLarge sends datagrams larger than the link takes: an error, which
// ends the run, and no endless try.
func TestGSOTooLarge(t *testing.T) {
	r := openPath(t, gsoPath(), 1420, unchanged)
	if err := r.pair.A.SetMTU(1280); err != nil {
		t.Fatal(err)
	}
	bufs := make([][]byte, 64)
	n, err := r.tx.Reserve(bufs)
	if err != nil {
		t.Fatal(err)
	}
	if taken, err := r.tx.Send(n); taken != 0 || !errors.Is(err, unix.EMSGSIZE) {
		t.Errorf("%d taken, error %v", taken, err)
	}
}

// TestGSOBatches sends bundles of every length.
func TestGSOBatches(t *testing.T) {
	r := openPath(t, gsoPath(), 64, unchanged)
	var seq uint64
	for n := uint64(1); n <= 64; n++ {
		r.send(t, seq, n)
		seq += n
		if n%8 == 0 {
			r.collect(t) // make room
		}
	}
	large := openPath(t, gsoPath(), 1472, func(tx, rx *Config) { tx.Batch, rx.Batch = 1024, 1024 })
	if got := large.tx.Info().Batch; got != 44 {
		t.Errorf("%d datagrams of 1472 bytes a bundle, an IPv4 packet holds 44", got)
	}
	large.send(t, 0, 440)
	if got, want := large.collect(t), (stream.Tally{Received: 440}); got != want {
		t.Errorf("tally %+v, want %+v", got, want)
	}
}

// TestGROTruncated reads bundles into a buffer that is too small for them. What
// the kernel cuts off must show as lost, and where.
func TestGROTruncated(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	_, cfg := configs(pair, 1000)
	var r *groReceiver
	if err := pair.B.NS.Do(func() (err error) { r, err = openGROReceiver(cfg, 2048); return err }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pair.B.NS.Do(r.Close); err != nil {
			t.Error(err)
		}
	})
	var fd int
	err := pair.A.NS.Do(func() (err error) {
		fd, err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if err := errors.Join(
		unix.Bind(fd, sockaddr(cfg.Peer)), unix.Connect(fd, sockaddr(cfg.Local)),
		unix.SetsockoptInt(fd, unix.SOL_UDP, unix.UDP_SEGMENT, 1000),
	); err != nil {
		t.Fatal(err)
	}
	gen := stream.NewGenerator(1000, run)
	bundle := make([]byte, 10*1000)
	for i := range uint64(10) {
		gen.Write(bundle[i*1000:], i)
	}
	// The veth hands the bundle over as one packet.
	if _, err := unix.Write(fd, bundle); err != nil {
		t.Fatal(err)
	}
	tally := (&rig{rx: r, size: 1000}).collect(t)
	if want := (stream.Tally{Received: 2, Truncated: 1}); tally != want {
		t.Errorf("tally %+v, want %+v: 2,048 bytes hold two and a piece", tally, want)
	}
	counts, err := r.Counters()
	if err != nil {
		t.Fatal(err)
	}
	if split := loss.Attribute(8, counts); split[loss.Truncated] != 8 {
		t.Errorf("8 lost at %v, counters %+v", split, counts)
	}
}

func TestSegmentSize(t *testing.T) {
	message := func(level, kind int32, data ...byte) []byte {
		b := make([]byte, unix.CmsgSpace(len(data)))
		length := uint64(unix.CmsgLen(len(data)))
		if unix.SizeofLong == 8 {
			binary.NativeEndian.PutUint64(b, length)
		} else {
			binary.NativeEndian.PutUint32(b, uint32(length))
		}
		binary.NativeEndian.PutUint32(b[unix.SizeofCmsghdr-8:], uint32(level))
		binary.NativeEndian.PutUint32(b[unix.SizeofCmsghdr-4:], uint32(kind))
		copy(b[unix.CmsgLen(0):], data)
		return b
	}
	size := binary.NativeEndian.AppendUint32(nil, 1472)
	negative := binary.NativeEndian.AppendUint32(nil, 1<<31)
	gro := message(unix.SOL_UDP, unix.UDP_GRO, size...)
	other := message(unix.SOL_SOCKET, unix.SO_TIMESTAMP, make([]byte, 16)...)
	tests := []struct {
		name    string
		control []byte
		want    int
	}{
		{"nothing", nil, 0},
		{"size", gro, 1472},
		{"after another", append(other, gro...), 1472},
		{"another only", other, 0},
		{"cut short", gro[:len(gro)-5], 0},
		{"two bytes", message(unix.SOL_UDP, unix.UDP_GRO, 1, 2), 0},
		{"header cut short", gro[:3], 0},
	}
	for _, tt := range tests {
		if got := segmentSize(tt.control); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
	if got := segmentSize(message(unix.SOL_UDP, unix.UDP_GRO, negative...)); got > 0 {
		t.Errorf("negative size: %d", got)
	}
}

// TestBufferClamped opens a socket without the right to pass the limits: the
// difference is told.
func TestBufferClamped(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	cfg, _ := configs(pair, 1472)
	cfg.Hold = 1 << 16 // far beyond any net.core.rmem_max that is set by default
	open := func() (Info, error) {
		s, err := openUDP(cfg)
		if err != nil {
			return Info{}, err
		}
		return s.Info(), s.Close()
	}
	var full, clamped Info
	if err := pair.A.NS.Do(func() (err error) { full, err = open(); return err }); err != nil {
		t.Fatal(err)
	}
	err := pair.A.NS.Do(func() (err error) {
		if err := dropNetAdmin(); err != nil {
			return err
		}
		clamped, err = open()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if full.BufferGot < full.BufferAsked || len(full.Notes) != 0 {
		t.Errorf("as root: %+v", full)
	}
	if clamped.BufferGot >= clamped.BufferAsked || len(clamped.Notes) != 1 || !strings.Contains(clamped.Notes[0], "not a fair comparison") {
		t.Errorf("without CAP_NET_ADMIN: %+v", clamped)
	}
}

// dropNetAdmin gives a capability of this thread up.
func dropNetAdmin() error {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		return err
	}
	data[0].Effective &^= 1 << unix.CAP_NET_ADMIN
	return unix.Capset(&hdr, &data[0])
}

// TestSocketTimeLimits waits for nothing, and no longer than it should.
func TestSocketTimeLimits(t *testing.T) {
	for _, p := range paths(Stream) {
		t.Run(p.Name, func(t *testing.T) {
			pair := testnet.TestPair(t, testnet.Config{})
			_, cfg := configs(pair, 64)
			var r Receiver
			if err := pair.B.NS.Do(func() (err error) { r, err = p.Receiver(cfg); return err }); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := pair.B.NS.Do(r.Close); err != nil {
					t.Error(err)
				}
			}()
			begun := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			n, err := r.Receive(ctx, make([][]byte, 64))
			if n != 0 || err != nil {
				t.Errorf("%d datagrams of nothing, %v", n, err)
			}
			if took := time.Since(begun); took > time.Second {
				t.Errorf("waited for %v", took)
			}
		})
	}
}
