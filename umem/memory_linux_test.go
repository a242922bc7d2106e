// SPDX-License-Identifier: MIT

package umem

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Addresses beyond 4 GiB: nothing is computed in 32 bits.
func TestBigArea(t *testing.T) {
	if strconv.IntSize == 32 {
		t.Skip("no 4 GiB of addresses on a 32-bit machine")
	}
	const size = 5 << (30 * (strconv.IntSize / 64)) // compiles with 32 bits too
	mem, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		t.Skip("this machine does not lend 5 GiB of addresses: ", err)
	}
	defer unix.Munmap(mem)
	page := os.Getpagesize()
	a, err := New(Config{ChunkSize: page, Memory: mem})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	low, err := a.NewPool(size/page - 1)
	if err != nil {
		t.Fatal(err)
	}
	high, err := a.NewPool(1)
	if err != nil {
		t.Fatal(err)
	}
	f := get(t, high, 1)[0]
	b, err := a.Bytes(f.WithLen(4))
	if err != nil {
		t.Fatal(err)
	}
	copy(b, "high")
	if got := string(mem[size-page:][:4]); got != "high" {
		t.Errorf("the last chunk's bytes are elsewhere: %q", got)
	}
	addr, err := a.Transmit(1, f.WithLen(4))
	if want := uint64(size - page); err != nil || addr != want {
		t.Errorf("address %#x, want %#x, %v", addr, want, err)
	}
	if n, err := a.Completed(1, []uint64{addr}, nil); n != 1 || err != nil {
		t.Error(n, err)
	}
	if high.Free() != 1 || low.Free() != size/page-1 {
		t.Errorf("%d high and %d low chunks free", high.Free(), low.Free())
	}
}

// The caller's memory: another mapping of it sees what a frame holds.
func TestCallersMemory(t *testing.T) {
	fd, err := unix.MemfdCreate("umem", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	size := 4 * os.Getpagesize()
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		t.Fatal(err)
	}
	mine, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(mine)
	theirs, err := unix.Mmap(fd, 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(theirs)
	a, p := newArea(t, Config{Memory: mine})
	if a.Info().Chunks != size/2048 {
		t.Errorf("%d chunks of %d bytes", a.Info().Chunks, size)
	}
	f := get(t, p, 1)[0]
	b, _ := a.Bytes(f.WithLen(5))
	copy(b, "hello")
	if string(theirs[f.Chunk()*2048:][:5]) != "hello" {
		t.Error("the other mapping does not see it")
	}
	a.Put([]Frame{f})
	if _, err := New(Config{Memory: mine[8 : size-os.Getpagesize()+8]}); err == nil || !strings.Contains(err.Error(), "page boundary") {
		t.Errorf("memory that begins within a page: %v", err)
	}
	if _, err := New(Config{Memory: mine, Huge: HugeAuto}); err == nil {
		t.Error("Memory and Huge together")
	}
}

// Case 51: huge pages asked, none or too few configured.
func TestHugePages(t *testing.T) {
	const knob = "/proc/sys/vm/nr_hugepages"
	before, err := os.ReadFile(knob)
	if err != nil {
		t.Skip("no huge pages on this machine: ", err)
	}
	set := func(n string) {
		if err := os.WriteFile(knob, []byte(n), 0); err != nil {
			if os.Getenv("XDPATH_TEST_REQUIRE") == "1" {
				t.Fatalf("cannot set %s: %v", knob, err)
			}
			t.Skipf("cannot set %s (run as root): %v", knob, err)
		}
	}
	set("0")
	defer os.WriteFile(knob, before, 0)

	_, err = New(Config{Huge: HugeRequire})
	if !errors.Is(err, unix.ENOMEM) || !strings.Contains(err.Error(), "missing (sysctl vm.nr_hugepages)") {
		t.Errorf("required, none there: %v", err)
	}
	a, p := newArea(t, Config{Huge: HugeAuto, Chunks: 64})
	if i := a.Info(); i.HugePages || !strings.Contains(i.Note, "using ordinary pages") {
		t.Errorf("%+v", i)
	}
	touchAll(t, a, p)

	set("4")
	if page, n := hugePages(); page*n != 8<<20 {
		t.Skipf("the kernel gave %d huge pages of %d bytes, not 4 of 2 MiB", n, page)
	}
	if _, err = New(Config{Huge: HugeRequire, Chunks: 5120}); !errors.Is(err, unix.ENOMEM) || !strings.Contains(err.Error(), "5 of 2048 KiB needed, 4 available, 1 missing") {
		t.Errorf("10 MiB of 8: %v", err)
	}
	a, p = newArea(t, Config{Huge: HugeRequire, Chunks: 4096})
	if !a.Info().HugePages {
		t.Errorf("%+v", a.Info())
	}
	touchAll(t, a, p)
}

// touchAll writes every byte of every chunk: no signal comes.
func touchAll(t *testing.T, a *Area, p *Pool) {
	frames := get(t, p, p.Size())
	for _, f := range frames {
		b, _ := a.Bytes(f)
		for i := range b[:cap(b)] {
			b[:cap(b)][i] = 1
		}
	}
	a.Put(frames)
}
