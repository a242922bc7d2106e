// SPDX-License-Identifier: MIT

package control

import (
	"encoding/binary"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/xdpath/xdpath/examples/camera/gv"
)

// stub is a camera of registers that need not exist. Its fields are set before it
// gets commands.
type stub struct {
	conn *net.UDPConn
	done chan struct{}

	deaf    int                                                  // commands that are not answered
	pending time.Duration                                        // the answer takes so long, and it says so
	refuse  map[uint32]gv.Status                                 // registers that cannot be written
	test    func(conn *net.UDPConn, to netip.AddrPort, size int) // sends a test packet; nil: it cannot

	mu      sync.Mutex // guards what follows
	regs    map[uint32]uint32
	resends []gv.Resend
	reads   map[uint32]int
}

// listen starts a stub at an address; listen runs f where the socket belongs.
func listen(t *testing.T, s *stub, at netip.AddrPort, in func(f func() error) error) *stub {
	t.Helper()
	err := in(func() (err error) {
		s.conn, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(at))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	s.regs, s.reads, s.done = map[uint32]uint32{gv.RegHeartbeat: 60, gv.RegGVCPCap: gv.GVCPCapResend}, map[uint32]int{}, make(chan struct{})
	go s.run()
	t.Cleanup(s.stop)
	return s
}

func here(f func() error) error { return f() }

// local starts a stub on this host.
func local(t *testing.T, s *stub) *stub {
	t.Helper()
	return listen(t, s, netip.MustParseAddrPort("127.0.0.1:0"), here)
}

func (s *stub) stop() {
	s.conn.Close()
	<-s.done
}

func (s *stub) addr() netip.AddrPort { return s.conn.LocalAddr().(*net.UDPAddr).AddrPort() }

func (s *stub) run() {
	defer close(s.done)
	b := make([]byte, 2048)
	for {
		n, from, err := s.conn.ReadFromUDPAddrPort(b)
		if err != nil {
			return
		}
		c, err := gv.ParseCommand(b[:n])
		if err != nil {
			continue
		}
		if c.Kind == gv.ResendReq {
			r, _ := gv.ParseResend(c)
			s.mu.Lock()
			s.resends = append(s.resends, r)
			s.mu.Unlock()
			continue
		}
		if s.deaf > 0 {
			s.deaf--
			continue
		}
		if s.pending > 0 {
			body := make([]byte, 4)
			binary.BigEndian.PutUint16(body[2:], uint16(s.pending.Milliseconds()))
			s.send(from, gv.Ack{Kind: gv.Pending.Ack(), ID: c.ID, Body: body})
			time.Sleep(s.pending) // that is what it says it does
		}
		s.send(from, gv.Ack{Status: gv.Failed, Kind: c.Kind.Ack(), ID: c.ID + 7}) // of some other command
		s.send(from, s.answer(c))
	}
}

func (s *stub) send(to netip.AddrPort, a gv.Ack) { s.conn.WriteToUDPAddrPort(gv.AppendAck(nil, a), to) }

func (s *stub) answer(c gv.Command) gv.Ack {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := gv.Ack{Kind: c.Kind.Ack(), ID: c.ID}
	switch c.Kind {
	case gv.Discovery:
		a.Body = make([]byte, gv.DiscoveryLen)
		gv.Identity{Manufacturer: "Acme", Model: "Stub", Serial: "1"}.Put(a.Body)
	case gv.ReadReg:
		words, _ := gv.ParseWords(c.Body)
		for _, w := range words {
			s.reads[w]++
			a.Body = gv.AppendWords(a.Body, s.regs[w])
		}
	case gv.WriteReg:
		writes, _ := gv.ParseWrites(c.Body)
		for _, w := range writes {
			if a.Status = s.refuse[w.Address]; a.Status != gv.OK {
				break
			}
			s.write(w)
		}
		a.Body = gv.AppendIndex(nil, len(writes))
	}
	return a
}

func (s *stub) write(w gv.Write) {
	s.regs[w.Address] = w.Value
	if w.Address != gv.RegSCPS || w.Value&gv.SCPSFireTest == 0 || s.test == nil {
		return
	}
	var ip [4]byte
	binary.BigEndian.PutUint32(ip[:], s.regs[gv.RegSCDA])
	to := netip.AddrPortFrom(netip.AddrFrom4(ip), uint16(s.regs[gv.RegSCP]))
	s.test(s.conn, to, gv.TestPacketLen(int(w.Value&gv.SCPSSize)))
}

func (s *stub) set(address, value uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.regs[address] = value
}

func (s *stub) get(address uint32) uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.regs[address]
}
