// SPDX-License-Identifier: MIT

package umem

import (
	"errors"
	"fmt"
	"math/bits"
	"os"
)

// HugePages tells which pages an area is to lie on.
type HugePages int

const (
	// HugeNever takes pages of the ordinary size.
	HugeNever HugePages = iota
	// HugeAuto takes huge pages where enough are free, else ordinary ones;
	// [Area.Info] tells which and why.
	HugeAuto
	// HugeRequire takes huge pages or fails with the number missing.
	HugeRequire
)

// Config describes an [Area]. The zero value is usable.
type Config struct {
	// ChunkSize is the size of a chunk in bytes: a power of two from 2048 to
	// the page size. Default 2048. Without multi-buffer the largest frame
	// that can be received is ChunkSize - 256 - Headroom.
	ChunkSize int
	// Headroom is the room in bytes that the kernel leaves free before each
	// received frame, beyond its own 256. Default 0; at most
	// ChunkSize - 256 - 448, what the kernel accepts.
	Headroom int
	// Chunks is the number of chunks. Default 4096, or as many as fit into
	// Memory.
	Chunks int
	// Memory is the caller's own memory to use instead of new pages. It must
	// begin on a page boundary, be a multiple of the page size, stay mapped
	// until [Area.Close] has returned nil, and be pinnable: anonymous,
	// memfd or hugetlbfs memory is, a file on a disk file system is not.
	Memory []byte
	// Huge asks for huge pages. It does not go with Memory.
	Huge HugePages
	// TxMetadata is the number of bytes before a frame for sending that tell
	// the device what to do with it (checksum, launch time): 0 for none, or a
	// multiple of 8 below 256. See xsk.TxMetadataSize. Needs Linux 6.8. Where
	// there are such bytes every frame for sending must have them before it,
	// with metadata or without.
	TxMetadata int
	// SoftwareChecksum lets the kernel compute the checksums that metadata ask
	// for, in copy mode: for trying them without a device that can.
	SoftwareChecksum bool
}

const (
	// minChunk is XDP_UMEM_MIN_CHUNK_SIZE of include/net/xdp_sock.h.
	minChunk = 2048
	// packetHeadroom is XDP_PACKET_HEADROOM of include/uapi/linux/bpf.h: what
	// the kernel keeps before the headroom of a received frame.
	packetHeadroom = 256
	// minRoom is what the kernel wants left of a chunk for the frame:
	// measured, 1344 is the largest headroom for 2048 and 3392 for 4096.
	minRoom = 448

	defaultChunks = 4096
	maxBytes      = 1 << 46 // addresses of aligned chunks; far above any machine
)

func (c Config) withDefaults() Config {
	if c.ChunkSize == 0 {
		c.ChunkSize = minChunk
	}
	if c.Chunks == 0 {
		c.Chunks = defaultChunks
		if c.Memory != nil && c.ChunkSize > 0 {
			c.Chunks = len(c.Memory) / c.ChunkSize
		}
	}
	return c
}

// validate tells everything that is wrong with c, before any system call.
func (c Config) validate(page int) error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("umem: config: "+format, args...)) }
	if c.ChunkSize < minChunk || c.ChunkSize > page || c.ChunkSize&(c.ChunkSize-1) != 0 {
		bad("ChunkSize %d: must be a power of two from %d to the page size, %d", c.ChunkSize, minChunk, page)
	} else if limit := c.ChunkSize - packetHeadroom - minRoom; c.Headroom < 0 || c.Headroom > limit {
		bad("Headroom %d: must be from 0 to %d for chunks of %d", c.Headroom, limit, c.ChunkSize)
	}
	switch hi, lo := bits.Mul64(uint64(max(c.Chunks, 0)), uint64(max(c.ChunkSize, 0))); {
	case c.Chunks < 1:
		bad("Chunks %d: must be at least 1", c.Chunks)
	case hi != 0 || lo > maxBytes || lo > uint64(maxInt) || uint64(c.Chunks) > 1<<32-1:
		bad("Chunks %d of %d bytes: more than this machine can address", c.Chunks, c.ChunkSize)
	case c.Memory != nil && lo > uint64(len(c.Memory)):
		bad("Chunks %d of %d bytes: Memory has only %d", c.Chunks, c.ChunkSize, len(c.Memory))
	}
	if c.TxMetadata < 0 || c.TxMetadata > 255 || c.TxMetadata%8 != 0 {
		bad("TxMetadata %d: must be a multiple of 8 below 256", c.TxMetadata)
	}
	if c.SoftwareChecksum && c.TxMetadata == 0 {
		bad("SoftwareChecksum: without TxMetadata nothing asks for checksums")
	}
	if c.Memory != nil {
		if at := address(c.Memory); at%uintptr(page) != 0 || len(c.Memory)%page != 0 || len(c.Memory) == 0 {
			bad("Memory of %d bytes at %#x: must begin on a page boundary and be a multiple of the page size, %d", len(c.Memory), at, page)
		}
		if c.Huge != HugeNever {
			bad("Huge does not go with Memory: map the memory on huge pages yourself")
		}
	}
	if c.Huge < HugeNever || c.Huge > HugeRequire {
		bad("Huge %d: not one of HugeNever, HugeAuto, HugeRequire", c.Huge)
	}
	return errors.Join(errs...)
}

const maxInt = int(^uint(0) >> 1)

// pageSize is asked for, never assumed: arm64 and ppc64 kernels come with 64 KiB.
func pageSize() int { return os.Getpagesize() }
