// SPDX-License-Identifier: MIT

package device

import (
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/xdpath/xdpath/examples/camera/gv"
)

func (c *control) readReg(body []byte) (gv.Status, []byte) {
	addresses, err := gv.ParseWords(body)
	if err != nil {
		return gv.InvalidHeader, nil
	}
	var values []byte
	for _, at := range addresses {
		if at%4 != 0 {
			return gv.BadAlignment, values
		}
		b := c.span(at, 4)
		if b == nil {
			return gv.InvalidAddress, values // those before it are told
		}
		values = append(values, b...)
	}
	return gv.OK, values
}

func (c *control) readMem(body []byte) (gv.Status, []byte) {
	s, err := gv.ParseSpan(body)
	switch {
	case err != nil:
		return gv.InvalidHeader, nil
	case s.Address%4 != 0 || s.Count%4 != 0:
		return gv.BadAlignment, nil
	case s.Count == 0 || s.Count > gv.MaxMemory:
		return gv.InvalidParameter, nil
	}
	b := c.span(s.Address, s.Count)
	if b == nil {
		return gv.InvalidAddress, nil
	}
	return gv.OK, gv.AppendMemory(nil, s.Address, b)
}

// writeReg writes registers one after the other, until one is refused.
func (c *control) writeReg(body []byte, from netip.AddrPort, now time.Time) (gv.Status, []byte) {
	writes, err := gv.ParseWrites(body)
	if err != nil {
		return gv.InvalidHeader, nil
	}
	for i, w := range writes {
		if status := c.write(w.Address, w.Value, from, now); status.IsError() {
			return status, gv.AppendIndex(nil, i)
		}
	}
	return gv.OK, gv.AppendIndex(nil, len(writes))
}

// writeMem writes as writeReg does: all that can be written is registers.
func (c *control) writeMem(body []byte, from netip.AddrPort, now time.Time) (gv.Status, []byte) {
	at, data, err := gv.ParseMemory(body)
	switch {
	case err != nil || len(data) == 0:
		return gv.InvalidHeader, nil
	case len(data)%4 != 0:
		return gv.BadAlignment, gv.AppendIndex(nil, 0)
	}
	for i := 0; i < len(data); i += 4 {
		if status := c.write(at+uint32(i), binary.BigEndian.Uint32(data[i:]), from, now); status.IsError() {
			return status, gv.AppendIndex(nil, i)
		}
	}
	return gv.OK, gv.AppendIndex(nil, len(data))
}

// write writes one register, if it is there, can be written, and from may.
func (c *control) write(at, v uint32, from netip.AddrPort, now time.Time) gv.Status {
	switch {
	case at%4 != 0:
		return gv.BadAlignment
	case c.span(at, 4) == nil:
		return gv.InvalidAddress
	case at == gv.RegCCP:
		return c.privilege(v, from, now)
	case from != c.owner || !c.owner.IsValid():
		return gv.AccessDenied
	case at >= gv.RegUserName && at < gv.DiscoveryLen:
		c.set(at, v)
		return gv.OK
	}
	set, ok := writable[at]
	if !ok {
		return gv.WriteProtect
	}
	return set(c, v)
}

// privilege gives and takes control. Whoever has it keeps it until it gives it up or
// is not heard of any more.
func (c *control) privilege(v uint32, from netip.AddrPort, now time.Time) gv.Status {
	switch {
	case c.owner.IsValid() && from != c.owner:
		return gv.AccessDenied
	case v&^(gv.CCPControl|gv.CCPExclusive) != 0:
		return gv.InvalidParameter
	case v == 0:
		c.release()
		return gv.OK
	}
	c.owner, c.heard = from, now
	c.set(gv.RegCCP, v)
	c.set(gv.RegControlPort, uint32(from.Port()))
	if ip := from.Addr().Unmap(); ip.Is4() {
		four := ip.As4()
		c.set(gv.RegControlIP, binary.BigEndian.Uint32(four[:]))
	}
	c.retarget()
	return gv.OK
}
