// SPDX-License-Identifier: MIT

package bpf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/xdpath/xdpath/bpf/internal/vm"
)

const vmStamp = 0x1122334455667788

// metaMachine is the program with metadata of either byte order, with vmStamp.
func metaMachine(t *testing.T, big bool) *vm.Machine {
	t.Helper()
	var order binary.ByteOrder = binary.LittleEndian
	object := metaLittle
	if big {
		order, object = binary.BigEndian, metaBig
	}
	m := machine(t, object, order, metaName)
	order.PutUint64(m.Own[ownStamp], vmStamp)
	return m
}

// block is what the program must leave in front of a frame.
func block(order binary.ByteOrder, d vm.Driver) []byte {
	b := make([]byte, 32)
	order.PutUint64(b, vmStamp)
	var fields uint32
	if d.Timestamp != nil && *d.Timestamp != 0 {
		fields |= 1
		order.PutUint64(b[24:], *d.Timestamp)
	}
	if d.Hash != nil {
		fields |= 2
		order.PutUint32(b[12:], d.Hash[0])
		order.PutUint32(b[16:], d.Hash[1])
	}
	if d.VLAN != nil {
		fields |= 4
		copy(b[20:], d.VLAN.Proto[:])
		order.PutUint16(b[22:], d.VLAN.TCI)
	}
	order.PutUint32(b[8:], fields)
	return b
}

// drivers are all that a driver may know of a frame, or not.
func drivers() (list []vm.Driver) {
	timestamp, none := everything.Timestamp, uint64(0)
	for i := range 1 << 3 {
		var d vm.Driver
		if i&1 != 0 {
			d.Timestamp = &timestamp
		}
		if i&2 != 0 {
			d.Hash = &[2]uint32{everything.Hash, uint32(everything.HashType)}
		}
		if i&4 != 0 {
			d.VLAN = &vm.VLAN{Proto: [2]byte{0x81, 0}, TCI: everything.VLANTCI}
		}
		list = append(list, d)
	}
	return append(list, vm.Driver{Timestamp: &none}, vm.Driver{Timestamp: &none, Hash: &[2]uint32{0, 0}})
}

// Whatever the driver knows, in both byte orders: a frame for a socket has just
// that in front, any other frame nothing.
func TestObjectsTell(t *testing.T) {
	ours, other := target.UDP4([]byte("payload")).Bytes(), target.UDP4([]byte("payload"))
	other.UDP.Dst = 1
	for _, big := range []bool{false, true} {
		m := metaMachine(t, big)
		for _, d := range drivers() {
			m.Driver = d
			name := fmt.Sprintf("big-endian %v, %+v", big, d)
			verdict, err := m.Run(ours, 0)
			if want := block(m.Order, d); err != nil || verdict != xdpRedirect || !bytes.Equal(m.Front, want) {
				t.Errorf("%s: verdict %d, %v\n%x, want\n%x", name, verdict, err, m.Front, want)
			}
			if sameOrder(m.Order) {
				checkParsed(t, name, m.Front, d)
			}
			for queue, frame := range [][]byte{other.Bytes(), ours} { // no filter; no socket
				verdict, err := m.Run(frame, queue)
				if err != nil || verdict != xdpPass || len(m.Front) != 0 {
					t.Errorf("%s, queue %d: verdict %d, %v, %x", name, queue, verdict, err, m.Front)
				}
			}
		}
	}
}

// sameOrder tells whether order is this machine's.
func sameOrder(order binary.ByteOrder) bool {
	return order.Uint16([]byte{0, 1}) == binary.NativeEndian.Uint16([]byte{0, 1})
}

// checkParsed: the reader finds what the driver said.
func checkParsed(t *testing.T, name string, front []byte, d vm.Driver) {
	t.Helper()
	var want Metadata
	if d.Timestamp != nil && *d.Timestamp != 0 {
		want.Fields, want.Timestamp = HasTimestamp, *d.Timestamp
	}
	if d.Hash != nil {
		want.Fields |= HasHash
		want.Hash, want.HashType = d.Hash[0], HashType(d.Hash[1])
	}
	if d.VLAN != nil {
		want.Fields |= HasVLAN
		want.VLANProto, want.VLANTCI = 0x8100, d.VLAN.TCI
	}
	if got, ok := parseMetadata(front, vmStamp); !ok || got != want {
		t.Errorf("%s: parsed %+v, %v; want %+v", name, got, ok, want)
	}
}

// A frame that has no room for a block, or has the driver's own metadata in its
// place, goes to the kernel and not to the socket with old bytes in front.
func TestObjectsNoRoom(t *testing.T) {
	frame := target.UDP4([]byte("payload")).Bytes()
	for _, big := range []bool{false, true} {
		for _, d := range []vm.Driver{{NoRoom: true}, {Own: 4}, {Own: 16}, {Own: 32}} {
			m := metaMachine(t, big)
			m.Driver = d
			verdict, err := m.Run(frame, 0)
			count := m.Order.Uint64(m.Counters[len(m.Counters)-1])
			if err != nil || verdict != xdpPass || count != 1 || m.Order.Uint64(m.Counters[0]) != 0 {
				t.Errorf("big-endian %v, %+v: verdict %d, %v, NoRoom %d", big, d, verdict, err, count)
			}
		}
	}
}
