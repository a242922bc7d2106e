// SPDX-License-Identifier: MIT

package xsk

import (
	"encoding/binary"
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
)

// TxMetadata is what the device, or the kernel in its place, is to do with a
// frame.
type TxMetadata struct {
	// Checksum asks for a ones'-complement sum from ChecksumStart to the end
	// of the packet, put ChecksumOffset bytes after ChecksumStart. That field
	// must hold the folded sum of the pseudo-header.
	Checksum                      bool
	ChecksumStart, ChecksumOffset uint16
	// Launch, if not 0, is when the packet is to leave, by the clock of the
	// device. Needs Linux 6.15.
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
