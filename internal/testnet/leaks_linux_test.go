// SPDX-License-Identifier: MIT

package testnet

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// recorder is a TB that notes what was said; its test ends when finish is called.
type recorder struct {
	cleanups               []func()
	fatal, skipped, logged string
}

func (r *recorder) Helper()                      {}
func (r *recorder) Logf(f string, args ...any)   { r.logged += fmt.Sprintf(f, args...) }
func (r *recorder) Skipf(f string, args ...any)  { r.skipped += fmt.Sprintf(f, args...) }
func (r *recorder) Fatalf(f string, args ...any) { r.fatal += fmt.Sprintf(f, args...) }
func (r *recorder) Failed() bool                 { return r.fatal != "" }
func (r *recorder) Cleanup(f func())             { r.cleanups = append(r.cleanups, f) }
func (r *recorder) finish() {
	for i := len(r.cleanups) - 1; i >= 0; i-- {
		r.cleanups[i]()
	}
}

// mmap maps size bytes and unmaps them when the test ends.
func mmap(t *testing.T, fd, size, flags int) {
	t.Helper()
	b, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, flags)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(b) })
}

func TestLeaksAreFound(t *testing.T) {
	nameless := "anonymous memory"
	if _, anonymous, err := mappings(); err == nil && anonymous == 0 {
		nameless = "" // C code runs in this build, as with -race: not told
	}
	for _, tc := range []struct {
		name, want string
		leak       func(t *testing.T)
	}{
		{"nothing", "", func(t *testing.T) {}},
		{"descriptor", "descriptor ", func(t *testing.T) {
			f, err := os.Open("/dev/null")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = f.Close() })
		}},
		{"goroutine", "TestLeaksAreFound", func(t *testing.T) {
			stop := make(chan struct{})
			t.Cleanup(func() { close(stop) })
			go func() { <-stop }()
		}},
		{"shared memory", "/dev/zero", func(t *testing.T) {
			mmap(t, -1, 1<<16, unix.MAP_SHARED|unix.MAP_ANON)
		}},
		{"file mapping after close", "memfd:leak", func(t *testing.T) {
			fd, err := unix.MemfdCreate("leak", unix.MFD_CLOEXEC)
			if err != nil {
				t.Fatal(err)
			}
			if err := unix.Ftruncate(fd, 1<<16); err != nil {
				t.Fatal(err)
			}
			mmap(t, fd, 1<<16, unix.MAP_SHARED)
			_ = unix.Close(fd)
		}},
		{"anonymous memory", nameless, func(t *testing.T) {
			mmap(t, -1, 4<<20, unix.MAP_PRIVATE|unix.MAP_ANON)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var r recorder
			leaks(&r, leakWait/50)
			tc.leak(t)
			r.finish()
			if r.fatal == "" != (tc.want == "") || !strings.Contains(r.fatal, tc.want) {
				t.Errorf("got report %q, want one that has %q", r.fatal, tc.want)
			}
		})
	}
}

// A failed test is told what it left, and not failed a second time.
func TestLeaksOfFailedTestAreLogged(t *testing.T) {
	r := recorder{}
	leaks(&r, leakWait/50)
	stop := make(chan struct{})
	defer close(stop)
	go func() { <-stop }()
	r.fatal = "failed before"
	r.finish()
	if r.fatal != "failed before" || !strings.Contains(r.logged, "goroutine") {
		t.Errorf("got failure %q and log %q", r.fatal, r.logged)
	}
}

// A leak that heals while Leaks waits is none.
func TestLeaksWaitsForTheEnd(t *testing.T) {
	r := recorder{}
	Leaks(&r)
	stop := make(chan struct{})
	go func() { <-stop }()
	r.Cleanup(func() { close(stop) }) // runs before the check, as a test's own would
	r.finish()
	if r.fatal != "" {
		t.Error(r.fatal)
	}
}

func TestMapping(t *testing.T) {
	for _, tc := range []struct {
		line, name string
		size       int64
		private    bool
	}{
		{"7f00001000-7f00003000 rw-p 00000000 00:00 0 \n", "", 0x2000, true},
		{"7f00001000-7f00002000 rw-s 100000000 00:07 4711                  socket:[4711]\n", "socket:[4711]", 0x1000, false},
		{"00400000-00401000 r-xp 00000000 fe:00 12   /tmp/a b.test (deleted)\n", "/tmp/a b.test (deleted)", 0x1000, false},
		{"7f00001000-7f00002000 ---p 00000000 00:00 0 \n", "", 0x1000, false},
		{"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0   [vsyscall]\n", "[vsyscall]", 0x1000, false},
	} {
		size, private, name, err := mapping(tc.line)
		if err != nil || size != tc.size || private != tc.private || name != tc.name {
			t.Errorf("%q: got %d %t %q %v", tc.line, size, private, name, err)
		}
	}
	if _, _, _, err := mapping("not a mapping\n"); err == nil {
		t.Error("nonsense was accepted")
	}
}
