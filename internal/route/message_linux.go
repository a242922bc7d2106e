// SPDX-License-Identifier: MIT

package route

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// header is a struct nlmsghdr without its length.
type header struct {
	typ, flags uint16
	seq        uint32
}

// messages calls f for each netlink message in b, in order, and ends with the first
// error. Bodies alias b. The last one may lack its padding.
func messages(b []byte, f func(h header, body []byte) error) error {
	for len(b) >= unix.SizeofNlMsghdr {
		size := binary.NativeEndian.Uint32(b)
		if size < unix.SizeofNlMsghdr || uint64(size) > uint64(len(b)) {
			return fmt.Errorf("message of %d bytes in %d: %w", size, len(b), unix.EBADMSG)
		}
		h := header{
			typ:   binary.NativeEndian.Uint16(b[4:]),
			flags: binary.NativeEndian.Uint16(b[6:]),
			seq:   binary.NativeEndian.Uint32(b[8:]),
		}
		if err := f(h, b[unix.SizeofNlMsghdr:size]); err != nil {
			return err
		}
		b = b[min(align(int(size)), len(b)):]
	}
	return nil
}

// attributes calls f for each attribute in b, in order, and ends with the first
// error. Values alias b.
func attributes(b []byte, f func(typ uint16, v []byte) error) error {
	for len(b) >= unix.SizeofNlAttr {
		size := int(binary.NativeEndian.Uint16(b))
		if size < unix.SizeofNlAttr || size > len(b) {
			return fmt.Errorf("attribute of %d bytes in %d: %w", size, len(b), unix.EBADMSG)
		}
		// The two highest bits tell of nesting and byte order.
		typ := binary.NativeEndian.Uint16(b[2:]) & 0x3fff
		if err := f(typ, b[unix.SizeofNlAttr:size]); err != nil {
			return fmt.Errorf("attribute %d: %w", typ, err)
		}
		b = b[min(align(size), len(b)):]
	}
	return nil
}

// align rounds up to the 4 bytes on which messages and attributes start.
func align(n int) int { return (n + 3) &^ 3 }

// setUint32 takes a value of 32 bits. A longer one is taken as well: kernels to
// come may append to it.
func setUint32(dst *uint32, v []byte) error {
	if len(v) < 4 {
		return short(4, v)
	}
	*dst = binary.NativeEndian.Uint32(v)
	return nil
}

// setInt is setUint32 for what counts bytes or interfaces, of which there are never
// more than an int holds.
func setInt(dst *int, v []byte) error {
	var n uint32
	if err := setUint32(&n, v); err != nil {
		return err
	}
	if n > 1<<31-1 {
		return fmt.Errorf("value %d: %w", n, unix.EBADMSG)
	}
	*dst = int(n)
	return nil
}

// setAddr takes an address of 4 or 16 bytes, in network order. IPv4 in IPv6 form
// becomes IPv4, as everywhere here.
func setAddr(dst *netip.Addr, v []byte) error {
	a, ok := netip.AddrFromSlice(v)
	if !ok {
		return fmt.Errorf("address of %d bytes: %w", len(v), unix.EBADMSG)
	}
	*dst = a.Unmap()
	return nil
}

func short(want int, v []byte) error {
	return fmt.Errorf("%d bytes, want %d: %w", len(v), want, unix.EBADMSG)
}

// putAttr appends an attribute, padded, to a body whose length is a multiple of 4.
func putAttr(b []byte, typ uint16, v []byte) []byte {
	b = binary.NativeEndian.AppendUint16(b, uint16(unix.SizeofNlAttr+len(v)))
	b = binary.NativeEndian.AppendUint16(b, typ)
	b = append(b, v...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

func putUint32(b []byte, typ uint16, v uint32) []byte {
	var word [4]byte
	binary.NativeEndian.PutUint32(word[:], v)
	return putAttr(b, typ, word[:])
}

// putPort appends a port, which rtnetlink has in network order.
func putPort(b []byte, typ, port uint16) []byte {
	return putAttr(b, typ, []byte{byte(port >> 8), byte(port)})
}

func putAddr(b []byte, typ uint16, a netip.Addr) []byte {
	if a.Is4() {
		v := a.As4()
		return putAttr(b, typ, v[:])
	}
	v := a.As16()
	return putAttr(b, typ, v[:])
}
