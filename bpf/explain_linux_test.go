// SPDX-License-Identifier: MIT

package bpf

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestReleaseBefore(t *testing.T) {
	for _, c := range []struct {
		release      string
		major, minor int
		want         bool
	}{
		{"5.8.0-63-generic", 5, 9, true},
		{"5.9.0", 5, 9, false},
		{"5.10.0-rc1", 5, 9, false},
		{"4.18.0-553.el8", 5, 4, true},
		{"6.18.44-fc", 5, 18, false},
		{"7.0", 6, 18, false},
		{"nonsense", 5, 9, false},
		{"", 5, 9, false},
	} {
		if got := releaseBefore(c.release, c.major, c.minor); got != c.want {
			t.Errorf("%q before %d.%d: %v", c.release, c.major, c.minor, got)
		}
	}
}

func TestMissing(t *testing.T) {
	bit := func(list ...int) (set uint64) {
		for _, c := range list {
			set |= 1 << c
		}
		return set
	}
	need := []int{unix.CAP_BPF, unix.CAP_NET_ADMIN}
	for _, c := range []struct {
		have uint64
		old  bool
		want string
	}{
		{0, false, "CAP_BPF and CAP_NET_ADMIN"},
		{0, true, "CAP_SYS_ADMIN and CAP_NET_ADMIN"},
		{bit(unix.CAP_BPF, unix.CAP_NET_ADMIN), false, ""},
		{bit(unix.CAP_BPF, unix.CAP_NET_ADMIN), true, "CAP_SYS_ADMIN"},
		{bit(unix.CAP_SYS_ADMIN), false, "CAP_NET_ADMIN"},
		{bit(unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN), true, ""},
	} {
		if got := missing(c.have, need, c.old); got != c.want {
			t.Errorf("have %#x, old %v: %q, want %q", c.have, c.old, got, c.want)
		}
	}
}

// Before Linux 5.11 too little locked memory is EPERM; the text must say so, as
// nothing in the errno does.
func TestMemlockError(t *testing.T) {
	err := memlockError("create map filters", unix.EPERM, 20480, 65536)
	if !errors.Is(err, unix.EPERM) {
		t.Error(err)
	}
	for _, word := range []string{"filters", "RLIMIT_MEMLOCK", "20480", "65536", "ulimit -l"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not name %q", err, word)
		}
	}
}

// The estimate that the text gives is of the right size.
func TestMapBytes(t *testing.T) {
	spec, err := plainObject().open()
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range spec.Maps {
		least := int(m.MaxEntries) * 8
		if got := mapBytes(m); got < least || got > 100_000 {
			t.Errorf("%s: %d bytes", name, got)
		}
	}
}

func TestHints(t *testing.T) {
	for _, c := range []struct {
		kind  string
		mtu   int
		rung  rung
		err   error
		words []string
	}{
		{"veth", 1500, rung{mode: Native}, unix.ERANGE, []string{"peer", "1500", "frags", "generic"}},
		{"device", 9000, rung{mode: Native}, unix.EINVAL, []string{"eth9", "9000", "frags", "generic"}},
		{"device", 9000, rung{mode: Native}, unix.EOPNOTSUPP, []string{"9000", "generic"}},
		{"device", 9000, rung{mode: Native, frags: true}, unix.EINVAL, []string{"9000", "even with frags", "generic"}},
		{"device", 1500, rung{mode: Native}, unix.EOPNOTSUPP, []string{"no native XDP", "generic"}},
		{"macvlan", 9000, rung{mode: Native}, unix.EOPNOTSUPP, []string{"macvlan", "device below"}},
		{"device", 1500, rung{mode: Native}, unix.EINVAL, nil},
		{"device", 9000, rung{mode: Generic}, unix.EINVAL, nil},
	} {
		got := hint(&device{name: "eth9", kind: c.kind, mtu: c.mtu}, c.rung, c.err)
		if (got == "") != (c.words == nil) {
			t.Errorf("%+v: %q", c, got)
		}
		for _, word := range c.words {
			if !strings.Contains(got, word) {
				t.Errorf("%q does not name %q", got, word)
			}
		}
	}
}

// What the kernel says about XDP on a link, from the first kernels that had it to
// those with several programs at once, and torn messages.
func TestParseXDP(t *testing.T) {
	attr := func(kind byte, value ...byte) []byte {
		b := []byte{byte(4 + len(value)), 0, kind, 0}
		if binary.NativeEndian.Uint16([]byte{0, 1}) == 1 {
			b = []byte{0, byte(4 + len(value)), 0, kind}
		}
		b = append(b, value...)
		for len(b)%4 != 0 {
			b = append(b, 0)
		}
		return b
	}
	id := func(n byte) []byte {
		if binary.NativeEndian.Uint16([]byte{0, 1}) == 1 {
			return []byte{0, 0, 0, n}
		}
		return []byte{n, 0, 0, 0}
	}
	join := func(list ...[]byte) (b []byte) {
		for _, one := range list {
			b = append(b, one...)
		}
		return b
	}
	for _, c := range []struct {
		name  string
		value []byte
		want  []found
	}{
		{"none", attr(unix.IFLA_XDP_ATTACHED, 0), nil},
		{"native", join(attr(unix.IFLA_XDP_ATTACHED, 1), attr(unix.IFLA_XDP_PROG_ID, id(9)...), attr(unix.IFLA_XDP_DRV_PROG_ID, id(9)...)), []found{{9, "native"}}},
		{"generic", join(attr(unix.IFLA_XDP_ATTACHED, 2), attr(unix.IFLA_XDP_PROG_ID, id(7)...), attr(unix.IFLA_XDP_SKB_PROG_ID, id(7)...)), []found{{7, "generic"}}},
		{"old kernel", join(attr(unix.IFLA_XDP_ATTACHED, 1), attr(unix.IFLA_XDP_PROG_ID, id(5)...)), []found{{5, "native"}}},
		{"several", join(attr(unix.IFLA_XDP_ATTACHED, 4), attr(unix.IFLA_XDP_DRV_PROG_ID, id(1)...), attr(unix.IFLA_XDP_HW_PROG_ID, id(2)...)), []found{{1, "native"}, {2, "offload"}}},
		{"short id", join(attr(unix.IFLA_XDP_ATTACHED, 1), attr(unix.IFLA_XDP_PROG_ID, 1, 2)), []found{{0, "native"}}},
		{"empty", nil, nil},
	} {
		got, err := parseXDP(c.value)
		if err != nil || len(got) != len(c.want) {
			t.Errorf("%s: %v, %v", c.name, got, err)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: %v, want %v", c.name, got, c.want)
			}
		}
	}
}

func TestForeignErrorText(t *testing.T) {
	for _, c := range []struct {
		err  ForeignProgramError
		want string
	}{
		{ForeignProgramError{Interface: "eth0", ID: 12, Name: "fw", Mode: "native"},
			"bpf: attach eth0: XDP program 12 (fw) is attached (native); to remove it: ip link set dev eth0 xdpdrv off"},
		{ForeignProgramError{Interface: "eth0", ID: 12, Mode: "generic", LinkUnknown: true},
			"bpf: attach eth0: XDP program 12 is attached (generic); to remove it: ip link set dev eth0 xdpgeneric off (or, if a BPF link holds it, bpftool link detach)"},
		{ForeignProgramError{Interface: "eth0", ID: 12, Mode: "native", LinkID: 3, Replace: true},
			"bpf: attach eth0: XDP program 12 is attached (native) and cannot be replaced, as a BPF link of another process holds it; to remove it: bpftool link detach id 3"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
		if !errors.Is(&c.err, ErrForeignProgram) || !errors.Is(&c.err, unix.EBUSY) {
			t.Errorf("%v is not what it should be", &c.err)
		}
	}
}
