// SPDX-License-Identifier: MIT

package xsk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/xdpath/xdpath/umem"
)

// TxMetadataSize is the room in bytes that a frame's metadata need before its
// data, for umem.Config.TxMetadata: struct xsk_tx_metadata of
// include/uapi/linux/if_xdp.h, with a launch time.
const TxMetadataSize = 24

// txMetadata is XDP_TX_METADATA: the descriptor has metadata before its data.
const txMetadata = 1 << 1

// Flags of struct xsk_tx_metadata.
const (
	wantChecksum   = 1 << 1
	wantLaunchTime = 1 << 2
	wantTimestamp  = 1 << 0 // in the completion; the caller's own to ask for
)

// TxMetadata is what the device, or the kernel in its place, is to do with a
// frame.
type TxMetadata struct {
	// Checksum asks for a ones'-complement sum from ChecksumStart to the end
	// of the packet, put ChecksumOffset bytes after ChecksumStart. That field
	// must hold the folded sum of the pseudo-header, and lie within the frame.
	Checksum                      bool
	ChecksumStart, ChecksumOffset uint16
	// Launch, if not 0, is when the packet is to leave, by the clock of the
	// device. Needs Linux 6.15: on an older one Send refuses the frame.
	Launch time.Duration
}

// PutTxMetadata writes metadata before the frame's data and returns the frame
// that has them. The area must have been made with room for them
// (umem.Config.TxMetadata of TxMetadataSize), the frame must begin that far behind
// its chunk's beginning, and on a multiple of 8 bytes, as the kernel's struct does
// (Documentation/networking/xsk-tx-metadata.rst). Of a packet of several frames
// the first has them.
func PutTxMetadata(a *umem.Area, f umem.Frame, m TxMetadata) (umem.Frame, error) {
	size := a.Info().TxMetadata
	if size < TxMetadataSize || f.Offset() < size || f.Offset()%8 != 0 {
		return f, fmt.Errorf("xsk: metadata of %v in an area with room for %d bytes: %w", f, size, ErrMetadata)
	}
	if m.Checksum {
		if err := checksumFits(m.ChecksumStart, m.ChecksumOffset, f.Len()); err != nil {
			return f, fmt.Errorf("xsk: metadata of %v: %w", f, err)
		}
	}
	front, err := a.Shift(f, -size)
	if err != nil {
		return f, err
	}
	b, err := a.Bytes(front)
	if err != nil {
		return f, err
	}
	var flags uint64
	if m.Checksum {
		flags |= wantChecksum
	}
	if m.Launch != 0 {
		flags |= wantLaunchTime
	}
	binary.NativeEndian.PutUint64(b[0:], flags)
	binary.NativeEndian.PutUint16(b[8:], m.ChecksumStart)
	binary.NativeEndian.PutUint16(b[10:], m.ChecksumOffset)
	binary.NativeEndian.PutUint32(b[12:], 0)
	binary.NativeEndian.PutUint64(b[16:], uint64(m.Launch))
	return f.WithMetadata(true), nil
}

// checksumFits tells why a checksum cannot be put where it is to be, in a frame of
// that length.
func checksumFits(start, offset uint16, length int) error {
	if at := int(start) + int(offset); at+2 > length {
		return fmt.Errorf("checksum at byte %d of %d: %w", at, length, ErrMetadata)
	}
	return nil
}

// checkMetadata tells why the kernel would not send a packet for want of room for
// metadata or for what they say. It checks the room before every frame of an area
// that has metadata (xp_aligned_validate_desc, net/xdp/xsk_queue.h) and loses those
// without; one with metadata that it cannot follow it would leave in the ring, and
// all behind it (EINVAL, xsk_skb_metadata, net/xdp/xsk.c).
func (s *Socket) checkMetadata(frames []umem.Frame) error {
	for _, f := range frames {
		if f.Offset() < s.metadata {
			return fmt.Errorf("frame at %d of its chunk: the area keeps %d bytes for metadata before each: %w", f.Offset(), s.metadata, ErrMetadata)
		}
	}
	first := frames[0]
	if !first.Metadata() {
		return nil
	}
	if s.metadata < TxMetadataSize {
		return fmt.Errorf("frame with metadata: the area has room for %d bytes, %d are needed: %w", s.metadata, TxMetadataSize, ErrMetadata)
	}
	front, err := s.area.Shift(first, -s.metadata)
	if err != nil {
		return err
	}
	b, err := s.area.Bytes(front)
	if err != nil {
		return err
	}
	flags := binary.NativeEndian.Uint64(b)
	switch {
	case flags&^(wantTimestamp|wantChecksum|wantLaunchTime) != 0:
		return fmt.Errorf("metadata with flags %#x, which are unknown: %w", flags, ErrMetadata)
	case flags&wantLaunchTime != 0 && !s.launchTime:
		return fmt.Errorf("launch times need Linux 6.15: %w: %w", ErrMetadata, errors.ErrUnsupported)
	case flags&wantChecksum != 0:
		return checksumFits(binary.NativeEndian.Uint16(b[8:]), binary.NativeEndian.Uint16(b[10:]), first.Len())
	}
	return nil
}
