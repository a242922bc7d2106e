// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/xdpath/xdpath/udp"
	"github.com/xdpath/xdpath/xsk"
)

// message is one of sockperf's.
func message(flags uint16, size, length int) []byte {
	b := bytes.Repeat([]byte{0x5a}, size)
	binary.BigEndian.PutUint64(b, 77)
	binary.BigEndian.PutUint16(b[sockperfFlags:], flags)
	binary.BigEndian.PutUint32(b[sockperfLength:], uint32(length))
	return b
}

func TestWantsAnswer(t *testing.T) {
	for _, c := range []struct {
		name    string
		payload []byte
		want    bool
		flags   int // afterwards; -1: not a byte changed
	}{
		{"empty", nil, true, -1},
		{"short", make([]byte, 13), true, -1},
		{"zeros", make([]byte, 14), true, -1},
		{"text", []byte("what a nice day it is"), true, -1},
		{"ping-pong", message(3, 64, 64), true, 2},
		{"smallest ping-pong", message(3, 14, 14), true, 2},
		{"throughput", message(1, 64, 64), false, 0},
		{"warm-up", message(5, 64, 64), false, 4},
		{"ping-pong warm-up", message(7, 64, 64), false, 6},
		{"an answer", message(2, 64, 64), true, -1},
		{"other length", message(3, 64, 65), true, -1},
		{"unknown flag", message(3|16, 64, 64), true, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := bytes.Clone(c.payload)
			if got := wantsAnswer(b); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
			if c.flags < 0 {
				if !bytes.Equal(b, c.payload) {
					t.Errorf("changed to %x", b)
				}
				return
			}
			if want := message(uint16(c.flags), len(b), len(b)); !bytes.Equal(b, want) {
				t.Errorf("got  %x\nwant %x", b, want)
			}
		})
	}
}

// At most the flags' low byte of a datagram is changed, and nothing twice: what is an
// answer stays one.
func FuzzWantsAnswer(f *testing.F) {
	f.Add(message(3, 64, 64))
	f.Add(message(5, 20, 20))
	f.Fuzz(func(t *testing.T, b []byte) {
		before := bytes.Clone(b)
		wantsAnswer(b)
		once := bytes.Clone(b)
		if !wantsAnswer(b) || !bytes.Equal(b, once) {
			t.Fatalf("an answer is not left alone: %x", b)
		}
		for i := range b {
			if b[i] != before[i] && (i != sockperfFlags+1 || b[i] != before[i]-fromClient) {
				t.Fatalf("byte %d was %x and is %x", i, before[i], b[i])
			}
		}
	})
}

func TestConfig(t *testing.T) {
	cfg, err := config("eth7", 7000, "busy")
	if err != nil || cfg.Interface != "eth7" || cfg.Local.Port() != 7000 || cfg.Wait != xsk.Busy {
		t.Errorf("%+v, %v", cfg, err)
	}
	for _, c := range []struct {
		port       uint
		wait, want string
	}{
		{0, "block", "-port 0"},
		{65536, "block", "-port 65536"},
		{7000, "", "-wait"},
		{7000, "Busy", "adaptive, block or busy"},
	} {
		if _, err := config("lo", c.port, c.wait); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("port %d, wait %q: %v; want %q in it", c.port, c.wait, err, c.want)
		}
	}
}

func TestLine(t *testing.T) {
	last := udp.Stats{FastRx: 10, KernelRx: 1, FastTx: 9, KernelTx: 2}
	now := udp.Stats{FastRx: 110, KernelRx: 4, FastTx: 108, KernelTx: 3}
	if got, want := line(last, now), "in 103 (fast 100, kernel 3), out 100 (fast 99, kernel 1)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
