// SPDX-License-Identifier: MIT

package xsk

import (
	"os"
	"unsafe"

	"github.com/xdpath/xdpath/internal/ring"
	"github.com/xdpath/xdpath/umem"
	"golang.org/x/sys/unix"
)

// This file passes option structs to the kernel; nothing else in the package
// needs unsafe.

// maxTxBudget is XDP_MAX_TX_SKB_BUDGET of include/uapi/linux/if_xdp.h (6.17).
const maxTxBudget = 9

// setStruct sets an option that is a struct. The length is that of the struct,
// passed as the kernel's 32-bit socklen_t whatever the byte order.
func setStruct[T any](fd, option int, v *T) error {
	_, _, e := unix.Syscall6(unix.SYS_SETSOCKOPT, uintptr(fd), unix.SOL_XDP, uintptr(option),
		uintptr(unsafe.Pointer(v)), unsafe.Sizeof(*v), 0)
	if e != 0 {
		return os.NewSyscallError("setsockopt", e)
	}
	return nil
}

// getStruct reads an option that is a struct and returns how many bytes the
// kernel wrote: older ones know fewer fields, which stay zero.
func getStruct[T any](fd, option int, v *T) (n int, err error) {
	length := uint32(unsafe.Sizeof(*v))
	_, _, e := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_XDP, uintptr(option),
		uintptr(unsafe.Pointer(v)), uintptr(unsafe.Pointer(&length)), 0)
	if e != 0 {
		return 0, os.NewSyscallError("getsockopt", e)
	}
	return int(length), nil
}

// registerMemory makes mem the socket's UMEM. Where trailing fields that it does
// not know are zero the kernel takes the longer struct of newer ones
// (xsk_setsockopt, net/xdp/xsk.c).
func registerMemory(fd int, mem []byte, area umem.Info) error {
	reg := unix.XDPUmemReg{
		Addr:     uint64(uintptr(unsafe.Pointer(&mem[0]))),
		Len:      uint64(len(mem)),
		Size:     uint32(area.ChunkSize),
		Headroom: uint32(area.Headroom),
	}
	if area.TxMetadata > 0 {
		reg.Tx_metadata_len = uint32(area.TxMetadata)
		reg.Flags = unix.XDP_UMEM_TX_METADATA_LEN
	}
	if area.SoftwareChecksum {
		reg.Flags |= unix.XDP_UMEM_TX_SW_CSUM
	}
	return setStruct(fd, unix.XDP_UMEM_REG, &reg)
}

// mapRing maps one of the socket's rings and lays a ring of T over it.
func mapRing[T any](fd int, pgoff int64, off unix.XDPRingOffset, size uint32) (ring.Shared[T], []byte, error) {
	offsets := ring.Offsets{Producer: off.Producer, Consumer: off.Consumer, Flags: off.Flags, Desc: off.Desc}
	mem, err := unix.Mmap(fd, pgoff, int(ring.End[T](offsets, size)), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return ring.Shared[T]{}, nil, os.NewSyscallError("mmap", err)
	}
	shared, err := ring.Map[T](mem, offsets, size)
	if err != nil {
		unix.Munmap(mem)
		return ring.Shared[T]{}, nil, err
	}
	return shared, mem, nil
}

// hasIndex tells whether the network namespace of the socket fd has an interface
// of that index, or that it could not be asked.
func hasIndex(fd, index int) bool {
	req := struct {
		name  [unix.IFNAMSIZ]byte
		index int32
		_     [20]byte // the rest of the union in struct ifreq
	}{index: int32(index)}
	_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCGIFNAME, uintptr(unsafe.Pointer(&req)))
	return e != unix.ENODEV
}

// channels is struct ethtool_channels of include/uapi/linux/ethtool.h.
type channels struct {
	cmd                                    uint32
	maxRx, maxTx, maxOther, maxCombined    uint32
	rxCount, txCount, otherCount, combined uint32
}

// queueCount asks how many queues the interface has, for an error's text; 0
// when it does not tell.
func queueCount(name string) int {
	fd := asker()
	defer unix.Close(fd)
	const getChannels = 0x3c // ETHTOOL_GCHANNELS
	c := channels{cmd: getChannels}
	req := struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte // the rest of the union in struct ifreq
	}{data: unsafe.Pointer(&c)}
	copy(req.name[:unix.IFNAMSIZ-1], name)
	_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&req)))
	if e != 0 {
		return 0
	}
	return int(max(c.rxCount, c.txCount) + c.combined)
}
