// SPDX-License-Identifier: MIT

package xsk

import (
	"encoding/binary"
	"errors"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/internal/testnet"
)

// Case 13: what a sandbox forbids is three readable errors, and no panic.
func TestSetupSandbox(t *testing.T) {
	if runtime.GOARCH == "386" || runtime.GOARCH == "s390x" {
		t.Skip("socket(2) is a socketcall(2) here, whose arguments a filter cannot see")
	}
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{})
	openSocket := func() error {
		s, err := Open(Config{Interface: pair.B.Name})
		if err == nil {
			err = s.Close()
		}
		return err
	}
	attachProgram := func() error {
		p, err := bpf.Attach(bpf.Config{Interface: pair.B.Name})
		if err == nil {
			err = p.Close()
		}
		return err
	}
	for _, c := range []struct {
		name    string
		filter  []unix.SockFilter
		open    func() error
		target  error
		words   []string
		instead func() error // what works all the same; nil: nothing
	}{
		{"AF_XDP", forbidSocket(unix.AF_XDP), openSocket, unix.EAFNOSUPPORT,
			[]string{"xsk: socket", pair.B.Name, "sandbox", "AF_XDP"}, attachProgram},
		{"bpf", forbidCall(unix.SYS_BPF, unix.EPERM), attachProgram, unix.EPERM, []string{"bpf: ", "sandbox"}, openSocket},
		{"netlink for a socket", forbidSocket(unix.AF_NETLINK), openSocket, unix.EAFNOSUPPORT,
			[]string{"xsk: ", pair.B.Name, "netlink", "sandbox"}, nil},
		{"netlink for a program", forbidSocket(unix.AF_NETLINK), attachProgram, unix.EAFNOSUPPORT, []string{"bpf: ", "netlink"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			// The thread that is filtered is thrown away afterwards.
			err := pair.B.NS.Do(func() error {
				if err := install(c.filter); err != nil {
					t.Fatal(err)
				}
				if c.instead != nil {
					if err := c.instead(); err != nil {
						t.Errorf("what is not forbidden fails: %v", err)
					}
				}
				return c.open()
			})
			if !errors.Is(err, c.target) {
				t.Fatalf("%v, want %v", err, c.target)
			}
			for _, w := range c.words {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q lacks %q", err, w)
				}
			}
			if errors.Is(err, ErrNoInterface) {
				t.Errorf("%q speaks of a missing interface", err)
			}
		})
	}
	if left := programs(t, pair.B); len(left) != 0 {
		t.Errorf("left attached: %v", left)
	}
}

// Fields of struct seccomp_data (linux/seccomp.h).
const (
	dataNumber = 0
	dataArg0   = 16 // 64 bits wide
)

const (
	load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	ret   = unix.BPF_RET | unix.BPF_K
)

// forbidCall is a filter that lets a system call fail. The thread runs no code of
// another ABI, so the numbers are sure to be this one's.
func forbidCall(number uint32, errno unix.Errno) []unix.SockFilter {
	return []unix.SockFilter{
		{Code: load, K: dataNumber},
		{Code: equal, K: number, Jf: 1},
		{Code: ret, K: unix.SECCOMP_RET_ERRNO | uint32(errno)},
		{Code: ret, K: unix.SECCOMP_RET_ALLOW},
	}
}

// forbidSocket is a filter for the sockets of one address family.
func forbidSocket(family uint32) []unix.SockFilter {
	low := uint32(dataArg0)
	if binary.NativeEndian.Uint16([]byte{0, 1}) == 1 {
		low += 4
	}
	return []unix.SockFilter{
		{Code: load, K: dataNumber},
		{Code: equal, K: unix.SYS_SOCKET, Jf: 3},
		{Code: load, K: low},
		{Code: equal, K: family, Jf: 1},
		{Code: ret, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EAFNOSUPPORT)},
		{Code: ret, K: unix.SECCOMP_RET_ALLOW},
	}
}

// install puts the filter on the calling thread, for the rest of its life.
func install(filter []unix.SockFilter) error {
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0)
}
