// SPDX-License-Identifier: MIT

package bpf

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/testnet"
)

// Queue numbers and descriptors that cannot be.
func TestSetQueueRefuses(t *testing.T) {
	testnet.Leaks(t)
	testnet.Require(t)
	b := loadBench(t)
	socket := xdpSocket(t)
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	for _, c := range []struct {
		name      string
		queue, fd int
		is        error
		words     []string
	}{
		{"last", 63, socket, nil, nil},
		{"again", 63, socket, nil, nil},
		{"beyond the map", 64, socket, unix.EINVAL, []string{"queue 64", "0 to 63"}},
		{"negative queue", -1, socket, unix.EINVAL, []string{"queue -1"}},
		{"negative descriptor", 0, -1, unix.EBADF, []string{"-1"}},
		{"closed descriptor", 0, 99999, unix.EBADF, []string{"99999"}},
		{"no socket", 0, int(file.Fd()), unix.ENOTSOCK, []string{"no AF_XDP socket"}},
	} {
		err := b.SetQueue(c.queue, c.fd)
		if c.is == nil {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		checkRefusal(t, err, c.is, c.words...)
	}
	if err := errors.Join(b.ClearQueue(63), b.ClearQueue(63), b.ClearQueue(0)); err != nil {
		t.Error(err)
	}
	checkRefusal(t, b.ClearQueue(64), unix.EINVAL, "queue 64", "0 to 63")
}

// A socket of another family is no AF_XDP socket.
func TestSetQueueOtherSocket(t *testing.T) {
	testnet.Leaks(t)
	testnet.Require(t)
	b := loadBench(t)
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	checkRefusal(t, b.SetQueue(0, fd), unix.EOPNOTSUPP, "no AF_XDP socket")
}

// The filter table fills up and says so; denying makes room.
func TestFilterTable(t *testing.T) {
	testnet.Leaks(t)
	testnet.Require(t)
	b := loadBench(t)
	at := func(port uint16) Filter { return Filter{Addr: netip.AddrPortFrom(target.IP4, port)} }
	const size = 1024
	for port := range uint16(size) {
		if err := b.Allow(at(port + 1)); err != nil {
			t.Fatal(err)
		}
	}
	checkRefusal(t, b.Allow(at(2000)), unix.E2BIG, "1024", "10.9.0.2:2000")
	if err := errors.Join(b.Allow(at(1)), b.Deny(at(1)), b.Deny(at(1)), b.Allow(at(2000))); err != nil {
		t.Error(err)
	}
}

func TestSetMACRefuses(t *testing.T) {
	testnet.Leaks(t)
	testnet.Require(t)
	b := loadBench(t)
	for _, mac := range []net.HardwareAddr{nil, {1, 2, 3}, make(net.HardwareAddr, 8), {0x33, 0x33, 0, 0, 0, 1}} {
		if err := b.SetMAC(mac); !errors.Is(err, unix.EINVAL) {
			t.Errorf("%v: %v", mac, err)
		}
	}
}

// A new MAC address counts at once.
func TestSetMACIsLive(t *testing.T) {
	testnet.Leaks(t)
	b := openBench(t)
	frame := target.UDP4(nil)
	for i := range byte(10) {
		frame.Dst[5] = i
		if err := b.SetMAC(frame.Dst[:]); err != nil {
			t.Fatal(err)
		}
		for j := range byte(10) {
			frame.Dst[5] = j
			verdict, err := b.plain.Run(&ebpf.RunOptions{Data: frame.Bytes()})
			if err != nil || (verdict == xdpRedirect) != (i == j) {
				t.Fatalf("address %d, frame to %d: verdict %d, %v", i, j, verdict, err)
			}
		}
	}
}

// The programs load where the kernel insists on aligned access (MIPS, older ARM,
// RISC-V), for which the verifier has a test mode, and carry no BTF.
func TestLoadsStrictlyAligned(t *testing.T) {
	testnet.Leaks(t)
	testnet.Require(t)
	b := loadBench(t)
	const strictAlignment = 1 // BPF_F_STRICT_ALIGNMENT
	old := loadAs(t, &b.maps, plainObject(), oldName, strictAlignment)
	p := loadAs(t, &b.maps, plainObject(), programName, strictAlignment)
	meta := loadAs(t, &b.maps, metaObject(), metaName, strictAlignment)
	for _, one := range []*ebpf.Program{p, old, meta} {
		info, err := one.Info()
		if err != nil {
			t.Fatal(err)
		}
		if id, has := info.BTFID(); has {
			t.Errorf("%s has BTF %d", info.Name, id)
		}
	}
}

// Time per decision, without the driver's share: what a datagram of ours costs, and
// what the program costs everybody else.
func BenchmarkDecide(b *testing.B) {
	testnet.Require(b)
	l := loadBench(b)
	for _, f := range filters() {
		if err := l.Allow(f); err != nil {
			b.Fatal(err)
		}
	}
	if err := l.SetQueue(0, xdpSocket(b)); err != nil {
		b.Fatal(err)
	}
	ours := target.UDP4(make([]byte, 64))
	other := target.UDP4(make([]byte, 64))
	other.UDP.Dst = 1
	tcp := target.UDP4(make([]byte, 64))
	tcp.IP4.Protocol = 6
	six := target.UDP6(make([]byte, 64))
	for _, c := range []struct {
		name  string
		frame []byte
	}{{"ours", ours.Bytes()}, {"ours6", six.Bytes()}, {"other-port", other.Bytes()}, {"tcp", tcp.Bytes()}} {
		b.Run(c.name, func(b *testing.B) {
			if _, _, err := l.plain.Benchmark(c.frame, b.N, b.ResetTimer); err != nil {
				b.Fatal(err)
			}
		})
	}
}
