// SPDX-License-Identifier: MIT

package udp

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/xdpath/xdpath/internal/packet"
	"github.com/xdpath/xdpath/internal/route"
)

// Flow is a destination with all that a datagram to it needs: next hop, source
// address, MTU, headers. It follows the kernel's tables: each send checks with
// two atomic loads whether they have changed, and asks them anew if so.
//
// Any number of goroutines may send with a Flow. It needs no closing.
type Flow struct {
	conn *Conn
	dst  netip.AddrPort
	src  netip.Addr // invalid: the Conn's, or the route's

	queue uint32 // which queue a PacketConn sends it by: one flow keeps its order

	state atomic.Pointer[flowState]
	mu    sync.Mutex   // held while the tables are asked
	kept  route.Hop    // the next hop that the table keeps fresh for us; mu guards it
	slow  atomic.Int64 // when a datagram took the kernel lane that may still be on its way, after epoch
}

// flowState is what the tables said at one moment.
type flowState struct {
	routes, links uint64 // generations that it holds for
	kind          route.Kind
	err           error // nothing can be sent; the kernel's errno
	tmpl          packet.Template
	most          int // largest payload for the fast lane
	hop           route.Hop
}

// Dst is the destination.
func (f *Flow) Dst() netip.AddrPort { return f.dst }

// Flow returns a flow to dst. It exists even if dst cannot be reached now: sends
// tell, and it follows when that changes.
func (c *Conn) Flow(dst netip.AddrPort) *Flow {
	return &Flow{conn: c, dst: netip.AddrPortFrom(dst.Addr().Unmap(), dst.Port())}
}

// current returns the flow's state, asked anew if the tables have changed.
func (f *Flow) current() *flowState {
	if st := f.state.Load(); st != nil && f.conn.table != nil && st.routes == f.conn.table.Generation() && st.links == f.conn.links.Load() {
		return st
	}
	return f.resolve()
}

// resolve asks the kernel's tables.
func (f *Flow) resolve() *flowState {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.conn
	st := &flowState{links: c.links.Load(), kind: route.KernelOnly}
	if c.table == nil { // the kernel lane alone
		f.state.Store(st)
		return st
	}
	src := f.src
	if !src.IsValid() && !c.local.Addr().IsUnspecified() {
		src = c.local.Addr()
	}
	ans, err := c.table.Resolve(route.Query{Dst: f.dst.Addr(), Src: src, SrcPort: c.local.Port(), DstPort: f.dst.Port(), TOS: c.cfg.TOS})
	st.routes, st.kind, st.hop = ans.Gen, ans.Kind, ans.NextHop
	switch {
	case err != nil:
		st.err = err
	case ans.Kind == route.Broadcast && !c.cfg.Broadcast:
		st.err = errBroadcast
	case ans.Kind.Direct() && !ans.Src.IsValid():
		st.kind = route.KernelOnly
	case ans.Kind.Direct():
		st.err = f.prepare(st, ans)
	}
	if st.kind == route.Unresolved && st.err == nil {
		// The kernel asks for the neighbour. Without the right to make it do so
		// the first datagram by its lane does.
		_ = c.table.Solicit(st.hop)
	}
	f.keepFresh(st)
	f.state.Store(st)
	return st
}

// keepFresh has the table keep the next hop in use fresh, and no other. f.mu is
// held.
func (f *Flow) keepFresh(st *flowState) {
	var hop route.Hop
	if st.kind == route.Unicast && st.err == nil {
		hop = st.hop
	}
	if hop == f.kept {
		return
	}
	if f.kept != (route.Hop{}) {
		f.conn.table.Forget(f.kept)
	}
	f.kept = hop
	if hop != (route.Hop{}) {
		// Without the right to do so, traffic by the kernel lane does it.
		_ = f.conn.table.Keep(hop)
	}
}

// prepare makes the headers.
func (f *Flow) prepare(st *flowState, ans route.Answer) (err error) {
	c := f.conn
	cfg := packet.Config{
		SrcMAC: ans.SrcMAC, DstMAC: ans.MAC,
		Src:    netip.AddrPortFrom(ans.Src, c.local.Port()),
		Dst:    f.dst,
		Tagged: ans.VLAN != 0, TCI: ans.VLAN,
		TTL: c.ttl(ans), TOS: c.cfg.TOS, Checksum: c.checksum(),
	}
	st.tmpl, err = packet.NewTemplate(cfg)
	if c.offload && err == nil && (c.headerRoom-st.tmpl.Len())%8 == 0 {
		cfg.Checksum = packet.Offload
		st.tmpl, err = packet.NewTemplate(cfg)
	}
	if errors.Is(err, packet.ErrChecksumRequired) {
		return err
	}
	if err != nil { // headers that we cannot make, the kernel can
		st.kind = route.KernelOnly
		return nil
	}
	ip := 20
	if ans.Src.Is6() {
		ip = 40
	}
	// Of an MTU that has changed the link tells sooner than the routes, or later.
	st.most = min(min(ans.MTU, c.link.Load().MTU)-ip-8, st.tmpl.MaxPayload(), c.chainRoom())
	return nil
}

func (c *Conn) ttl(ans route.Answer) uint8 {
	if c.cfg.TTL == 0 && ans.Kind != route.Multicast {
		return ans.HopLimit
	}
	return c.cfg.TTL
}

// tos is what a datagram asks for, or the Conn's.
func (c *Conn) tos(of uint8) uint8 {
	if of == 0 {
		return c.cfg.TOS
	}
	return of
}

func (c *Conn) checksum() packet.Checksum {
	if c.cfg.TxChecksum == TxNone {
		return packet.Omit
	}
	return packet.Software
}

// MaxPayload is the largest payload in bytes that the fast lane takes to the
// flow's destination now. The kernel lane takes larger ones, in fragments.
// 0 if the flow has no fast lane.
func (f *Flow) MaxPayload() int {
	if st := f.current(); st.err == nil && st.kind.Direct() {
		return st.most
	}
	return 0
}

func (f *Flow) String() string {
	st := f.current()
	if st.err != nil {
		return fmt.Sprintf("flow to %v: %v", f.dst, st.err)
	}
	return fmt.Sprintf("flow to %v: %v via %v", f.dst, st.kind, st.hop.Addr)
}

// flowKey tells flows apart: by destination, and by source if it is not the Conn's.
type flowKey struct {
	dst netip.AddrPort
	src netip.Addr
}

// flows remembers flows, for senders that give addresses.
type flows struct {
	last atomic.Pointer[Flow] // most programs talk to one peer for a while
	mu   sync.RWMutex
	m    map[flowKey]*Flow
}

// to returns the flow to dst, the same one each time. src is invalid for the
// Conn's own address or the route's.
func (c *Conn) to(dst netip.AddrPort, src netip.Addr) *Flow {
	if f := c.known.last.Load(); f != nil && f.dst == dst && f.src == src {
		return f
	}
	k := &c.known
	key := flowKey{dst, src}
	k.mu.RLock()
	f := k.m[key]
	k.mu.RUnlock()
	if f == nil {
		f = c.remember(key)
	}
	k.last.Store(f)
	return f
}

func (c *Conn) remember(key flowKey) *Flow {
	k := &c.known
	k.mu.Lock()
	defer k.mu.Unlock()
	if f := k.m[key]; f != nil {
		return f
	}
	if k.m == nil {
		k.m = map[flowKey]*Flow{}
	}
	for old, f := range k.m { // any one makes room
		if len(k.m) < maxFlows {
			break
		}
		k.last.CompareAndSwap(f, nil)
		f.drop()
		delete(k.m, old)
	}
	f := c.Flow(key.dst)
	f.src, f.queue = key.src, uint32(len(k.m))
	k.m[key] = f
	return f
}

// drop lets the table forget the flow's next hop.
func (f *Flow) drop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state.Store(nil)
	if f.kept != (route.Hop{}) {
		f.conn.table.Forget(f.kept)
		f.kept = route.Hop{}
	}
}
