// SPDX-License-Identifier: MIT

package testnet

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// TB is the part of testing.TB that this package uses.
type TB interface {
	Helper()
	Skipf(format string, args ...any)
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
	Cleanup(f func())
	Failed() bool
}

// Require skips a test that the machine or the user's rights cannot run, and says
// what is missing and how to get it. Where XDPATH_TEST_REQUIRE=1 is set, as in CI,
// the test fails instead: a run made of skips proves nothing.
func Require(tb TB) {
	tb.Helper()
	err := available()
	if err == nil {
		return
	}
	if os.Getenv("XDPATH_TEST_REQUIRE") == "1" {
		tb.Fatalf("required here, but %v", err)
		return
	}
	tb.Skipf("%v", err)
}

// available tells whether namespaces and AF_XDP sockets can be had.
func available() error {
	ns, err := NewNS()
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("network namespaces need root; run as root or with: go test -exec sudo: %w", err)
	}
	if err != nil {
		return fmt.Errorf("no network namespace; the kernel needs CONFIG_NET_NS: %w", err)
	}
	defer func() { _ = ns.Close() }()
	return ns.Do(xdpSocket)
}

func xdpSocket() error {
	fd, err := unix.Socket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("AF_XDP sockets need CAP_NET_RAW; run as root or with: go test -exec sudo: %w", err)
	}
	if err != nil {
		return fmt.Errorf("no AF_XDP socket; the kernel needs CONFIG_XDP_SOCKETS (Linux 4.18), or a sandbox forbids it: %w", err)
	}
	return unix.Close(fd)
}

// TestPair is Require and NewPair; the pair is closed when the test ends.
func TestPair(tb TB, cfg Config) *Pair {
	tb.Helper()
	Require(tb)
	p, err := NewPair(cfg)
	if err != nil {
		tb.Fatalf("%v", err)
		return nil
	}
	tb.Cleanup(func() {
		if err := p.Close(); err != nil {
			tb.Logf("close pair: %v", err)
		}
	})
	return p
}
