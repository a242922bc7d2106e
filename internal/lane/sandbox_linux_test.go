// SPDX-License-Identifier: MIT

package lane

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/testnet"
)

// refuse is a filter that lets a system call fail where one of its arguments has a
// value: the kernel then seems to be an older one.
func refuse(number uint32, arg int, value uint32, errno unix.Errno) []unix.SockFilter {
	const (
		load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		ret   = unix.BPF_RET | unix.BPF_K
	)
	low := uint32(16 + 8*arg) // in struct seccomp_data; 64 bits wide
	if binary.NativeEndian.Uint16([]byte{0, 1}) == 1 {
		low += 4
	}
	return []unix.SockFilter{
		{Code: load, K: 0}, // the number
		{Code: equal, K: number, Jf: 3},
		{Code: load, K: low},
		{Code: equal, K: value, Jf: 1},
		{Code: ret, K: unix.SECCOMP_RET_ERRNO | uint32(errno)},
		{Code: ret, K: unix.SECCOMP_RET_ALLOW},
	}
}

// onKernel runs f on a thread with the filter, in a network namespace of its own; the
// thread is thrown away.
func onKernel(t *testing.T, filter []unix.SockFilter, f func() error) {
	t.Helper()
	if runtime.GOARCH == "386" || runtime.GOARCH == "s390x" {
		t.Skip("socket(2) and others are socketcall(2) here, whose arguments a filter cannot see")
	}
	pair := testnet.TestPair(t, testnet.Config{IPv6: true})
	err := pair.B.NS.Do(func() error {
		prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return err
		}
		if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0); err != nil {
			return err
		}
		return f()
	})
	if err != nil {
		t.Error(err)
	}
}

// openHere opens a lane on the calling thread.
func openHere(t *testing.T, cfg Config) (*Lane, error) {
	l, err := Open(cfg)
	if err == nil {
		t.Cleanup(func() { l.Close() })
	}
	return l, err
}

// self sends ten datagrams from a lane to itself, by SendSegments, and receives them.
func self(l *Lane) ([]Message, error) {
	dst := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), l.LocalAddr().Port())
	if n, err := l.SendSegments(Outgoing{Payload: pattern(9001), Dst: dst}, 1000); n != 10 || err != nil {
		return nil, fmt.Errorf("sent %d: %w", n, err)
	}
	msgs := make([]Message, 10)
	for got, end := 0, time.Now().Add(patience); got < 10; {
		n, err := l.Receive(msgs[got:])
		if err != nil || time.Now().After(end) {
			return nil, fmt.Errorf("received %d: %w", got, err)
		}
		got += n
	}
	if len(msgs[9].Payload) != 1 {
		return nil, fmt.Errorf("last datagram has %d bytes", len(msgs[9].Payload))
	}
	return msgs, nil
}

// Without IPv6 a socket for both families is one for IPv4; one that was asked for by
// an IPv6 address is an error.
func TestKernelWithoutIPv6(t *testing.T) {
	onKernel(t, refuse(unix.SYS_SOCKET, 0, unix.AF_INET6, unix.EAFNOSUPPORT), func() error {
		for _, cfg := range []Config{{}, {Local: netip.AddrPortFrom(netip.Addr{}, 5001)}, {Remote: netip.MustParseAddrPort("127.0.0.1:9")}} {
			l, err := openHere(t, cfg)
			if err != nil {
				return err
			}
			if want := cfg.Local.Port(); !l.LocalAddr().Addr().Is4() || l.Info().DualStack || want != 0 && l.LocalAddr().Port() != want {
				t.Errorf("bound to %v: %+v", l.LocalAddr(), l.Info())
			}
		}
		for _, cfg := range []Config{at("[::]:0"), {IPv6Only: true}, at("[::1]:0"), {Remote: netip.MustParseAddrPort("[::1]:9")}} {
			_, err := openHere(t, cfg)
			if !errors.Is(err, unix.EAFNOSUPPORT) || !strings.Contains(err.Error(), "lane: open socket for") {
				t.Errorf("%+v: %v", cfg, err)
			}
		}
		l, err := openHere(t, Config{})
		if err == nil {
			_, err = self(l)
		}
		return err
	})
}

// Case 119: what the kernel has not got is off, with the reason, and the datagrams go
// all the same.
func TestKernelWithoutOffloads(t *testing.T) {
	const noSuch = unix.ENOPROTOOPT
	for _, c := range []struct {
		name             string
		filter           []unix.SockFilter
		gro, gso         bool
		groNote, gsoNote string
		bundles          uint64
	}{
		{"no UDP_GRO", refuse(unix.SYS_SETSOCKOPT, 2, unix.UDP_GRO, noSuch), false, true, "Linux 5.0", "", 1},
		{"no UDP_SEGMENT", refuse(unix.SYS_GETSOCKOPT, 2, unix.UDP_SEGMENT, noSuch), true, false, "", "Linux 4.18", 0},
		// The bundle is the one call for a single message.
		{"device without checksums", refuse(unix.SYS_SENDMMSG, 2, 1, unix.EIO), true, false, "", "10 datagrams of 1000 bytes: input/output error", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			onKernel(t, c.filter, func() error {
				l, err := openHere(t, Config{GRO: true})
				if err != nil {
					return err
				}
				if _, err = self(l); err != nil {
					return err
				}
				info := l.Info()
				if info.GRO.On != c.gro || info.GSO.On != c.gso || !strings.Contains(info.GRO.Note, c.groNote) || !strings.Contains(info.GSO.Note, c.gsoNote) {
					t.Errorf("%+v", info)
				}
				if s := l.Stats(); s.SentBundles != c.bundles || s.Sent != 10 || s.SendErrors != 0 {
					t.Errorf("%+v", s)
				}
				return nil
			})
		})
	}
}

// Before 5.1 the time comes in the older message.
func TestKernelWithOldTime(t *testing.T) {
	onKernel(t, refuse(unix.SYS_SETSOCKOPT, 2, unix.SO_TIMESTAMPNS_NEW, unix.ENOPROTOOPT), func() error {
		l, err := openHere(t, Config{Timestamps: true})
		if err != nil {
			return err
		}
		msgs, err := self(l)
		if err != nil {
			return err
		}
		if age := time.Since(msgs[0].Received); age < 0 || age > patience {
			t.Errorf("received %v ago", age)
		}
		return nil
	})
}

// Any option that the kernel refuses is an error that says which, and leaves nothing
// open.
func TestOptionRefused(t *testing.T) {
	for _, c := range []struct {
		option uint32
		text   string
	}{
		{unix.IP_RECVTTL, "receive TTL on [::]:5000"},
		{unix.IPV6_RECVPKTINFO, "receive destination on"},
		{unix.SO_RCVBUFFORCE, "set receive buffer of"},
		{unix.SO_SNDBUFFORCE, "set send buffer of"},
	} {
		t.Run(c.text, func(t *testing.T) {
			testnet.Leaks(t)
			onKernel(t, refuse(unix.SYS_SETSOCKOPT, 2, c.option, unix.ENOMEM), func() error {
				cfg := at("[::]:5000")
				cfg.ReceiveBuffer, cfg.SendBuffer = 10000, 10000
				_, err := openHere(t, cfg)
				if !errors.Is(err, unix.ENOMEM) || !strings.Contains(err.Error(), c.text) {
					t.Errorf("%v", err)
				}
				return nil
			})
		})
	}
}
