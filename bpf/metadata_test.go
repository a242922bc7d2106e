// SPDX-License-Identifier: MIT

package bpf

import (
	"encoding/binary"
	"testing"
)

// encode writes a block as the program does.
func encode(m Metadata, s stamp) []byte {
	b := binary.NativeEndian.AppendUint64(nil, uint64(s))
	b = binary.NativeEndian.AppendUint32(b, uint32(m.Fields))
	b = binary.NativeEndian.AppendUint32(b, m.Hash)
	b = binary.NativeEndian.AppendUint32(b, uint32(m.HashType))
	b = binary.BigEndian.AppendUint16(b, m.VLANProto)
	b = binary.NativeEndian.AppendUint16(b, m.VLANTCI)
	return binary.NativeEndian.AppendUint64(b, m.Timestamp)
}

var everything = Metadata{
	Fields: HasTimestamp | HasHash | HasVLAN, Hash: 0x12345678, HashType: HashIPv4 | HashL4 | HashUDP,
	VLANProto: 0x8100, VLANTCI: 0xe007, Timestamp: 1_700_000_000_123_456_789,
}

func TestMetadata(t *testing.T) {
	const mark = 0x1122334455667788
	whole := encode(everything, mark)
	only := func(f Fields) []byte {
		m := everything // all numbers there, but only f said to be
		m.Fields = f
		return encode(m, mark)
	}
	longer := append(make([]byte, 256), whole...)
	for _, c := range []struct {
		name string
		room []byte
		s    stamp
		want Metadata
		ok   bool
	}{
		{"all", whole, mark, everything, true},
		{"longer room", longer, mark, everything, true},
		{"nothing known", only(0), mark, Metadata{}, true},
		{"hash", only(HasHash), mark, Metadata{Fields: HasHash, Hash: everything.Hash, HashType: everything.HashType}, true},
		{"tag", only(HasVLAN), mark, Metadata{Fields: HasVLAN, VLANProto: 0x8100, VLANTCI: 0xe007}, true},
		{"timestamp", only(HasTimestamp), mark, Metadata{Fields: HasTimestamp, Timestamp: everything.Timestamp}, true},
		{"fields to come", only(1 << 7), mark, Metadata{}, true},
		{"another program's", whole, mark + 1, Metadata{}, false},
		{"no stamp", whole, 0, Metadata{}, false},
		{"no stamp, zero memory", make([]byte, MetadataSize), 0, Metadata{}, false},
		{"zero memory", make([]byte, MetadataSize), mark, Metadata{}, false},
		{"too short", whole[1:], mark, Metadata{}, false},
		{"empty", nil, mark, Metadata{}, false},
		{"block not at the end", append(whole[:MetadataSize:MetadataSize], 0, 0, 0, 0), mark, Metadata{}, false},
	} {
		if got, ok := parseMetadata(c.room, c.s); got != c.want || ok != c.ok {
			t.Errorf("%s: %+v, %v; want %+v, %v", c.name, got, ok, c.want, c.ok)
		}
	}
}

// FuzzMetadata: no bytes are taken without the stamp, whatever they say, and
// what is not said to be there is zero.
func FuzzMetadata(f *testing.F) {
	f.Add(encode(everything, 7), uint64(7))
	f.Add(encode(Metadata{}, 7), uint64(8))
	f.Add(make([]byte, MetadataSize), uint64(0))
	f.Add([]byte{1, 2, 3}, uint64(1))
	f.Fuzz(func(t *testing.T, room []byte, mark uint64) {
		m, ok := parseMetadata(room, stamp(mark))
		if !ok {
			if m != (Metadata{}) {
				t.Errorf("not taken, but %+v", m)
			}
			return
		}
		if mark == 0 || len(room) < MetadataSize || binary.NativeEndian.Uint64(room[len(room)-MetadataSize:]) != mark {
			t.Fatalf("taken without the stamp: %+v", m)
		}
		if again, ok := parseMetadata(encode(m, stamp(mark)), stamp(mark)); !ok || again != m {
			t.Errorf("%+v becomes %+v, %v", m, again, ok)
		}
		if m.Fields&HasHash == 0 && (m.Hash != 0 || m.HashType != 0) || m.Fields&HasTimestamp == 0 && m.Timestamp != 0 ||
			m.Fields&HasVLAN == 0 && (m.VLANProto != 0 || m.VLANTCI != 0) {
			t.Errorf("more than it says: %+v", m)
		}
	})
}

func TestMetadataAllocatesNothing(t *testing.T) {
	p, room := Program{}, encode(everything, 7)
	p.stamp.Store(7)
	if n := testing.AllocsPerRun(100, func() {
		if _, ok := p.Metadata(room); !ok {
			t.Fatal("not taken")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestMetadataStrings(t *testing.T) {
	for got, want := range map[string]string{
		Fields(0).String():                "none",
		HasHash.String():                  "hash",
		(HasTimestamp | HasVLAN).String(): "timestamp, VLAN tag",
		MetadataOff.String():              "off",
		MetadataAuto.String():             "auto",
		MetadataRequire.String():          "require",
		MetadataPolicy(9).String():        "metadata policy 9",
		Attempt{Step: stepAttach, Mode: Native, Frags: true, Metadata: true}.String(): "native frags with metadata: ok",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func BenchmarkMetadata(b *testing.B) {
	p, room := Program{}, encode(everything, 7)
	p.stamp.Store(7)
	for b.Loop() {
		if _, ok := p.Metadata(room); !ok {
			b.Fatal("not taken")
		}
	}
}
