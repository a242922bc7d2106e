// SPDX-License-Identifier: MIT

package xsk

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/umem"
)

// setSize sets one of the four ring sizes.
var setSize = map[string]func(*Config, uint32){
	"RxSize":         func(c *Config, n uint32) { c.RxSize = n },
	"TxSize":         func(c *Config, n uint32) { c.TxSize = n },
	"FillSize":       func(c *Config, n uint32) { c.FillSize = n },
	"CompletionSize": func(c *Config, n uint32) { c.CompletionSize = n },
}

// Case 18: sizes that are no power of two, or absurd, are refused by name before
// any system call; every other size carries traffic both ways.
func TestSetupRingSizes(t *testing.T) {
	testnet.Leaks(t)
	for name, set := range setSize {
		for _, n := range []uint32{3, 1000, 1 << 21, 1 << 27, 1<<32 - 1} {
			cfg := Config{Interface: "nosuch"} // would be the error of the first system call
			set(&cfg, n)
			_, err := Open(cfg)
			refused(t, err, nil, name, fmt.Sprint(n))
		}
	}
	pair := testnet.TestPair(t, testnet.Config{})
	for name, set := range setSize {
		for _, n := range []uint32{0, 1, 2} {
			t.Run(fmt.Sprintf("%s %d", name, n), func(t *testing.T) {
				cfg := Config{Interface: pair.B.Name}
				set(&cfg, n)
				echoes(t, pair, cfg, 50)
			})
		}
	}
	for _, n := range []uint32{1, 2, 64} {
		t.Run(fmt.Sprintf("all %d", n), func(t *testing.T) {
			cfg := Config{Interface: pair.B.Name, RxSize: n, TxSize: n}
			echoes(t, pair, cfg, 50)
		})
	}
}

// echoes sends n datagrams through a new socket on end B one by one: received,
// given back, and a reserved frame of the same content sent.
func echoes(t *testing.T, pair *testnet.Pair, cfg Config, n int) {
	t.Helper()
	s := openIn(t, pair.B.NS, cfg)
	redirect(t, pair.B, bpf.Config{}, s)
	raw := openRaw(t, pair.A)
	back := template(t, pair.B, pair.A)
	for i := range n {
		delivers(t, raw, pair.A, pair.B, s, uint64(i), 1)
		send(t, s, 1, datagram(&back, uint64(i), 64))
		if seq := checkPayload(t, hears(t, raw)); seq != uint64(i) {
			t.Fatalf("echo %d is number %d", i, seq)
		}
	}
	if st, err := s.Stats(); err != nil || st.RxPackets != uint64(n) || st.TxPackets != uint64(n) || st.RxLost() != 0 || st.TxInvalid != 0 {
		t.Errorf("%v %+v", err, st)
	}
}

// Case 18: a one-sided socket does its side and says so of the other.
func TestSetupOneSided(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{})
	rx := openIn(t, pair.B.NS, Config{Interface: pair.B.Name, Direction: ReceiveOnly})
	tx := openIn(t, pair.A.NS, Config{Interface: pair.A.Name, Direction: TransmitOnly})
	redirect(t, pair.B, bpf.Config{}, rx)
	tp := template(t, pair.A, pair.B)
	for i := range 300 {
		send(t, tx, 1, datagram(&tp, uint64(i), 64))
	}
	for i, seq := range collect(t, rx, 300) {
		if seq != uint64(i) {
			t.Fatalf("datagram %d is number %d", i, seq)
		}
	}
	one := make([]umem.Frame, 1)
	for _, c := range []struct {
		name string
		call func() error
	}{
		{"receive", func() error { _, err := tx.Receive(one); return err }},
		{"wait", func() error { _, err := tx.ReceiveContext(within(t, time.Second), one); return err }},
		{"reserve", func() error { _, err := rx.Reserve(one); return err }},
		{"wait for a frame", func() error { _, err := rx.ReserveContext(within(t, time.Second), one); return err }},
		{"send", func() error { _, err := rx.Send(one); return err }},
		{"flush", func() error { _, err := rx.Flush(); return err }},
		{"drain", func() error { return rx.Drain(within(t, time.Second)) }},
	} {
		refused(t, c.call(), ErrDirection, "queue 0")
	}
	// Some drivers stop receiving for the kernel when the fill ring is empty.
	if st, err := tx.Stats(); err != nil || st.FillUsed != idleFill {
		t.Errorf("fill ring of a transmit-only socket: %v %+v", err, st)
	}
	if st, err := rx.Stats(); err != nil || st.TxUsed != 0 {
		t.Errorf("%v %+v", err, st)
	}
}

// Case 19: each size is that of its own ring.
func TestSetupSizesOfTheirRings(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{})
	s := openIn(t, pair.B.NS, Config{Interface: pair.B.Name, RxSize: 16, TxSize: 256, FillSize: 64, CompletionSize: 512})
	redirect(t, pair.B, bpf.Config{}, s)
	if i := s.Info(); i.RxSize != 16 || i.TxSize != 256 || i.FillSize != 64 || i.CompletionSize != 512 || i.TxBudget != 256 {
		t.Errorf("%+v", i)
	}
	raw, tp := openRaw(t, pair.A), template(t, pair.A, pair.B)
	for i := range 40 {
		if err := raw.Send(datagram(&tp, uint64(i), 64)); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "40 arrive", func() bool {
		st, err := s.Stats()
		return err == nil && st.RxUsed+uint32(st.RxRingFull) == 40
	})
	if st, _ := s.Stats(); st.RxUsed != 16 || st.RxRingFull != 24 || st.RxDropped != 0 || st.RxLost() != 24 {
		t.Errorf("%+v", st)
	}
	frames := make([]umem.Frame, 200)
	if n, err := s.Reserve(frames); n != 200 || err != nil {
		t.Fatalf("reserve: %d, %v", n, err)
	}
	back := template(t, pair.B, pair.A)
	for i := range frames {
		frames[i] = write(t, s, frames[i], datagram(&back, uint64(i), 64))
	}
	if n, err := s.Send(frames); n != 200 || err != nil {
		t.Errorf("send: %d, %v", n, err)
	}
	if st, _ := s.Stats(); st.TxUsed != 200 {
		t.Errorf("%+v", st)
	}
	if err := s.Drain(within(t, childWait)); err != nil {
		t.Error(err)
	}
}

// until waits for a condition.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never came about that %s", what)
		}
	}
}

// Case 20: the rules for chunks and headroom are told up front; what they allow
// works, and the headroom is where it should be.
func TestSetupChunks(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{})
	page := os.Getpagesize()
	raw := openRaw(t, pair.A)
	for _, chunk := range []int{1, 1024, 2048, 3000, 4096, 8192, 1 << 20, -2048} {
		for _, headroom := range []int{0, 1, 1344, 1345, 3392, 3393, -1} {
			name := fmt.Sprintf("chunk %d headroom %d", chunk, headroom)
			cfg := Config{Interface: pair.B.Name, ChunkSize: chunk, Headroom: headroom, RxSize: 64, TxSize: 64}
			s, err := tryIn(pair.B.NS, cfg)
			switch okChunk := chunk >= 2048 && chunk <= page && chunk&(chunk-1) == 0; {
			case !okChunk:
				refused(t, err, nil, fmt.Sprintf("ChunkSize %d", chunk), "power of two from 2048", fmt.Sprint(page))
			case headroom < 0 || headroom > chunk-704:
				refused(t, err, nil, fmt.Sprintf("Headroom %d", headroom), fmt.Sprintf("0 to %d", chunk-704))
			case err != nil:
				t.Errorf("%s: %v", name, err)
			default:
				checkOffset(t, pair, raw, s)
				continue
			}
			if err == nil {
				t.Errorf("%s: opened", name)
				s.Close()
			}
		}
	}
}

// checkOffset receives a datagram through s, and closes it.
func checkOffset(t *testing.T, pair *testnet.Pair, raw *testnet.Raw, s *Socket) {
	t.Helper()
	p, err := attach(pair.B, bpf.Config{}, anyPort, map[int]int{0: s.FD()})
	if err != nil {
		t.Fatal(err)
	}
	tp := template(t, pair.A, pair.B)
	if err := raw.Send(datagram(&tp, 5, 64)); err != nil {
		t.Fatal(err)
	}
	frames := make([]umem.Frame, 1)
	if _, err := s.ReceiveContext(within(t, 5*time.Second), frames); err != nil {
		t.Fatal(err)
	}
	if want := 256 + s.Area().Headroom(); frames[0].Offset() != want {
		t.Errorf("data begins at %d of the chunk, want %d", frames[0].Offset(), want)
	}
	b, err := s.Area().Bytes(frames[0])
	if err != nil || checkPayload(t, b) != 5 {
		t.Errorf("%v", err)
	}
	if err := s.Release(frames); err != nil {
		t.Error(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// Case 21: structs that the kernel reads and writes have its layout; the
// registration is passed whole, and its fields that are not used are zero.
func TestSetupLayout(t *testing.T) {
	testnet.Require(t)
	for _, c := range []struct {
		name string
		typ  reflect.Type
		size uintptr
	}{
		{"xdp_umem_reg", reflect.TypeFor[unix.XDPUmemReg](), 32},
		{"xdp_mmap_offsets", reflect.TypeFor[unix.XDPMmapOffsets](), offsetsSize},
		{"xdp_statistics", reflect.TypeFor[unix.XDPStatistics](), 48},
		{"xdp_desc", reflect.TypeFor[desc](), 16},
		{"ethtool_channels", reflect.TypeFor[channels](), 36},
	} {
		if c.typ.Size() != c.size {
			t.Errorf("struct %s has %d bytes, want %d", c.name, c.typ.Size(), c.size)
		}
	}
	mem, err := unix.Mmap(-1, 0, 64*os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(mem)
	fd, err := unix.Socket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	// The kernel refuses what is not zero in the tail: nothing of ours may be.
	reg := unix.XDPUmemReg{Addr: uint64(reflect.ValueOf(mem).Pointer()), Len: uint64(len(mem)), Size: 2048}
	for _, spoil := range []func(*unix.XDPUmemReg){
		func(r *unix.XDPUmemReg) { r.Flags = 1 << 30 },
		func(r *unix.XDPUmemReg) { r.Flags, r.Tx_metadata_len = unix.XDP_UMEM_TX_METADATA_LEN, 4 },
	} {
		bad := reg
		spoil(&bad)
		if err := setStruct(fd, unix.XDP_UMEM_REG, &bad); !errors.Is(err, unix.EINVAL) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if err := registerMemory(fd, mem, umem.Info{ChunkSize: 2048}); err != nil {
		t.Error(err)
	}
	if err := registerMemory(fd, mem, umem.Info{ChunkSize: 2048}); !errors.Is(err, unix.EBUSY) {
		t.Errorf("registered twice: %v", err)
	}
}
