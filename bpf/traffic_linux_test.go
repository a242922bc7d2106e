// SPDX-License-Identifier: MIT

package bpf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/bpf/internal/model"
	"github.com/xdpath/xdpath/internal/testnet"
)

// patience bounds each wait for something that happens at once.
const patience = 5 * time.Second

// bindSocket makes an AF_XDP socket bound to a queue of the end, with an empty fill
// ring: the kernel takes what it is handed and drops it, which is all these tests
// need. Call it inside the end's namespace.
func bindSocket(end *testnet.End, queue int) (fd int, closeAll func(), err error) {
	fd, err = unix.Socket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, nil, err
	}
	area, err := unix.Mmap(-1, 0, 64*unix.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return -1, nil, errors.Join(err, unix.Close(fd))
	}
	closeAll = func() { _ = errors.Join(unix.Close(fd), unix.Munmap(area)) }
	umem, err := binary.Append(nil, binary.NativeEndian, unix.XDPUmemReg{
		Addr: uint64(reflect.ValueOf(area).Pointer()), Len: uint64(len(area)), Size: 2048,
	})
	if err == nil {
		err = unix.SetsockoptString(fd, unix.SOL_XDP, unix.XDP_UMEM_REG, string(umem))
	}
	for _, ring := range []int{unix.XDP_UMEM_FILL_RING, unix.XDP_UMEM_COMPLETION_RING, unix.XDP_RX_RING} {
		err = errors.Join(err, unix.SetsockoptInt(fd, unix.SOL_XDP, ring, 64))
	}
	if err == nil {
		err = bindPatiently(fd, &unix.SockaddrXDP{Flags: unix.XDP_COPY, Ifindex: uint32(end.Index), QueueID: uint32(queue)})
	}
	if err != nil {
		closeAll()
		return -1, nil, fmt.Errorf("socket on queue %d: %w", queue, err)
	}
	return fd, closeAll, nil
}

// bindPatiently: a queue stays busy for a moment after its last owner closed.
func bindPatiently(fd int, addr *unix.SockaddrXDP) error {
	deadline := time.Now().Add(patience)
	for {
		err := unix.Bind(fd, addr)
		if !errors.Is(err, unix.EBUSY) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// boundSocket is bindSocket for the length of the test.
func boundSocket(t *testing.T, end *testnet.End, queue int) int {
	t.Helper()
	fd, closeAll, err := bindSocket(end, queue)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closeAll)
	return fd
}

// receiver is a kernel UDP socket that counts what it gets.
type receiver struct {
	*net.UDPConn
	got  atomic.Int64
	done chan struct{}
}

func listen(t *testing.T, end *testnet.End, addr netip.AddrPort) *receiver {
	t.Helper()
	r := &receiver{done: make(chan struct{})}
	err := end.NS.Do(func() (err error) {
		r.UDPConn, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(addr))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	r.run(t)
	return r
}

// run counts until the test ends.
func (r *receiver) run(t *testing.T) {
	t.Helper()
	if err := r.SetReadBuffer(4 << 20); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(r.done)
		buf := make([]byte, 2048)
		for {
			if _, _, err := r.ReadFromUDPAddrPort(buf); err != nil {
				return
			}
			r.got.Add(1)
		}
	}()
	t.Cleanup(func() {
		_ = r.Close()
		<-r.done
	})
}

// dial makes a connected UDP socket inside the end's namespace.
func dial(t *testing.T, end *testnet.End, to netip.AddrPort) *net.UDPConn {
	t.Helper()
	var c *net.UDPConn
	err := end.NS.Do(func() (err error) {
		c, err = net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(to))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func send(t *testing.T, c *net.UDPConn, n int) {
	t.Helper()
	for range n {
		if _, err := c.Write([]byte("ping")); err != nil {
			t.Fatal(err)
		}
	}
}

// eventually waits until the condition holds.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, patience)
		}
		time.Sleep(time.Millisecond)
	}
}

func counters(t *testing.T, p *Program) Counters {
	t.Helper()
	c, err := p.Counters()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// attachTo attaches to end B of a new pair, with sockets on the first n queues.
func attachTo(t *testing.T, cfg Config, net testnet.Config, sockets int) (*testnet.Pair, *Program) {
	t.Helper()
	testnet.Leaks(t)
	pair := testnet.TestPair(t, net)
	var p *Program
	err := pair.B.NS.Do(func() (err error) {
		cfg.Interface = pair.B.Name
		if p, err = Attach(cfg); err != nil {
			return err
		}
		t.Cleanup(func() { _ = p.Close() })
		for q := range sockets {
			if err := p.SetQueue(q, boundSocket(t, &pair.B, q)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return pair, p
}

// Filters come and go while traffic runs: each datagram reaches the kernel socket
// or is redirected, none both, none lost.
func TestLiveFilter(t *testing.T) {
	for _, mode := range []Mode{Native, Generic} {
		t.Run(mode.String(), func(t *testing.T) {
			pair, p := attachTo(t, Config{Mode: mode}, testnet.Config{}, 1)
			to := netip.AddrPortFrom(pair.B.IP4, 5000)
			kernel := listen(t, &pair.B, to)
			c := dial(t, &pair.A, to)
			sent := 0
			step := func(change func(Filter) error, n int) {
				t.Helper()
				if err := change(Filter{Addr: to}); err != nil {
					t.Fatal(err)
				}
				send(t, c, n)
				sent += n
			}
			step(p.Deny, 10)
			eventually(t, "kernel gets all without a filter", func() bool { return kernel.got.Load() == 10 })
			step(p.Allow, 10)
			eventually(t, "the socket gets all with a filter", func() bool { return counters(t, p).Redirected == 10 })
			for range 200 {
				step(p.Deny, 5)
				step(p.Allow, 5)
			}
			eventually(t, "all accounted for", func() bool {
				return int(counters(t, p).Redirected)+int(kernel.got.Load()) == sent
			})
			if got := kernel.got.Load(); got <= 10 || got >= int64(sent) {
				t.Errorf("the kernel got %d of %d", got, sent)
			}
		})
	}
}

// Case 70: what comes in on a queue without a socket goes to the kernel.
func TestQueueWithoutSocket(t *testing.T) {
	pair, p := attachTo(t, Config{}, testnet.Config{Queues: 2}, 1)
	to := netip.AddrPortFrom(pair.B.IP4, 5000)
	kernel := listen(t, &pair.B, to)
	if err := p.Allow(Filter{Addr: to}); err != nil {
		t.Fatal(err)
	}
	const flows, each = 64, 4
	for range flows {
		send(t, dial(t, &pair.A, to), each)
	}
	eventually(t, "all accounted for", func() bool {
		c := counters(t, p)
		return c.NoSocket == uint64(kernel.got.Load()) && c.Redirected+c.NoSocket == flows*each
	})
	if c := counters(t, p); c.NoSocket == 0 || c.Redirected == 0 {
		t.Errorf("one queue only was used: %+v", c)
	}
	before := counters(t, p).Redirected
	if err := p.ClearQueue(0); err != nil {
		t.Fatal(err)
	}
	kernel.got.Store(0)
	for range flows {
		send(t, dial(t, &pair.A, to), each)
	}
	eventually(t, "the kernel gets all again", func() bool { return kernel.got.Load() == flows*each })
	if c := counters(t, p); c.Redirected != before {
		t.Errorf("redirected after ClearQueue: %+v", c)
	}
}

// Case 69: with the endpoint open, everything else works: ARP from scratch, TCP,
// other UDP ports, ICMP, IPv6 with its neighbour discovery.
func TestKernelTrafficUnharmed(t *testing.T) {
	pair, p := attachTo(t, Config{}, testnet.Config{IPv6: true}, 1)
	for _, ip := range []netip.Addr{pair.B.IP4, pair.B.IP6} {
		if err := p.Allow(Filter{Addr: netip.AddrPortFrom(ip, 5000)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(pair.A.FlushNeigh(), pair.B.FlushNeigh()); err != nil {
		t.Fatal(err)
	}
	for _, ip := range []netip.Addr{pair.B.IP4, pair.B.IP6} {
		other := netip.AddrPortFrom(ip, 5001)
		kernel := listen(t, &pair.B, other)
		send(t, dial(t, &pair.A, other), 10)
		eventually(t, "UDP to another port", func() bool { return kernel.got.Load() == 10 })
		if err := tcpEcho(pair, netip.AddrPortFrom(ip, 5000)); err != nil {
			t.Error(err)
		}
		if err := unreachable(dial(t, &pair.A, netip.AddrPortFrom(ip, 5002))); err != nil {
			t.Error(err)
		}
		send(t, dial(t, &pair.A, netip.AddrPortFrom(ip, 5000)), 10)
	}
	eventually(t, "own port redirected", func() bool { return counters(t, p).Redirected == 20 })
	c := counters(t, p)
	if c.NoFilter == 0 || c.NotUDP == 0 || c.Malformed != 0 || c.OtherMAC != 0 {
		t.Errorf("counters %+v", c)
	}
}

// tcpEcho talks TCP on the endpoint's own port number, which is UDP's alone.
func tcpEcho(pair *testnet.Pair, to netip.AddrPort) error {
	var l net.Listener
	err := pair.B.NS.Do(func() (err error) {
		l, err = net.Listen("tcp", to.String())
		return err
	})
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }()
	var c net.Conn
	err = pair.A.NS.Do(func() (err error) {
		c, err = (&net.Dialer{Timeout: patience}).Dial("tcp", to.String())
		return err
	})
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	s, err := l.Accept()
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	_ = c.SetDeadline(time.Now().Add(patience))
	if _, err := s.Write([]byte("hello")); err != nil {
		return err
	}
	_, err = c.Read(make([]byte, 5))
	return err
}

// unreachable sends to a port nobody has, and waits for the ICMP error.
func unreachable(c *net.UDPConn) error {
	_ = c.SetReadDeadline(time.Now().Add(patience))
	for {
		if _, err := c.Write([]byte("anybody?")); errors.Is(err, unix.ECONNREFUSED) {
			return nil
		}
		_, err := c.Read(make([]byte, 8))
		if errors.Is(err, unix.ECONNREFUSED) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("no ICMP error: %w", err)
		}
	}
}

// What the program takes, the kernel's own socket would have taken: each case that
// the model gives to the socket is delivered by a kernel without the program.
func TestKernelTakesTheSame(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{IPv6: true})
	mine, raw := mineOn(t, pair)
	var list []Filter
	kernels := map[netip.Addr]*receiver{}
	for _, ip := range []netip.Addr{pair.B.IP4, pair.B.IP6} {
		at := netip.AddrPortFrom(ip, mine.Port)
		list = append(list, Filter{Addr: at})
		kernels[ip] = listen(t, &pair.B, at)
	}
	m := modelOf(list, 0)
	m.MAC = mine.MAC
	taken := 0
	for _, c := range mine.Cases() {
		frame := c.Frame.Bytes()
		if m.Decide(frame, 0) != model.Redirected {
			continue
		}
		taken++
		dst := pair.B.IP4
		if c.Frame.IP6 != nil {
			dst = pair.B.IP6
		}
		before := kernels[dst].got.Load()
		if err := raw.Send(frame); err != nil {
			t.Fatal(err)
		}
		deadline := time.Now().Add(time.Second)
		for kernels[dst].got.Load() == before {
			if time.Now().After(deadline) {
				t.Errorf("%s: the kernel does not take it", c.Name)
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
	if taken < 15 {
		t.Errorf("only %d cases are taken", taken)
	}
}

// Case 102: close under load, program first, then socket. A kernel socket on the
// same port loses nothing that was not redirected.
func TestCloseUnderLoad(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{})
	to := netip.AddrPortFrom(pair.B.IP4, 5000)
	kernel := listen(t, &pair.B, to)
	stop := sendUntil(t, dial(t, &pair.A, to))
	var redirected uint64
	for round := range 30 {
		err := pair.B.NS.Do(func() error {
			n, err := takeAndClose(t, &pair.B, to, Mode(round%3))
			redirected += n
			return err
		})
		if err != nil {
			stop()
			t.Fatal(err)
		}
	}
	sent := stop()
	eventually(t, "all accounted for", func() bool { return kernel.got.Load()+int64(redirected) == sent })
	t.Logf("sent %d, redirected %d", sent, redirected)
}

// sendUntil sends until stop is called, which gives the number sent.
func sendUntil(t *testing.T, c *net.UDPConn) (stop func() int64) {
	quit, done := make(chan struct{}), make(chan int64, 1)
	go func() {
		var n int64
		for {
			select {
			case <-quit:
				done <- n
				return
			default:
			}
			if _, err := c.Write([]byte("load")); err == nil {
				n++
			}
			if n%32 == 0 {
				time.Sleep(time.Millisecond) // leaves the receiver its time
			}
		}
	}()
	var once sync.Once
	var n int64
	stop = func() int64 {
		once.Do(func() { close(quit); n = <-done })
		return n
	}
	t.Cleanup(func() { stop() })
	return stop
}

// takeAndClose opens the endpoint, waits for traffic and closes it, and gives the
// number of datagrams it took.
func takeAndClose(t *testing.T, end *testnet.End, to netip.AddrPort, mode Mode) (uint64, error) {
	p, err := Attach(Config{Interface: end.Name, Mode: mode})
	if err != nil {
		return 0, err
	}
	defer func() { _ = p.Close() }()
	fd, closeSocket, err := bindSocket(end, 0)
	if err != nil {
		return 0, err
	}
	defer closeSocket()
	if err := errors.Join(p.SetQueue(0, fd), p.Allow(Filter{Addr: to})); err != nil {
		return 0, err
	}
	eventually(t, "traffic", func() bool { return counters(t, p).Redirected > 50 })
	// As Close does, with a look at the counters between its two steps.
	if err := p.tie.close(); err != nil {
		return 0, err
	}
	p.tie = unattached{}
	c, err := p.Counters()
	if err != nil {
		return 0, err
	}
	return c.Redirected, nothingOn(end)
}
