// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xdpath/xdpath/examples/internal/iperf"
)

var (
	epoch = time.Unix(1_700_000_000, 0)
	alice = peers{netip.MustParseAddrPort("10.9.0.1:4000"), netip.MustParseAddrPort("10.9.0.2:5001")}
	bob   = peers{netip.MustParseAddrPort("[fd09::1]:4001"), netip.MustParseAddrPort("[fd09::2]:5001")}
)

func at(ms int) time.Time { return epoch.Add(time.Duration(ms) * time.Millisecond) }

// datagram is one of 1000 bytes with a number, sent at a time.
func datagram(number int64, sent time.Time) []byte {
	b := make([]byte, 1000)
	iperf.Header{Number: number, Sent: sent}.Put(b)
	return b
}

// feed adds datagrams that were sent and came at the same time, and returns the last
// answer.
func feed(t *table, p peers, ms int, numbers ...int64) (r iperf.Report, last bool) {
	for _, n := range numbers {
		b := datagram(n, at(ms))
		r, last = t.add(p, b, len(b), at(ms))
		ms++
	}
	return r, last
}

func TestTable(t *testing.T) {
	tb := newTable(time.Second)
	if _, last := feed(tb, alice, 0, 1, 2, 3); last {
		t.Error("answered before the last")
	}
	feed(tb, bob, 3, 1, 2, 4)
	if lines := tb.tick(at(500)); len(lines) != 2 {
		t.Errorf("%q", lines)
	}
	feed(tb, alice, 600, 4)
	r, last := feed(tb, bob, 700, 3, -5)
	want := iperf.Report{Bytes: 5000, Duration: 698 * time.Millisecond, Datagrams: 5, Reordered: 1}
	r.Jitter = 0
	if !last || r != want {
		t.Errorf("%v: got %+v, want %+v", last, r, want)
	}
	got := strings.Join(tb.tick(at(1100)), "\n")
	for _, line := range []string{
		"[  2] 0.0000-0.6980 sec  4.88 KBytes  57.3 Kbits/sec   0.000 ms 0/5 (0%)",
		"[  2] 0.0000-0.6980 sec  1 datagrams received out-of-order",
		"[  1] 0.0000-1.1000 sec  3.91 KBytes  29.1 Kbits/sec   0.000 ms 0/4 (0%)",
	} {
		if !strings.Contains(got, line) {
			t.Errorf("no line %q in:\n%s", line, got)
		}
	}
	feed(tb, alice, 1200, 6)
	if diff := cmp.Diff([]string{"[  1] 1.1000-2.2000 sec  0.98 KBytes  7.27 Kbits/sec   0.000 ms 1/2 (50%)"}, tb.tick(at(2200))); diff != "" {
		t.Error(diff)
	}
}

// A sender that asks again gets the same again. What it sent before and comes after
// changes nothing. What it sends later is another test.
func TestAskedAgain(t *testing.T) {
	tb := newTable(0)
	r, last := feed(tb, alice, 0, 1, 2, -3)
	if !last {
		t.Fatal("not the last")
	}
	for i, b := range [][]byte{datagram(-3, at(2)), datagram(-4, at(2)), datagram(-99, at(2))} {
		again, last := tb.add(alice, b, len(b), at(100+i))
		if !last || again != r {
			t.Errorf("%d: %v: got %+v, want %+v", i, last, again, r)
		}
	}
	if again, last := tb.add(alice, datagram(2, at(1)), 12, at(200)); last {
		t.Errorf("a late one was answered: %+v", again)
	}
	lines := tb.tick(at(300))
	if len(lines) != 2 {
		t.Errorf("%q", lines)
	}
	feed(tb, alice, 400, 1, 2)
	if lines = tb.tick(at(500)); len(lines) != 1 || !strings.HasPrefix(lines[0], "[  2] local") {
		t.Errorf("%q", lines)
	}
	if r, last := feed(tb, alice, 600, -3); !last || r.Datagrams != 3 || r.Bytes != 3000 {
		t.Errorf("%v: %+v", last, r)
	}
}

func TestTableForgets(t *testing.T) {
	tb := newTable(0)
	feed(tb, alice, 0, 1, -2)
	feed(tb, bob, 0, 1, 2)
	tb.tick(at(int(remembered/time.Millisecond) + 2))
	if len(tb.streams) != 1 {
		t.Errorf("%d streams", len(tb.streams))
	}
	// A late request for a report that is gone begins no test.
	if _, last := feed(tb, alice, 6000, -2); last || len(tb.streams) != 1 || tb.others != 1 {
		t.Errorf("answered %v, %d streams, %d others", last, len(tb.streams), tb.others)
	}
	lines := tb.tick(at(int(quiet/time.Millisecond) + 2))
	if len(tb.streams) != 0 || len(lines) != 2 || !strings.Contains(lines[0], "nothing came") {
		t.Errorf("%d streams, %q", len(tb.streams), lines)
	}
}

// Neither forged senders nor a terminal that stands still make the table grow for
// ever.
func TestTableIsBounded(t *testing.T) {
	tb := newTable(time.Second)
	tb.add(alice, make([]byte, 11), 11, at(0))
	for i := range 2 * maxLines {
		from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 1)
		feed(tb, peers{from, alice.to}, 0, 1, -2)
	}
	if len(tb.streams) != maxStreams || tb.others != 1+2*(2*maxLines-maxStreams) {
		t.Errorf("%d streams, %d others", len(tb.streams), tb.others)
	}
	for i := range maxLines {
		feed(tb, peers{netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 1), alice.to}, 10*i+10, 1, -2)
	}
	lines := tb.tick(at(0))
	if len(lines) > maxLines+1 || !strings.Contains(lines[len(lines)-1], "too many to print") {
		t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
	}
	if tb.lines != nil || tb.unsaid != 0 {
		t.Error("lines are kept")
	}
}

func TestWriteEnd(t *testing.T) {
	tb := newTable(time.Second)
	feed(tb, alice, 0, 1, 2)
	tb.add(bob, nil, 0, at(0))
	tb.tick(at(10))
	var out bytes.Buffer
	tb.writeEnd(&out)
	want := "[  1] 0.0000-0.0010 sec  1.95 KBytes  16.0 Mbits/sec   0.000 ms 0/2 (0%)\n1 datagrams belonged to no test\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

// Any datagram is safe, and a report is of no more bytes than came.
func FuzzTable(f *testing.F) {
	f.Add(datagram(1, epoch), datagram(-2, epoch))
	f.Add([]byte{}, datagram(-1, epoch))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		tb := newTable(1)
		came := int64(0)
		for i, payload := range [][]byte{a, b, a, b} {
			came += int64(len(payload))
			if r, _ := tb.add(alice, payload, len(payload), at(i)); r.Bytes > came || r.Lost < 0 || r.Lost > r.Datagrams {
				t.Fatalf("%+v of %d bytes", r, came)
			}
			tb.tick(at(i))
		}
		tb.writeEnd(new(bytes.Buffer))
	})
}

func TestConfig(t *testing.T) {
	cfg, err := config("eth7", 5001, 0)
	if err != nil || cfg.Interface != "eth7" || cfg.Local.Port() != 5001 {
		t.Errorf("%+v, %v", cfg, err)
	}
	for _, c := range []struct {
		port     uint
		interval time.Duration
		want     string
	}{{0, 0, "-port 0"}, {65536, 0, "-port 65536"}, {1, -1, "-interval -1ns"}} {
		if _, err := config("lo", c.port, c.interval); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("port %d, interval %v: %v; want %q in it", c.port, c.interval, err, c.want)
		}
	}
}
