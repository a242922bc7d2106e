// SPDX-License-Identifier: MIT

package udp

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"reflect"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/xsk"
)

// socket is what a program that knows net.UDPConn may call.
type socket interface {
	net.PacketConn
	Read(b []byte) (int, error)
	Write(b []byte) (int, error)
	RemoteAddr() net.Addr
	ReadFromUDP(b []byte) (int, *net.UDPAddr, error)
	ReadFromUDPAddrPort(b []byte) (int, netip.AddrPort, error)
	ReadMsgUDP(b, oob []byte) (n, oobn, flags int, src *net.UDPAddr, err error)
	ReadMsgUDPAddrPort(b, oob []byte) (n, oobn, flags int, src netip.AddrPort, err error)
	WriteToUDP(b []byte, dst *net.UDPAddr) (int, error)
	WriteToUDPAddrPort(b []byte, dst netip.AddrPort) (int, error)
	WriteMsgUDP(b, oob []byte, dst *net.UDPAddr) (n, oobn int, err error)
	WriteMsgUDPAddrPort(b, oob []byte, dst netip.AddrPort) (n, oobn int, err error)
	SetReadBuffer(bytes int) error
	SetWriteBuffer(bytes int) error
}

// row is one behaviour. It runs once against a net.UDPConn and once against a
// PacketConn, both on end B of a pair; run says what happened, in words in which
// names stand for addresses.
type row struct {
	name  string
	net   testnet.Config // rows with the same share a pair, one after the other
	alone bool           // the row changes its pair
	run   func(r *rig) string
	want  string // what both do

	// A difference: what ours does, and the reason. Without a fast lane ours does
	// as a net.UDPConn, unless that is what design wants everywhere.
	ours, why  string
	everywhere bool

	// Ways that some datagram must have taken with ours, or the row would compare
	// less than it says.
	ways ways
}

type ways int

const (
	fastRx ways = 1 << iota
	kernelRx
	fastTx
	kernelTx

	fast = fastRx | fastTx
)

// rows is the table.
func rows() []row {
	return slices.Concat(
		readRows(), sizeRows(), addressRows(), ip6Rows(), writeRows(), routeRows(),
		deadlineRows(), closeRows(), connectedRows(), openRows(), groupRows(), wireRows(), frameRows())
}

func TestParity(t *testing.T) {
	testnet.Require(t)
	all := rows()
	if len(all) < 60 {
		t.Fatalf("%d rows, want at least 60", len(all))
	}
	// Opening and closing are mostly waiting for the kernel, so some rows run at
	// once, each worker on pairs of its own.
	next := make(chan int)
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			w := worker{pairs: map[testnet.Config]*testnet.Pair{}}
			defer w.close(t)
			for i := range next {
				t.Run(all[i].name, func(t *testing.T) { w.run(t, &all[i], i) })
			}
		})
	}
	differ := 0
	for i := range all {
		next <- i
		if all[i].ours != "" {
			differ++
		}
	}
	close(next)
	workers.Wait()
	t.Logf("%d behaviours, %d of them differ for a reason", len(all), differ)
}

// worker runs rows one after the other, on the pairs that it has.
type worker struct {
	pairs map[testnet.Config]*testnet.Pair
}

func (w *worker) run(t *testing.T, row *row, number int) {
	if !row.alone && w.pairs[row.net] == nil {
		pair, err := testnet.NewPair(row.net)
		if err != nil {
			t.Fatal(err)
		}
		w.pairs[row.net] = pair
	}
	row.check(t, w.pairs[row.net], number)
}

func (w *worker) close(t *testing.T) {
	for _, pair := range w.pairs {
		if err := pair.Close(); err != nil {
			t.Error(err)
		}
	}
}

// check runs the row both ways, on the pair or, alone, on new ones.
func (row *row) check(t *testing.T, pair *testnet.Pair, number int) {
	if (row.ours == "") != (row.why == "") || row.ours == row.want {
		t.Fatal("a difference needs a reason, and the other way round")
	}
	for _, k := range []kind{kernelSocket, xdpathSocket, fallbackSocket} {
		t.Run(k.String(), func(t *testing.T) {
			if row.alone {
				pair = testnet.TestPair(t, row.net)
			}
			r := &rig{
				T: t, pair: pair, kind: k, port: uint16(5000 + number), peerPort: uint16(20000 + 10*number),
				buf: make([]byte, 1<<16), cfg: Config{RingSize: 256},
			}
			got := row.run(r)
			want := row.want
			if row.ours != "" && (k == xdpathSocket || k == fallbackSocket && row.everywhere) {
				want = row.ours
			}
			if got != want {
				t.Errorf("\ngot  %s\nwant %s", got, want)
			}
			if k == xdpathSocket {
				r.checkWays(row.ways)
			}
		})
	}
}

// kind is what a row runs against.
type kind int

const (
	kernelSocket kind = iota
	xdpathSocket
	fallbackSocket // ours where AF_XDP cannot be had
)

func (k kind) String() string { return [...]string{"net", "xdpath", "fallback"}[k] }

// rig is what a row has to work with: sockets of the kind under test on end B of
// the pair, kernel sockets as their peers on end A. All are closed after it.
type rig struct {
	*testing.T
	pair     *testnet.Pair
	kind     kind
	port     uint16 // of the socket under test; rows have ports of their own
	peerPort uint16 // of the peer; the next few are free too
	conns    []*Conn
	cfg      Config // what ours is opened with beside its addresses
	buf      []byte // what the row reads into
}

// checkWays looks at what ours counted.
func (r *rig) checkWays(want ways) {
	var have ways
	for _, c := range r.conns {
		n := &c.stats
		for way, count := range map[ways]uint64{
			fastRx: n.fastRx.Load(), kernelRx: n.kernelRx.Load(), fastTx: n.fastTx.Load(), kernelTx: n.kernelTx.Load(),
		} {
			if count > 0 {
				have |= way
			}
		}
	}
	if missing := want &^ have; missing != 0 {
		r.Errorf("no datagram took the ways %04b (fast receive 1, kernel receive 2, fast send 4, kernel send 8), only %04b", missing, have)
	}
}

// us and them are the addresses of the socket under test and of its peer.
func (r *rig) us() netip.AddrPort   { return netip.AddrPortFrom(r.pair.B.IP4, r.port) }
func (r *rig) them() netip.AddrPort { return netip.AddrPortFrom(r.pair.A.IP4, r.peerPort) }
func (r *rig) us6() netip.AddrPort  { return netip.AddrPortFrom(r.pair.B.IP6, r.port) }
func (r *rig) them6() netip.AddrPort {
	return netip.AddrPortFrom(r.pair.A.IP6, r.peerPort)
}

// listen opens a socket of the kind under test.
func (r *rig) listen(local netip.AddrPort) socket {
	r.Helper()
	return r.dial(local, netip.AddrPort{})
}

// dial opens a connected one. The kernel may take its time to give up the queue
// of the row before, longer than Listen waits on a machine that is busy.
func (r *rig) dial(local, remote netip.AddrPort) socket {
	r.Helper()
	s, err := r.open(local, remote)
	for giveUp := deadline(); errors.Is(err, syscall.EBUSY) && time.Now().Before(giveUp); {
		s, err = r.open(local, remote)
	}
	if err != nil {
		r.Fatal(err)
	}
	return s
}

func (r *rig) open(local, remote netip.AddrPort) (socket, error) {
	r.Helper()
	if r.kind == kernelSocket {
		c, err := openKernel(r.pair.B.NS, local, remote)
		if err != nil {
			return nil, err
		}
		r.Cleanup(func() { c.Close() })
		return c, nil
	}
	cfg := r.cfg
	cfg.Interface, cfg.Local, cfg.Remote = r.pair.B.Name, local, remote
	if r.kind == fallbackSocket {
		cfg.Fallback, cfg.Mode = FallbackAllow, xsk.ZeroCopy // which a veth has not
	}
	c, err := tryIn(r.pair.B.NS, cfg)
	if err != nil {
		return nil, err
	}
	r.conns = append(r.conns, c)
	p := c.PacketConn()
	r.Cleanup(func() {
		p.Close()
		for _, q := range c.queues {
			if s := q.sock.Area().Snapshot(); s.Free != s.Total {
				r.Errorf("chunks after close: %v", s)
			}
		}
	})
	return p, nil
}

// openKernel opens a net.UDPConn in a namespace.
func openKernel(ns *testnet.NS, local, remote netip.AddrPort) (c *net.UDPConn, err error) {
	err = ns.Do(func() (err error) {
		if remote.IsValid() {
			c, err = net.DialUDP("udp", udpAddr(local), net.UDPAddrFromAddrPort(remote))
		} else {
			c, err = net.ListenUDP("udp", udpAddr(local))
		}
		return err
	})
	return c, err
}

// udpAddr has no IP if a has none.
func udpAddr(a netip.AddrPort) *net.UDPAddr {
	if !a.Addr().IsValid() {
		return &net.UDPAddr{Port: int(a.Port())}
	}
	return net.UDPAddrFromAddrPort(a)
}

// peerAt opens a kernel socket on the other end.
func (r *rig) peerAt(local netip.AddrPort) *net.UDPConn {
	r.Helper()
	c := kernelIn(r, r.pair.A.NS, local)
	c.SetReadBuffer(4 << 20)
	return c
}

func (r *rig) peer() *net.UDPConn { return r.peerAt(r.them()) }

// both opens the socket under test and its peer.
func (r *rig) both() (socket, *net.UDPConn) { return r.listen(r.us()), r.peer() }

// connected opens the socket under test, connected to its peer.
func (r *rig) connected() (socket, *net.UDPConn) { return r.dial(r.us(), r.them()), r.peer() }

// patience bounds what should take no time.
const patience = 5 * time.Second

// send sends by a peer.
func (r *rig) send(from *net.UDPConn, to netip.AddrPort, payload string) {
	r.Helper()
	if _, err := from.WriteToUDPAddrPort([]byte(payload), to); err != nil {
		r.Fatal(err)
	}
}

// get says what the next datagram is.
func (r *rig) get(s socket) string {
	r.Helper()
	s.SetReadDeadline(time.Now().Add(patience))
	defer s.SetReadDeadline(time.Time{})
	b := make([]byte, 1<<16)
	n, src, err := s.ReadFromUDPAddrPort(b)
	return r.datagram(b[:n], unmapped(src), err)
}

// warm has a datagram go each way, so that the neighbours know each other and the
// next one takes the fast lane.
func (r *rig) warm(s socket, peer *net.UDPConn) {
	r.Helper()
	to := unmapped(peer.LocalAddr().(*net.UDPAddr).AddrPort())
	if err := write(s, to, "warm"); err != nil {
		r.Fatal(err)
	}
	if got := r.get(peer); got != `"warm" from us` {
		r.Fatal(got)
	}
	r.direct(s, to)
}

// write sends by the socket under test, connected or not.
func write(s socket, to netip.AddrPort, payload string) (err error) {
	if s.RemoteAddr() != nil {
		_, err = s.Write([]byte(payload))
	} else {
		_, err = s.WriteToUDPAddrPort([]byte(payload), to)
	}
	return err
}

// The methods of net.UDPConn that a PacketConn has not.
func TestPacketConnMethods(t *testing.T) {
	var missing []string
	ours := reflect.TypeFor[*PacketConn]()
	for m := range reflect.TypeFor[*net.UDPConn]().Methods() {
		have, ok := ours.MethodByName(m.Name)
		if !ok {
			missing = append(missing, m.Name)
		} else if a, b := signature(have), signature(m); a != b {
			t.Errorf("%s: %s, want %s", m.Name, a, b)
		}
	}
	// Both would give programs a descriptor whose options do not reach the fast lane.
	if want := []string{"File", "SyscallConn"}; !slices.Equal(missing, want) {
		t.Errorf("missing %v, want %v", missing, want)
	}
}

// signature is the type of a method without its receiver.
func signature(m reflect.Method) string {
	var in, out []reflect.Type
	for i := 1; i < m.Type.NumIn(); i++ {
		in = append(in, m.Type.In(i))
	}
	for i := range m.Type.NumOut() {
		out = append(out, m.Type.Out(i))
	}
	return reflect.FuncOf(in, out, m.Type.IsVariadic()).String()
}

// A context that has ended opens nothing.
func TestListenContext(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := pair.B.NS.Do(func() error {
		c, err := Listen(ctx, Config{Interface: pair.B.Name})
		if err == nil {
			c.Close()
		}
		return err
	})
	if err == nil || ctx.Err() == nil {
		t.Fatalf("error %v", err)
	}
}
