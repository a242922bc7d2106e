// SPDX-License-Identifier: MIT

package udp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

var (
	longAgo  = time.Unix(1, 0)
	faraway  = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	never    = time.Time{}
	ancient  = time.Date(-5000, 1, 1, 0, 0, 0, 0, time.UTC)
	distance = 30 * time.Millisecond // of a deadline that a row waits for
)

// deadlineRows: what deadlines end, and what they leave alone.
func deadlineRows() []row {
	const timeout = "read udp us>- deadline timeout"
	return []row{
		{name: "deadline in the past, data waiting", ways: fastRx, want: timeout + `, "data" from them`, run: func(r *rig) string {
			s, peer := r.both()
			r.send(peer, r.us(), "first")
			r.send(peer, r.us(), "data")
			r.get(s) // the second one is here too
			s.SetReadDeadline(longAgo)
			n, src, err := s.ReadFromUDPAddrPort(r.buf)
			return r.datagram(r.buf[:n], src, err) + ", " + r.get(s)
		}},
		{name: "deadline passes", want: timeout + " not early, not late", run: func(r *rig) string {
			s, start := r.listen(r.us()), time.Now()
			s.SetReadDeadline(start.Add(distance))
			_, _, err := s.ReadFrom(r.buf)
			return r.told(err) + r.span(time.Since(start), distance)
		}},
		{name: "deadline is over, then data", want: timeout + ", " + timeout + `, "late" from them`, run: func(r *rig) string {
			s, peer := r.both()
			s.SetReadDeadline(time.Now().Add(time.Millisecond))
			_, _, err := s.ReadFrom(r.buf)
			r.send(peer, r.us(), "late")
			_, _, err2 := s.ReadFrom(r.buf)
			return r.told(err) + ", " + r.told(err2) + ", " + r.get(s)
		}},
		{name: "deadline set to the past while blocked", want: timeout, run: func(r *rig) string {
			s := r.listen(r.us())
			return r.blocked(s, func() { s.SetReadDeadline(longAgo) })
		}},
		{name: "deadline set to now while blocked", want: timeout, run: func(r *rig) string {
			s := r.listen(r.us())
			return r.blocked(s, func() { s.SetReadDeadline(time.Now()) })
		}},
		{name: "deadline moved nearer while blocked", want: timeout, run: func(r *rig) string {
			s := r.listen(r.us())
			s.SetReadDeadline(time.Now().Add(time.Hour))
			return r.blocked(s, func() { s.SetReadDeadline(time.Now().Add(time.Millisecond)) })
		}},
		{name: "deadline moved away while blocked", want: `"in time" from them`, run: func(r *rig) string {
			return r.moved(time.Now().Add(time.Hour))
		}},
		{name: "deadline cleared while blocked", want: `"in time" from them`, run: func(r *rig) string {
			return r.moved(never)
		}},
		{name: "deadline cleared after it was over", want: timeout + `, "data" from them`, run: func(r *rig) string {
			s, peer := r.both()
			s.SetReadDeadline(longAgo)
			_, err := s.Read(r.buf)
			s.SetReadDeadline(never)
			r.send(peer, r.us(), "data")
			return r.told(err) + ", " + r.get(s)
		}},
		{name: "deadline at the ends of time", want: timeout + `, "data" from them`, run: func(r *rig) string {
			s, peer := r.both()
			s.SetReadDeadline(ancient)
			_, err := s.Read(r.buf)
			s.SetReadDeadline(faraway)
			r.send(peer, r.us(), "data")
			n, src, err2 := s.ReadFromUDPAddrPort(r.buf)
			return r.told(err) + ", " + r.datagram(r.buf[:n], src, err2)
		}},
		{name: "deadline of many readers", want: "8: " + timeout, run: func(r *rig) string {
			s := r.listen(r.us())
			s.SetReadDeadline(time.Now().Add(distance))
			return r.all(8, func() error { _, err := s.Read(make([]byte, 10)); return err })
		}},
		{name: "Read into nothing heeds no deadline", want: "0", run: func(r *rig) string {
			s := r.listen(r.us())
			s.SetReadDeadline(longAgo)
			return r.result(s.Read(nil))
		}},
		{name: "deadline by a context", want: timeout, run: func(r *rig) string {
			s := r.listen(r.us())
			ctx, cancel := context.WithCancel(context.Background())
			defer context.AfterFunc(ctx, func() { s.SetReadDeadline(longAgo) })()
			return r.blocked(s, cancel)
		}},
		{name: "what a timeout is", want: "read udp 10.9.0.2:1: i/o timeout; net.Error true, Timeout true, Temporary true, os true, context false, closed false", run: func(r *rig) string {
			s := r.listen(netip.AddrPortFrom(r.pair.B.IP4, 1))
			s.SetReadDeadline(longAgo)
			_, err := s.Read(r.buf)
			var ne net.Error
			ok := errors.As(err, &ne)
			return fmt.Sprintf("%v; net.Error %t, Timeout %t, Temporary %t, os %t, context %t, closed %t", err,
				ok, ne.Timeout(), ne.(interface{ Temporary() bool }).Temporary(), errors.Is(err, os.ErrDeadlineExceeded) && os.IsTimeout(err),
				errors.Is(err, context.DeadlineExceeded), errors.Is(err, net.ErrClosed))
		}},
		{name: "write deadline in the past", want: "write udp us>them deadline timeout, write udp us>them deadline timeout, ok", run: func(r *rig) string {
			s := r.listen(r.us())
			s.SetWriteDeadline(longAgo)
			one := write(s, r.them(), "one")
			_, _, two := s.WriteMsgUDPAddrPort(nil, nil, r.them())
			s.SetWriteDeadline(never)
			return r.told(one) + ", " + r.told(two) + ", " + r.told(write(s, r.them(), "three"))
		}},
		{name: "write deadline of a connected socket", want: "write udp us>them deadline timeout, ok", run: func(r *rig) string {
			s, _ := r.connected()
			s.SetWriteDeadline(longAgo)
			_, err := s.Write([]byte("one"))
			s.SetWriteDeadline(never)
			return r.told(err) + ", " + r.told(write(s, r.them(), "two"))
		}},
		{name: "write blocked, deadline passes", ways: kernelTx, want: "write udp us>10.9.0.77:9 deadline timeout, blocked true", run: func(r *rig) string {
			return r.full(func(s socket) { s.SetWriteDeadline(time.Now().Add(distance)) })
		}},
		{name: "write blocked, deadline set to the past", ways: kernelTx, want: "write udp us>10.9.0.77:9 deadline timeout, blocked true", run: func(r *rig) string {
			return r.full(func(s socket) { time.Sleep(distance); s.SetWriteDeadline(longAgo) })
		}},
		{name: "write blocked, Close", ways: kernelTx, want: "write udp us>10.9.0.77:9 closed, blocked true", run: func(r *rig) string {
			return r.full(func(s socket) { time.Sleep(distance); s.Close() })
		}},
		{name: "a write deadline is not a read's", want: `"data" from them`, run: func(r *rig) string {
			s, peer := r.both()
			s.SetWriteDeadline(longAgo)
			r.send(peer, r.us(), "data")
			return r.get(s)
		}},
		{name: "a read deadline is not a write's", want: "ok", run: func(r *rig) string {
			s := r.listen(r.us())
			s.SetReadDeadline(longAgo)
			return r.told(write(s, r.them(), "hello"))
		}},
		{name: "SetDeadline is both", want: timeout + ", write udp us>them deadline timeout", run: func(r *rig) string {
			s := r.listen(r.us())
			s.SetDeadline(longAgo)
			_, err := s.Read(r.buf)
			return r.told(err) + ", " + r.told(write(s, r.them(), "hello"))
		}},
		{name: "bad arguments come before the deadline", want: "write udp us>- missing address, write udp us>them address: non-IPv4 address, write udp us>A:0 deadline timeout", run: func(r *rig) string {
			s := r.listen(r.us())
			s.SetDeadline(longAgo)
			_, one := s.WriteToUDP(nil, nil)
			two := write(s, netip.AddrPortFrom(netip.MustParseAddr("fd09::1"), r.peerPort), "hello")
			return r.told(one) + ", " + r.six(r.told(two)) + ", " + r.told(write(s, netip.AddrPortFrom(r.pair.A.IP4, 0), "hello"))
		}},
	}
}

// six takes the address out of an error that names the peer's IPv6 one, which this
// pair has not.
func (r *rig) six(told string) string {
	if told == "write udp us>fd09::1:them+0 address: non-IPv4 address" {
		return "write udp us>them address: non-IPv4 address"
	}
	return told
}

// span tells whether something took as long as it should.
func (r *rig) span(took, want time.Duration) string {
	switch {
	case took < want:
		return fmt.Sprintf(" early: %v", took)
	case took > want+time.Second:
		return fmt.Sprintf(" late: %v", took)
	}
	return " not early, not late"
}

// blocked has a read wait, and says how it ends when f is called.
func (r *rig) blocked(s socket, f func()) string {
	r.Helper()
	ended := make(chan error, 1)
	began := make(chan bool)
	go func() {
		close(began)
		_, err := s.Read(make([]byte, 10))
		ended <- err
	}()
	<-began
	time.Sleep(time.Millisecond) // asleep, most of the time; both cases are right
	f()
	select {
	case err := <-ended:
		return r.told(err)
	case <-time.After(patience):
		return "still blocked"
	}
}

// full writes to a neighbour that does not answer, whose datagrams fill a small send
// buffer, and says how that ends when f is called.
func (r *rig) full(f func(s socket)) string {
	r.Helper()
	s := r.listen(r.us())
	s.SetWriteBuffer(1) // the least that the kernel takes
	ended := make(chan error, 1)
	var written atomic.Int32
	go func() {
		for {
			if err := write(s, netip.MustParseAddrPort("10.9.0.77:9"), "hello"); err != nil {
				ended <- err
				return
			}
			written.Add(1)
		}
	}()
	f(s)
	select {
	case err := <-ended:
		return fmt.Sprintf("%s, blocked %t", r.told(err), written.Load() < 100)
	case <-time.After(patience):
		return "still blocked"
	}
}

// moved has a read wait for a deadline that is then moved, and sends after the old
// one is over.
func (r *rig) moved(to time.Time) string {
	r.Helper()
	s, peer := r.both()
	old := time.Now().Add(5 * distance) // not to be over before it is moved
	s.SetReadDeadline(old)
	got := make(chan string, 1)
	began := make(chan bool)
	go func() {
		close(began)
		b := make([]byte, 100)
		n, src, err := s.ReadFromUDPAddrPort(b)
		got <- r.datagram(b[:n], src, err)
	}()
	<-began
	s.SetReadDeadline(to)
	time.Sleep(time.Until(old) + 5*time.Millisecond)
	r.send(peer, r.us(), "in time")
	return <-got
}

// all runs f n times at once, and says how all ended, if they did so alike.
func (r *rig) all(n int, f func() error) string {
	var wg sync.WaitGroup
	ends := make([]string, n)
	for i := range ends {
		wg.Go(func() { ends[i] = r.told(f()) })
	}
	wg.Wait()
	for _, end := range ends {
		if end != ends[0] {
			return fmt.Sprint(ends)
		}
	}
	return fmt.Sprintf("%d: %s", n, ends[0])
}

// closeRows: what Close ends, and what is left after it.
func closeRows() []row {
	const closed = "read udp us>- closed"
	return []row{
		{name: "Close ends reads", want: "8: " + closed, run: func(r *rig) string {
			s := r.listen(r.us())
			go func() { time.Sleep(time.Millisecond); s.Close() }()
			return r.all(8, func() error { _, err := s.Read(make([]byte, 10)); return err })
		}},
		{name: "Close while blocked", want: closed, run: func(r *rig) string {
			s := r.listen(r.us())
			return r.blocked(s, func() { s.Close() })
		}},
		{name: "Close twice", want: "ok, close udp us>- closed", run: func(r *rig) string {
			s := r.listen(r.us())
			return r.told(s.Close()) + ", " + r.told(s.Close())
		}},
		{name: "Close from many", want: "1 ok, 7 closed", run: func(r *rig) string {
			s := r.listen(r.us())
			var wg sync.WaitGroup
			ends := make([]string, 8)
			for i := range ends {
				wg.Go(func() { ends[i] = r.told(s.Close()) })
			}
			wg.Wait()
			ok, late := 0, 0
			for _, end := range ends {
				switch end {
				case "ok":
					ok++
				case "close udp us>- closed":
					late++
				}
			}
			return fmt.Sprintf("%d ok, %d closed", ok, late)
		}},
		{name: "data is gone after Close", want: closed, run: func(r *rig) string {
			s, peer := r.both()
			r.send(peer, r.us(), "data")
			s.Close()
			_, err := s.Read(r.buf)
			return r.told(err)
		}},
		{name: "reads after Close", want: "7: " + closed, run: func(r *rig) string {
			s := r.listen(r.us())
			s.Close()
			var errs [7]error
			_, errs[0] = s.Read(r.buf)
			_, errs[1] = s.Read(nil)
			_, _, errs[2] = s.ReadFrom(r.buf)
			_, _, errs[3] = s.ReadFromUDP(r.buf)
			_, _, errs[4] = s.ReadFromUDPAddrPort(r.buf)
			_, _, _, _, errs[5] = s.ReadMsgUDP(r.buf, nil)
			_, _, _, _, errs[6] = s.ReadMsgUDPAddrPort(r.buf, nil)
			return r.alike(errs[:])
		}},
		{name: "writes after Close", want: "5: write udp us>them closed", run: func(r *rig) string {
			s, to := r.listen(r.us()), net.UDPAddrFromAddrPort(r.them())
			s.Close()
			var errs [5]error
			_, errs[0] = s.WriteTo([]byte("x"), to)
			_, errs[1] = s.WriteToUDP([]byte("x"), to)
			_, errs[2] = s.WriteToUDPAddrPort([]byte("x"), r.them())
			_, _, errs[3] = s.WriteMsgUDP([]byte("x"), nil, to)
			_, _, errs[4] = s.WriteMsgUDPAddrPort([]byte("x"), nil, r.them())
			return r.alike(errs[:])
		}},
		{name: "Write after Close", want: "write udp us>- closed", run: func(r *rig) string {
			s := r.listen(r.us())
			s.Close()
			return r.result(s.Write([]byte("x")))
		}},
		{name: "settings after Close", want: "5: set udp ->us closed", run: func(r *rig) string {
			s := r.listen(r.us())
			s.Close()
			return r.alike([]error{
				s.SetDeadline(longAgo), s.SetReadDeadline(never), s.SetWriteDeadline(never), s.SetReadBuffer(1 << 16), s.SetWriteBuffer(1 << 16),
			})
		}},
		{name: "addresses after Close", want: "*net.UDPAddr us with 4 bytes, *net.UDPAddr them with 4 bytes", run: func(r *rig) string {
			s, _ := r.connected()
			s.Close()
			return r.addr(s.LocalAddr()) + ", " + r.addr(s.RemoteAddr())
		}},
		{name: "connected, after Close", want: "read udp us>them closed, write udp us>them closed, close udp us>them closed", run: func(r *rig) string {
			s, _ := r.connected()
			s.Close()
			_, read := s.Read(r.buf)
			_, write := s.Write([]byte("x"))
			return r.told(read) + ", " + r.told(write) + ", " + r.told(s.Close())
		}},
		{name: "bad arguments after Close", want: "write udp us>- missing address, write udp us>A:0 closed", run: func(r *rig) string {
			s := r.listen(r.us())
			s.Close()
			_, err := s.WriteToUDP(nil, nil)
			return r.told(err) + ", " + r.told(write(s, netip.AddrPortFrom(r.pair.A.IP4, 0), "x"))
		}},
		{name: "the port is free after Close", want: `"again" from them`, run: func(r *rig) string {
			s, peer := r.both()
			r.send(peer, r.us(), "before")
			s.Close()
			s = r.listen(r.us())
			r.send(peer, r.us(), "again")
			return r.get(s)
		}},
		{name: "nobody listens after Close", want: "read udp them>us ECONNREFUSED", run: func(r *rig) string {
			s := r.listen(r.us())
			peer, err := openKernel(r.pair.A.NS, r.them(), r.us())
			if err != nil {
				return err.Error()
			}
			defer peer.Close()
			s.Close()
			if _, err := peer.Write([]byte("anybody?")); err != nil {
				return r.told(err)
			}
			peer.SetReadDeadline(deadline())
			_, err = peer.Read(r.buf)
			return r.told(err)
		}},
		{name: "closing while others read and write", want: "no panic, no data", run: func(r *rig) string {
			s, peer := r.both()
			r.warm(s, peer)
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					for write(s, r.them(), "x") == nil {
					}
				})
				wg.Go(func() {
					for {
						if _, err := s.Read(make([]byte, 10)); err != nil {
							return
						}
					}
				})
			}
			time.Sleep(time.Millisecond)
			s.Close()
			wg.Wait()
			return "no panic, no data"
		}},
	}
}

// alike says how many errors there are, if they are all the same.
func (r *rig) alike(errs []error) string {
	for _, err := range errs {
		if r.told(err) != r.told(errs[0]) {
			var all []string
			for _, err := range errs {
				all = append(all, r.told(err))
			}
			return fmt.Sprintf("%q", all)
		}
	}
	return fmt.Sprintf("%d: %s", len(errs), r.told(errs[0]))
}
