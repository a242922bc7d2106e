// SPDX-License-Identifier: MIT

package gv

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// What is decoded is encoded to the same bytes, but for those that are reserved.
func FuzzPacket(f *testing.F) {
	b := make([]byte, extendedLen+LeaderLen)
	for _, extended := range []bool{false, true} {
		n := Packet{Block: 7, Kind: PartLeader, Extended: extended}.PutHeader(b)
		n += Leader{PayloadType: PayloadImage, PixelFormat: RGB8, Width: 640, Height: 480}.Put(b[n:])
		f.Add(bytes.Clone(b[:n]))
		n = Packet{Block: 7, Kind: PartTrailer, ID: 9, Extended: extended}.PutHeader(b)
		n += Trailer{PayloadImage, 480}.Put(b[n:])
		f.Add(bytes.Clone(b[:n]))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := ParsePacket(b)
		if err != nil {
			return
		}
		again := make([]byte, len(b))
		n := p.PutHeader(again)
		copy(again[n:], p.Body)
		want := bytes.Clone(b)
		if p.Extended {
			clear(want[2:4])
			clear(want[5:8])
		}
		if !bytes.Equal(again, want) {
			t.Fatalf("packet\ngot  %x\nwant %x", again, want)
		}
		if l, err := ParseLeader(p.Body); err == nil {
			l.Put(again[n:])
			clear(want[n : n+2])
			if !bytes.Equal(again, want) || l.Bytes() < 0 {
				t.Fatalf("leader %+v\ngot  %x\nwant %x", l, again, want)
			}
		}
		copy(again[n:], p.Body)
		if tr, err := ParseTrailer(p.Body); err == nil {
			tr.Put(again[n:])
			clear(want[n : n+2])
			if !bytes.Equal(again[:n+TrailerLen], want[:n+TrailerLen]) {
				t.Fatalf("trailer %+v\ngot  %x\nwant %x", tr, again, want)
			}
		}
	})
}

// Commands and acknowledgements, and what is in their bodies, likewise.
func FuzzControl(f *testing.F) {
	r := make([]byte, resendLen64)
	f.Add(AppendCommand(nil, Command{FlagAck, ReadReg, 1, AppendWords(nil, RegCCP)}))
	f.Add(AppendCommand(nil, Command{FlagAck, WriteReg, 1, AppendWrites(nil, Write{RegCCP, 2})}))
	f.Add(AppendCommand(nil, Command{FlagAck, ReadMem, 1, AppendSpan(nil, Span{RegURL, 512})}))
	f.Add(AppendCommand(nil, Command{0, ResendReq, 1, r[:Resend{Block: 3, First: 1, Last: 2}.Put(r)]}))
	f.Add(AppendCommand(nil, Command{FlagExtended, ResendReq, 1, r[:Resend{Block: 3, First: 1, Last: 2, Extended: true}.Put(r)]}))
	f.Fuzz(func(t *testing.T, b []byte) {
		same := func(what string, got, want []byte) {
			if !bytes.Equal(got, want) {
				t.Fatalf("%s\ngot  %x\nwant %x", what, got, want)
			}
		}
		if a, err := ParseAck(b); err == nil {
			same("acknowledgement", AppendAck(nil, a), b[:HeaderSize+len(a.Body)])
		}
		c, err := ParseCommand(b)
		if err != nil {
			return
		}
		same("command", AppendCommand(nil, c), b[:HeaderSize+len(c.Body)])
		if w, err := ParseWords(c.Body); err == nil {
			same("words", AppendWords(nil, w...), c.Body)
		}
		if w, err := ParseWrites(c.Body); err == nil {
			same("writes", AppendWrites(nil, w...), c.Body)
		}
		if at, data, err := ParseMemory(c.Body); err == nil {
			same("memory", AppendMemory(nil, at, data), c.Body)
		}
		if s, err := ParseSpan(c.Body); err == nil {
			same("span", AppendSpan(nil, s), reserved(c.Body, 4, 6))
		}
		if n, err := ParseIndex(c.Body); err == nil {
			same("index", AppendIndex(nil, n), reserved(c.Body, 0, 2))
		}
		if r, err := ParseResend(c); err == nil {
			again := make([]byte, resendLen64)
			want := reserved(c.Body, 2, 4)
			if !r.Extended {
				want = bytes.Clone(c.Body)
				for _, at := range []int{4, 8} {
					binary.BigEndian.PutUint32(want[at:], binary.BigEndian.Uint32(want[at:])&maxPacket)
				}
			}
			same("resend", again[:r.Put(again)], want)
		}
	})
}

// reserved is b with some bytes cleared.
func reserved(b []byte, from, to int) []byte {
	b = bytes.Clone(b)
	clear(b[from:to])
	return b
}

// An identity is stable after one round: texts are cut at their zero then, and valid.
func FuzzIdentity(f *testing.F) {
	b := make([]byte, DiscoveryLen)
	Identity{Model: "Camera", Serial: "1"}.Put(b)
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		i, err := ParseIdentity(b)
		if err != nil {
			return
		}
		once, twice := make([]byte, DiscoveryLen), make([]byte, DiscoveryLen)
		i.Put(once)
		if i, err = ParseIdentity(once); err != nil {
			t.Fatal(err)
		}
		if i.Put(twice); !bytes.Equal(once, twice) {
			t.Fatalf("got  %x\nwant %x", twice, once)
		}
	})
}
