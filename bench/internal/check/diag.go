// SPDX-License-Identifier: MIT

package check

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Of linux/xdp_diag.h and linux/sock_diag.h.
const (
	diagByFamily = 20 // SOCK_DIAG_BY_FAMILY
	showInfo     = 1 << 0
	showUMEM     = 1 << 2

	diagInfo = 1 // struct xdp_diag_info
	diagUMEM = 5 // struct xdp_diag_umem

	diagMessage  = 16 // bytes of struct xdp_diag_msg before the attributes
	flagZeroCopy = 1 << 0
	flagsOffset  = 32 // of flags in struct xdp_diag_umem
)

// diagSocket is one AF_XDP socket that the kernel lists.
type diagSocket struct {
	inode    uint64
	ifindex  int // 0: not bound
	queue    int
	zeroCopy bool
}

var errDiag = errors.New("malformed message of xdp_diag")

// parseDiag reads one answer:
//
//	family u8, type u8, pad u16, inode u32, cookie 2 × u32, attributes
func parseDiag(b []byte) (diagSocket, error) {
	var s diagSocket
	if len(b) < diagMessage {
		return s, fmt.Errorf("%d bytes: %w", len(b), errDiag)
	}
	order := binary.NativeEndian
	s.inode = uint64(order.Uint32(b[4:]))
	for b = b[diagMessage:]; len(b) >= 4; {
		size, typ := int(order.Uint16(b)), order.Uint16(b[2:])&(1<<14-1)
		if size < 4 || size > len(b) {
			return s, fmt.Errorf("attribute of %d bytes in %d: %w", size, len(b), errDiag)
		}
		v := b[4:size]
		switch {
		case typ == diagInfo && len(v) >= 8:
			s.ifindex, s.queue = int(order.Uint32(v)&(1<<31-1)), int(order.Uint32(v[4:])&(1<<31-1))
		case typ == diagUMEM && len(v) >= flagsOffset+4:
			s.zeroCopy = order.Uint32(v[flagsOffset:])&flagZeroCopy != 0
		}
		b = b[min((size+3)&^3, len(b)):]
	}
	return s, nil
}
