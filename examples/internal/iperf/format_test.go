// SPDX-License-Identifier: MIT

package iperf

import (
	"bytes"
	"encoding/hex"
	"testing"
	"time"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What iperf 2.1.8 sent, as captured: its first datagram, the last of 8920, one of
// 16 bytes and one of 18; and headers as senders had them before there was a high
// half.
func TestParseHeader(t *testing.T) {
	at := func(sec, us int64) time.Time { return time.Unix(sec, us*1000) }
	for _, c := range []struct {
		name, hex string
		want      Header
	}{
		{"first", "00000001" + "6b0dc31c" + "0004f5ec" + "00000000" + "48010098" + "00000001", Header{1, at(1796064028, 325100)}},
		{"last", "ffffdd28" + "6b0dc31e" + "0004f7ce" + "ffffffff" + "48010098" + "00000001", Header{-8920, at(1796064030, 325582)}},
		{"16 bytes", "00000002" + "6b0dc357" + "000787ee" + "00000000", Header{2, at(1796064087, 493550)}},
		{"18 bytes, last", "ffffff99" + "6b0dc35a" + "000c7b61" + "ffffffff" + "4801", Header{-103, at(1796064090, 818017)}},
		{"past 32 bits", "00000001" + "00000000" + "00000000" + "00000001" + "08000000", Header{1<<32 + 1, at(0, 0)}},
		{"12 bytes", "fffffffe" + "00000001" + "00000002", Header{-2, at(1, 2)}},
		{"old", "00000007" + "00000001" + "00000002" + "80000000" + "00000001", Header{7, at(1, 2)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := ParseHeader(unhex(t, c.hex))
			if !ok || got.Number != c.want.Number || !got.Sent.Equal(c.want.Sent) {
				t.Errorf("got %v, %v, want %v", got, ok, c.want)
			}
			if got.Last() != (c.want.Number < 0) {
				t.Errorf("Last is %v", got.Last())
			}
		})
	}
	for n := range shortHeader {
		if h, ok := ParseHeader(make([]byte, n)); ok {
			t.Errorf("%d bytes: %v", n, h)
		}
	}
}

func TestPutHeader(t *testing.T) {
	b := bytes.Repeat([]byte{0xaa}, HeaderLen+1)
	Header{-8920, time.UnixMicro(1796064030325582)}.Put(b)
	if got, want := hex.EncodeToString(b), "ffffdd28"+"6b0dc31e"+"0004f7ce"+"ffffffff"+"08000000"+"aa"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// iperfReport is what iperf 2.1.8 answered to 8920 datagrams, as captured; lossReport
// what it answered to a test that had losses and late ones.
const (
	iperfReport = "00000000000000000000000000000000" + "88000000" + "0000000000c81450" + "0000000200000139" +
		"00000000" + "00000000" + "000022d8" + "0000000000000000" +
		"00000000000000000000000000aa000000005368000000000000000200013859" +
		"0007084a00000000000022d80000116b00000001" + "00000000" + "00000000" + "00000000"
	lossReport = "00000000000000000000000000000000" + "c8000000" + "0000000000002ee0" + "000000000001c079" +
		"00000001" + "00000002" + "0000000d" + "000000000000000b" +
		"000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000" +
		"00000000" + "00000000" + "00000000"
)

func TestParseReport(t *testing.T) {
	for _, c := range []struct {
		name, hex string
		want      Report
	}{
		{"no loss", iperfReport, Report{Bytes: 8920 * 1470, Duration: 2*time.Second + 313*time.Microsecond, Datagrams: 8920}},
		{"loss", lossReport, Report{12000, 114809 * time.Microsecond, 13, 1, 2, 11 * time.Microsecond}},
		{"old", "00000000000000000000000000000000" + "80000000" + "0000000100000000" + "0000000100000000" + "00000003" + "00000004" + "00000005" + "0000000000000006",
			Report{1 << 32, time.Second, 5, 3, 4, 6 * time.Microsecond}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, ok := ParseReport(unhex(t, c.hex)); !ok || got != c.want {
				t.Errorf("got %+v, %v\nwant %+v", got, ok, c.want)
			}
		})
	}
	for n := range shortReport {
		if _, ok := ParseReport(bytes.Repeat([]byte{0xff}, n)); ok {
			t.Errorf("%d bytes are a report", n)
		}
	}
	if _, ok := ParseReport(make([]byte, ReportLen)); ok {
		t.Error("an answer without a report is one")
	}
}

// Everything that a report says arrives, past 32 bits too.
func TestReportRoundTrip(t *testing.T) {
	want := Report{1<<40 + 1, 90*time.Minute + 7*time.Microsecond, 1<<33 + 3, 1<<34 + 5, 1<<35 + 9, 1500 * time.Millisecond}
	b := bytes.Repeat([]byte{0xaa}, ReportLen+1)
	want.Put(b)
	if got, ok := ParseReport(b); !ok || got != want {
		t.Errorf("got %+v, %v\nwant %+v", got, ok, want)
	}
	if b[ReportLen] != 0xaa {
		t.Error("wrote past its length")
	}
}

// Whatever is read is read again as the same after it is written.
func FuzzHeader(f *testing.F) {
	f.Add(unhex(f, "ffffdd286b0dc31e0004f7ceffffffff48010098"))
	f.Add(unhex(f, "00000002"+"6b0dc357"+"000787ee"+"00000000"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, ok := ParseHeader(b)
		if ok != (len(b) >= shortHeader) {
			t.Fatalf("%d bytes: %v", len(b), ok)
		}
		if !ok || h.Sent.Unix() > 1<<32-1 { // microseconds over a million carried into a 33rd bit
			return
		}
		var again [HeaderLen]byte
		h.Put(again[:])
		if g, ok := ParseHeader(again[:]); !ok || g.Number != h.Number || !g.Sent.Equal(h.Sent) {
			t.Fatalf("got %v, want %v", g, h)
		}
	})
}

func FuzzReport(f *testing.F) {
	f.Add(unhex(f, iperfReport))
	f.Add(unhex(f, lossReport))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, ok := ParseReport(b)
		if !ok || r.Duration >= 1<<32*time.Second || r.Jitter >= 1<<32*time.Second {
			return
		}
		var again [ReportLen]byte
		r.Put(again[:])
		if g, ok := ParseReport(again[:]); !ok || g != r {
			t.Fatalf("got %+v, want %+v", g, r)
		}
	})
}
