// SPDX-License-Identifier: MIT

package lane

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/testnet"
)

func TestConfigRules(t *testing.T) {
	v4, v6 := netip.MustParseAddrPort("10.9.0.1:1"), netip.MustParseAddrPort("[fd09::1]:1")
	for _, c := range []struct {
		name string
		cfg  Config
		want string
	}{
		{"zero", Config{}, ""},
		{"peer of the other family", Config{Local: v4, Remote: v6}, "Config.Remote [fd09::1]:1"},
		{"IPv4 peer of any address", Config{Local: netip.MustParseAddrPort("[::]:1"), Remote: v4}, ""},
		{"IPv6 only, IPv4 local", Config{Local: v4, IPv6Only: true}, "Config.IPv6Only"},
		{"IPv6 only, IPv4 peer", Config{Remote: v4, IPv6Only: true}, "Config.IPv6Only"},
		{"receive buffer", Config{ReceiveBuffer: -1}, "Config.ReceiveBuffer -1"},
		{"send buffer", Config{SendBuffer: -1}, "Config.SendBuffer -1"},
		{"no buffers", Config{Buffers: -1}, "Config.Buffers -1"},
		{"too many buffers", Config{Buffers: 4097}, "Config.Buffers 4097"},
		{"buffer too small", Config{BufferSize: -1}, "Config.BufferSize -1"},
		{"buffer too large", Config{BufferSize: 65537}, "Config.BufferSize 65537"},
		// Case 121: a bundle in a small buffer would lose datagrams.
		{"small buffer with GRO", Config{BufferSize: 2048, GRO: true}, "Config.BufferSize 2048: want 65536 with GRO"},
	} {
		err := c.cfg.withDefaults().validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// What is bound is what package net would bind.
func TestLocalAddr(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{IPv6: true})
	local := linkLocal(t, pair.B)
	numeric := local.WithZone(strconv.Itoa(pair.B.Index))
	v4, v6 := netip.MustParseAddrPort("10.9.0.1:9"), netip.MustParseAddrPort("[fd09::1]:9")
	addr := func(a string) netip.AddrPort { return netip.MustParseAddrPort(a) }
	for _, c := range []struct {
		name string
		cfg  Config
		want string
		dual bool
	}{
		{"zero", Config{}, "::", true},
		{"port alone", Config{Local: netip.AddrPortFrom(netip.Addr{}, 5001)}, "::", true},
		{"IPv4 any", Config{Local: addr("0.0.0.0:0")}, "0.0.0.0", false},
		{"IPv6 any", Config{Local: addr("[::]:0")}, "::", true},
		{"IPv6 only", Config{Local: addr("[::]:0"), IPv6Only: true}, "::", false},
		{"IPv4", Config{Local: addr("10.9.0.2:5000")}, "10.9.0.2", false},
		{"mapped", Config{Local: addr("[::ffff:10.9.0.2]:0")}, "10.9.0.2", false},
		{"IPv6", Config{Local: addr("[fd09::2]:0")}, "fd09::2", false},
		{"link-local", Config{Local: netip.AddrPortFrom(local, 0)}, local.String(), false},
		{"link-local by number", Config{Local: netip.AddrPortFrom(numeric, 0)}, local.String(), false},
		{"peer by IPv4", Config{Remote: v4}, "10.9.0.2", false},
		{"peer by IPv6", Config{Remote: v6}, "fd09::2", false},
		{"IPv6 any, peer by IPv4", Config{Local: addr("[::]:0"), Remote: v4}, "10.9.0.2", false},
		{"IPv4 any, peer", Config{Local: addr("0.0.0.0:0"), Remote: v4}, "10.9.0.2", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := openOn(t, pair.B, c.cfg)
			got := l.LocalAddr()
			if got.Addr().String() != c.want || got.Port() == 0 {
				t.Errorf("bound to %v, want %v", got, c.want)
			}
			if want := c.cfg.Local.Port(); want != 0 && got.Port() != want {
				t.Errorf("port %d, want %d", got.Port(), want)
			}
			if info := l.Info(); info.Local != got || info.DualStack != c.dual || info.Remote != c.cfg.Remote {
				t.Errorf("%+v", info)
			}
		})
	}
}

// An error names the step and the address, keeps the errno, and says what to do.
func TestOpenErrors(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{IPv6: true})
	peerOn(t, pair.B, "udp4", "10.9.0.2:5000")
	openOn(t, pair.B, at("[::]:6000"))
	for _, c := range []struct {
		name  string
		cfg   Config
		errno error
		texts []string
	}{
		{"port taken", at("10.9.0.2:5000"), unix.EADDRINUSE, []string{"lane: bind 10.9.0.2:5000", "another socket"}},
		{"port taken, any address", at("0.0.0.0:5000"), unix.EADDRINUSE, []string{"bind 0.0.0.0:5000"}},
		{"port taken by both families", at("10.9.0.2:6000"), unix.EADDRINUSE, []string{"bind 10.9.0.2:6000"}},
		{"no such address", at("10.9.0.99:5001"), unix.EADDRNOTAVAIL, []string{"bind 10.9.0.99:5001", "no interface"}},
		{"link-local without a zone", at("[fe80::1]:5001"), unix.EINVAL, []string{"bind [fe80::1]:5001", "zone"}},
		{"unknown zone", at("[fe80::1%nosuch]:5001"), unix.EINVAL, []string{"bind [fe80::1%nosuch]:5001"}},
		{"no route to the peer", Config{Remote: netip.MustParseAddrPort("192.0.2.1:9")}, unix.ENETUNREACH, []string{"connect to 192.0.2.1:9"}},
		{"broadcast peer", Config{Remote: netip.MustParseAddrPort("10.9.0.255:9")}, unix.EACCES, []string{"connect to 10.9.0.255:9", "Broadcast"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			testnet.Leaks(t)
			l, err := tryOpenOn(pair.B, c.cfg)
			if err == nil {
				l.Close()
				t.Fatal("opened")
			}
			if !errors.Is(err, c.errno) {
				t.Errorf("%v, want %v", err, c.errno)
			}
			for _, text := range c.texts {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%q does not say %q", err, text)
				}
			}
		})
	}
}

// A port that a lane has is taken for others as well.
func TestReservesPort(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	l := openOn(t, pair.B, at("10.9.0.2:5000"))
	listen := func() error {
		return pair.B.NS.Do(func() error {
			c, err := net.ListenPacket("udp", "10.9.0.2:5000")
			if err == nil {
				c.Close()
			}
			return err
		})
	}
	if err := listen(); !errors.Is(err, unix.EADDRINUSE) {
		t.Errorf("%v, want %v", err, unix.EADDRINUSE)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := listen(); err != nil {
		t.Errorf("after Close: %v", err)
	}
}

// The socket does not pass to programs that are started, does not block, and is not
// in an epoll set of the runtime.
func TestDescriptor(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{})
	l := openOn(t, pair.B, at("10.9.0.2:0"))
	peerOn(t, pair.A, "udp4", "10.9.0.1:0") // which is, so that there is such a set
	fd := l.FD()
	if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("descriptor flags %#x, %v", flags, err)
	}
	if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); err != nil || flags&unix.O_NONBLOCK == 0 {
		t.Errorf("file flags %#x, %v", flags, err)
	}
	infos, err := os.ReadDir("/proc/self/fdinfo")
	if err != nil {
		t.Fatal(err)
	}
	sets := 0
	for _, info := range infos {
		text, _ := os.ReadFile("/proc/self/fdinfo/" + info.Name())
		for line := range strings.Lines(string(text)) {
			var target int
			if n, _ := fmt.Sscanf(line, "tfd: %d", &target); n == 1 {
				sets++
				if target == fd {
					t.Errorf("descriptor %d is in epoll set %s", fd, info.Name())
				}
			}
		}
	}
	if sets == 0 {
		t.Error("no epoll set found")
	}
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Error(err)
	}
	if l.FD() != -1 {
		t.Errorf("descriptor %d after Close", l.FD())
	}
}

// Case 123: asked and got, with the right to exceed the limit and without it.
func TestBufferSizes(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	limit := sysctl(t, "/proc/sys/net/core/rmem_max")
	cfg := at("10.9.0.2:0")
	cfg.ReceiveBuffer, cfg.SendBuffer = 4*limit, 100000
	info := openOn(t, pair.B, cfg).Info()
	if want := (BufferInfo{Asked: 4 * limit, Got: 4 * limit}); info.ReceiveBuffer != want {
		t.Errorf("as root: %+v, want %+v", info.ReceiveBuffer, want)
	}
	if want := (BufferInfo{Asked: 100000, Got: 100000}); info.SendBuffer != want {
		t.Errorf("as root: %+v, want %+v", info.SendBuffer, want)
	}
	var l *Lane
	err := pair.B.NS.Do(func() (err error) {
		if err := dropCapabilities(); err != nil {
			return err
		}
		l, err = Open(cfg)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if want := (BufferInfo{Asked: 4 * limit, Got: limit}); l.Info().ReceiveBuffer != want {
		t.Errorf("without capabilities: %+v, want %+v", l.Info().ReceiveBuffer, want)
	}
	if err := l.SetReceiveBuffer(50000); err != nil || l.Info().ReceiveBuffer != (BufferInfo{Asked: 50000, Got: 50000}) {
		t.Errorf("set later: %+v, %v", l.Info().ReceiveBuffer, err)
	}
	if err := l.SetSendBuffer(60000); err != nil || l.Info().SendBuffer != (BufferInfo{Asked: 60000, Got: 60000}) {
		t.Errorf("set later: %+v, %v", l.Info().SendBuffer, err)
	}
	if err := l.SetSendBuffer(-1); !errors.Is(err, unix.EINVAL) {
		t.Errorf("-1 bytes: %v", err)
	}
	if got := openOn(t, pair.B, at("10.9.0.2:0")).Info().ReceiveBuffer; got.Asked != 0 || got.Got <= 0 {
		t.Errorf("by default: %+v", got)
	}
}

func TestPrivilegedPort(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	err := pair.B.NS.Do(func() error {
		if err := dropCapabilities(); err != nil {
			return err
		}
		l, err := Open(at("10.9.0.2:80"))
		if err == nil {
			l.Close()
		}
		return err
	})
	if !errors.Is(err, unix.EACCES) || !strings.Contains(fmt.Sprint(err), "CAP_NET_BIND_SERVICE") {
		t.Errorf("%v", err)
	}
}

// dropCapabilities takes all rights from the calling thread, which is thrown away.
func dropCapabilities() error {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return unix.Capset(&hdr, &none[0])
}

func sysctl(t *testing.T, path string) int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
