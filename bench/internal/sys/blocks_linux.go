// SPDX-License-Identifier: MIT

package sys

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Blocks is the receive ring of a packet socket in version 3 of its format, where the
// kernel packs frames into blocks and hands over one block after the other
// (Documentation/networking/packet_mmap.rst).
//
//	block:  | status, number of frames, first | frame | frame | ... |
//	frame:  | next, lengths, where data begin | address | data |
//
// It is for one goroutine.
type Blocks struct {
	memory []byte
	size   int // of a block
	now    int // block that is read
	left   int // frames of it that have not been handed out
	frame  int // where the next one of these begins in memory
	lent   bool
}

// What the kernel puts before the data of a frame of Ethernet (tpacket_rcv of
// net/packet/af_packet.c: its header, an address, and room up to 16 bytes of Ethernet
// header, aligned), and before the frames of a block, in bytes.
const (
	frameOverhead = 82
	blockHeader   = int(unsafe.Sizeof(unix.TpacketBlockDesc{}))
	frameAlign    = unix.TPACKET_ALIGNMENT
)

// NewBlocks gives the packet socket fd a ring of count blocks of size bytes, a multiple
// of the page size. The kernel hands over a block that is not full after retire
// milliseconds.
func NewBlocks(fd, size, count, retire int) (*Blocks, error) {
	if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_VERSION, unix.TPACKET_V3); err != nil {
		return nil, fmt.Errorf("set TPACKET_V3: %w", err)
	}
	// Frames are as long as they are; the kernel wants a size that divides all the same.
	req := unix.TpacketReq3{
		Block_size: uint32(size), Block_nr: uint32(count), Frame_size: uint32(size), Frame_nr: uint32(count), Retire_blk_tov: uint32(retire),
	}
	if err := unix.SetsockoptTpacketReq3(fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &req); err != nil {
		return nil, fmt.Errorf("make a ring of %d blocks of %d bytes: %w", count, size, err)
	}
	m, err := unix.Mmap(fd, 0, size*count, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map a ring of %d bytes: %w", size*count, err)
	}
	return &Blocks{memory: m, size: size}, nil
}

// Close unmaps the ring. What Next returned is gone.
func (b *Blocks) Close() error {
	if b.memory == nil {
		return nil
	}
	err := unix.Munmap(b.memory)
	b.memory = nil
	return err
}

// status is the word by which a block changes hands. Only its owner writes it: loads
// pair with the kernel's barrier before its store in prb_close_block, and stores with
// its barrier after it has looked in prb_dispatch_next_block (net/packet/af_packet.c).
func (b *Blocks) status() *uint32 {
	d := (*unix.TpacketBlockDesc)(unsafe.Pointer(&b.memory[b.now*b.size]))
	return (*uint32)(unsafe.Pointer(&d.Hdr[0]))
}

// Ready tells whether Next has something without waiting.
func (b *Blocks) Ready() bool {
	return b.left > 0 || atomic.LoadUint32(b.status())&unix.TP_STATUS_USER != 0
}

// Next puts up to len(views) frames into views, from their Ethernet header on, and
// returns how many: 0 if there are none now. They are valid until Next is called when
// it has handed out all of their block, or Close.
func (b *Blocks) Next(views [][]byte) int {
	if b.left == 0 && !b.turn() {
		return 0
	}
	n := min(b.left, len(views))
	for i := range views[:n] {
		h := (*unix.Tpacket3Hdr)(unsafe.Pointer(&b.memory[b.frame]))
		data := b.frame + int(h.Mac)
		views[i] = b.memory[data : data+int(h.Snaplen) : data+int(h.Snaplen)]
		b.frame += int(h.Next_offset)
	}
	b.left -= n
	return n
}

// turn gives a block back that has been handed out, and takes the next one.
func (b *Blocks) turn() bool {
	if b.lent {
		atomic.StoreUint32(b.status(), unix.TP_STATUS_KERNEL)
		b.lent = false
		b.now = (b.now + 1) % (len(b.memory) / b.size)
	}
	if atomic.LoadUint32(b.status())&unix.TP_STATUS_USER == 0 {
		return false
	}
	at := b.now * b.size
	d := (*unix.TpacketBlockDesc)(unsafe.Pointer(&b.memory[at]))
	h := (*unix.TpacketHdrV1)(unsafe.Pointer(&d.Hdr[0]))
	b.lent, b.left, b.frame = true, int(h.Num_pkts), at+int(h.Offset_to_first_pkt)
	return b.left > 0
}

// BlocksFor returns the size and number of blocks in which hold frames of length bytes
// have room, in pages of page bytes. Some blocks are more than that: one is read, and
// others are handed over before they are full.
func BlocksFor(hold, length, page int) (size, count int) {
	const few = 8 // frames in a block, or too much of it would be wasted
	each := (length + frameOverhead + frameAlign - 1) &^ (frameAlign - 1)
	for size = max(page, 16<<10); size < few*each+blockHeader; {
		size *= 2
	}
	per := (size - blockHeader) / each
	return size, (hold+per-1)/per + 2
}
