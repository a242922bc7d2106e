// SPDX-License-Identifier: MIT

package udp

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/testnet"
)

// readRows: what reads return.
func readRows() []row {
	return []row{
		{name: "ReadFrom", ways: fastRx, want: `"hello", *net.UDPAddr them with 4 bytes`, run: func(r *rig) string {
			s, peer := r.both()
			r.send(peer, r.us(), "hello")
			n, src, err := s.ReadFrom(r.buf)
			return fmt.Sprintf("%q, %s", r.buf[:n], r.addr(src)) + failed(r, err)
		}},
		{name: "ReadFromUDP", ways: fastRx, want: `"hello", *net.UDPAddr them with 4 bytes`, run: func(r *rig) string {
			s, peer := r.both()
			r.send(peer, r.us(), "hello")
			n, src, err := s.ReadFromUDP(r.buf)
			return fmt.Sprintf("%q, %s", r.buf[:n], r.addr(src)) + failed(r, err)
		}},
		{name: "ReadFromUDPAddrPort", ways: fastRx, want: `"hello" from them, IPv4 true`, run: func(r *rig) string {
			s, peer := r.both()
			r.send(peer, r.us(), "hello")
			n, src, err := s.ReadFromUDPAddrPort(r.buf)
			return fmt.Sprintf("%q from %s, IPv4 %t", r.buf[:n], r.who(src), src.Addr().Is4()) + failed(r, err)
		}},
		{name: "ReadMsgUDP", ways: fastRx, want: `"hello", 0 bytes of control, flags 0x0, *net.UDPAddr them with 4 bytes`, run: func(r *rig) string {
			s, peer := r.both()
			r.send(peer, r.us(), "hello")
			n, oobn, flags, src, err := s.ReadMsgUDP(r.buf, make([]byte, 100))
			return fmt.Sprintf("%q, %d bytes of control, flags %#x, %s", r.buf[:n], oobn, flags, r.addr(src)) + failed(r, err)
		}},
		{name: "Read without a peer", ways: fastRx, want: `"hello"`, run: func(r *rig) string {
			s, peer := r.both()
			r.send(peer, r.us(), "hello")
			n, err := s.Read(r.buf)
			return fmt.Sprintf("%q", r.buf[:n]) + failed(r, err)
		}},
		{name: "empty datagram", ways: fastRx, want: `"" from them, "next" from them`, run: func(r *rig) string {
			s, peer := r.both()
			r.send(peer, r.us(), "")
			r.send(peer, r.us(), "next")
			return r.get(s) + ", " + r.get(s)
		}},
		{name: "Read of an empty datagram is no end of file", want: `0, "next" from them`, run: func(r *rig) string {
			s, peer := r.both()
			r.send(peer, r.us(), "")
			r.send(peer, r.us(), "next")
			return r.result(s.Read(r.buf)) + ", " + r.get(s)
		}},
		{name: "what does not fit is lost", want: `"123" from them, "next" from them`, run: func(r *rig) string {
			s, peer := r.both()
			r.send(peer, r.us(), "12345")
			r.send(peer, r.us(), "next")
			n, src, err := s.ReadFromUDPAddrPort(r.buf[:3])
			return r.datagram(r.buf[:n], src, err) + ", " + r.get(s)
		}},
		{name: "truncation is flagged", want: "3 bytes, flags 0x20; 5 bytes, flags 0x0", run: func(r *rig) string {
			s, peer := r.both()
			r.send(peer, r.us(), "12345")
			r.send(peer, r.us(), "12345")
			n, _, flags, _, err := s.ReadMsgUDPAddrPort(r.buf[:3], nil)
			m, _, exact, _, err2 := s.ReadMsgUDPAddrPort(r.buf[:5], nil)
			return fmt.Sprintf("%d bytes, flags %#x; %d bytes, flags %#x", n, flags, m, exact) + failed(r, err) + failed(r, err2)
		}},
		{name: "ReadFrom into nothing takes a datagram", want: `0 from them, "next" from them`, run: func(r *rig) string {
			s, peer := r.both()
			r.send(peer, r.us(), "gone")
			r.send(peer, r.us(), "next")
			n, src, err := s.ReadFromUDPAddrPort(nil)
			return fmt.Sprintf("%d from %s", n, r.who(src)) + failed(r, err) + ", " + r.get(s)
		}},
		{name: "ReadMsg into nothing takes a datagram", want: `0, flags 0x20, "next" from them`, run: func(r *rig) string {
			s, peer := r.both()
			r.send(peer, r.us(), "gone")
			r.send(peer, r.us(), "next")
			n, _, flags, _, err := s.ReadMsgUDPAddrPort([]byte{}, nil)
			return fmt.Sprintf("%d, flags %#x", n, flags) + failed(r, err) + ", " + r.get(s)
		}},
		{name: "Read into nothing takes none", want: `0, "kept" from them`, run: func(r *rig) string {
			s, peer := r.both()
			r.send(peer, r.us(), "kept")
			return r.result(s.Read(nil)) + ", " + r.get(s)
		}},
		{name: "sent before the read", ways: fastRx, want: "0 to 49 in order", run: func(r *rig) string {
			s, peer := r.both()
			r.burst(peer, r.us(), 0, 50)
			return r.count(s, 50)
		}},
		{name: "order", ways: fastRx, want: "0 to 999 in order", run: func(r *rig) string {
			s, peer := r.both()
			for i := 0; i < 1000; i += 50 {
				r.burst(peer, r.us(), i, 50)
				if i > 0 {
					if got := r.countFrom(s, i-50, 50); got != "" {
						return got
					}
				}
			}
			return r.countFrom(s, 950, 50) + "0 to 999 in order"
		}},
		{name: "many readers, each datagram once", ways: fastRx, want: "400 datagrams, each once", run: manyReaders},
		{name: "blocked readers all wake", ways: fastRx, want: "8 datagrams", run: func(r *rig) string {
			s, peer := r.both()
			got := make(chan string, 8)
			for range 8 {
				go func() { got <- r.get(s) }()
			}
			for range 8 {
				r.send(peer, r.us(), "wake up")
			}
			for range 8 {
				if text := <-got; text != `"wake up" from them` {
					return text
				}
			}
			return "8 datagrams"
		}},
		{name: "many writers, each datagram once", ways: fastTx, want: "400 datagrams, each once", run: manyWriters},
		{name: "reading while writing", ways: fast, want: "200 echoes", run: func(r *rig) string {
			s, peer := r.both()
			r.warm(s, peer)
			go echo(peer)
			go func() {
				for i := range 200 {
					s.WriteToUDPAddrPort([]byte(fmt.Sprint(i)), r.them())
				}
			}()
			for i := range 200 {
				if got := r.get(s); got != fmt.Sprintf("%q from them", fmt.Sprint(i)) {
					return got
				}
			}
			return "200 echoes"
		}},
	}
}

// failed is for errors that no row expects.
func failed(r *rig, err error) string {
	if err == nil {
		return ""
	}
	return " but " + r.told(err)
}

// burst sends numbers, all from one processor: the kernel keeps a queue for each,
// and does not promise any order between them.
func (r *rig) burst(from *net.UDPConn, to netip.AddrPort, first, n int) {
	r.Helper()
	err := onOneCPU(func() error {
		for i := range n {
			if _, err := from.WriteToUDPAddrPort([]byte(fmt.Sprint(first+i)), to); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		r.Fatal(err)
	}
}

// onOneCPU runs f on one processor.
func onOneCPU(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return err
	}
	for cpu := range 1024 {
		if all.IsSet(cpu) {
			one.Set(cpu)
			break
		}
	}
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return err
	}
	defer unix.SchedSetaffinity(0, &all)
	return f()
}

// count reads the numbers from 0 on.
func (r *rig) count(s socket, n int) string {
	r.Helper()
	return r.countFrom(s, 0, n) + fmt.Sprintf("0 to %d in order", n-1)
}

// countFrom is empty if all is as it should be.
func (r *rig) countFrom(s socket, first, n int) string {
	r.Helper()
	for i := range n {
		if got := r.get(s); got != fmt.Sprintf("%q from them", fmt.Sprint(first+i)) {
			return fmt.Sprintf("%s in place of %d; ", got, first+i)
		}
	}
	return ""
}

// echo sends back what comes, until the socket is closed.
func echo(s socket) {
	b := make([]byte, 1<<16)
	for {
		n, src, err := s.ReadFromUDPAddrPort(b)
		if err != nil {
			return
		}
		s.WriteToUDPAddrPort(b[:n], src)
	}
}

func manyReaders(r *rig) string {
	s, peer := r.both()
	var wg sync.WaitGroup
	got := make(chan string, 400)
	room := make(chan bool, 50) // not more under way than any buffer holds
	for range 8 {
		wg.Go(func() {
			b := make([]byte, 100)
			for {
				n, err := s.Read(b)
				if err != nil {
					return
				}
				got <- string(b[:n])
				<-room
			}
		})
	}
	for i := range 400 {
		room <- true
		r.send(peer, r.us(), fmt.Sprint(i))
	}
	seen := onceEach(got, 400)
	s.Close()
	wg.Wait()
	return seen
}

func manyWriters(r *rig) string {
	s, peer := r.both()
	r.warm(s, peer)
	for w := range 8 {
		go func() {
			for i := range 50 {
				s.WriteToUDPAddrPort([]byte(fmt.Sprint(50*w+i)), r.them())
			}
		}()
	}
	got := make(chan string, 400)
	go func() {
		b := make([]byte, 100)
		for range 400 {
			n, err := peer.Read(b)
			if err != nil {
				return
			}
			got <- string(b[:n])
		}
	}()
	return onceEach(got, 400)
}

// onceEach waits for the numbers from 0 to n-1.
func onceEach(got <-chan string, n int) string {
	seen := map[string]bool{}
	giveUp := time.After(patience)
	for range n {
		select {
		case text := <-got:
			if seen[text] {
				return text + " came twice"
			}
			seen[text] = true
		case <-giveUp:
			return fmt.Sprintf("only %d datagrams", len(seen))
		}
	}
	for i := range n {
		if !seen[fmt.Sprint(i)] {
			return fmt.Sprint(i, " is missing")
		}
	}
	return fmt.Sprintf("%d datagrams, each once", n)
}

// sizeRows: every byte arrives, whatever the length.
func sizeRows() []row {
	small, large, jumbo := testnet.Config{MTU: 576}, testnet.Config{MTU: 3500}, testnet.Config{MTU: 9000}
	return []row{
		{name: "received: 0 to 1472 bytes", ways: fastRx, want: "whole", run: func(r *rig) string {
			s, peer := r.both()
			return r.sizes(peer, s, upTo(1472))
		}},
		{name: "sent: 0 to 1472 bytes", ways: fastTx, want: "whole", run: func(r *rig) string {
			s, peer := r.both()
			r.warm(s, peer)
			return r.sizes(s, peer, upTo(1472))
		}},
		{name: "received: fragments", ways: kernelRx, want: "whole", run: func(r *rig) string {
			s, peer := r.both()
			return r.sizes(peer, s, []int{1473, 2000, 8972, 8973, 32768, 65507})
		}},
		{name: "sent: fragments", ways: kernelTx, want: "whole", run: func(r *rig) string {
			s, peer := r.both()
			return r.sizes(s, peer, []int{1473, 2000, 8972, 8973, 32768, 65507})
		}},
		{name: "received: across the MTU of 576", net: small, ways: fastRx | kernelRx, want: "whole", run: func(r *rig) string {
			s, peer := r.both()
			return r.sizes(peer, s, []int{0, 1, 547, 548, 549, 550, 1472})
		}},
		{name: "sent: across the MTU of 576", net: small, ways: fastTx | kernelTx, want: "whole", run: func(r *rig) string {
			s, peer := r.both()
			r.warm(s, peer)
			return r.sizes(s, peer, []int{0, 1, 547, 548, 549, 550, 1472})
		}},
		{name: "received: across an MTU of 3500", net: large, ways: fastRx | kernelRx, want: "whole", run: func(r *rig) string {
			s, peer := r.both()
			return r.sizes(peer, s, []int{0, 1472, 3471, 3472, 3473, 8972})
		}},
		{name: "sent: across an MTU of 3500", net: large, ways: fastTx | kernelTx, want: "whole", run: func(r *rig) string {
			s, peer := r.both()
			r.warm(s, peer)
			return r.sizes(s, peer, []int{0, 1472, 3471, 3472, 3473, 8972})
		}},
		{name: "received: across an MTU of 9000", net: jumbo, ways: fastRx | kernelRx, want: "whole", run: func(r *rig) string {
			s, peer := r.both()
			return r.sizes(peer, s, []int{0, 1472, 1750, 1751, 3798, 3799, 8971, 8972, 8973, 20000})
		}},
		{name: "sent: across an MTU of 9000", net: jumbo, ways: fastTx | kernelTx, want: "whole", run: func(r *rig) string {
			s, peer := r.both()
			r.warm(s, peer)
			return r.sizes(s, peer, []int{0, 1472, 1920, 1921, 3712, 3713, 8971, 8972, 8973, 20000})
		}},
		{name: "fragments keep their place between others", ways: fastTx | kernelTx, want: "10 10 3000 10 10 3000 10 10 3000 10 10 3000", run: func(r *rig) string {
			s, peer := r.both()
			r.warm(s, peer)
			var got []string
			for i := range 12 {
				size := 10
				if i%3 == 2 {
					size = 3000
				}
				if _, err := s.WriteToUDPAddrPort(make([]byte, size), r.them()); err != nil {
					return r.told(err)
				}
			}
			peer.SetReadDeadline(time.Now().Add(patience))
			for range 12 {
				n, err := peer.Read(r.buf)
				if err != nil {
					return r.told(err)
				}
				got = append(got, fmt.Sprint(n))
			}
			return fmt.Sprint(got)[1 : len(fmt.Sprint(got))-1]
		}},
	}
}

func upTo(n int) []int {
	all := make([]int, n+1)
	for i := range all {
		all[i] = i
	}
	return all
}

// sizes sends datagrams of each size, a few at a time, and looks at every byte.
func (r *rig) sizes(from, to socket, sizes []int) string {
	r.Helper()
	dst := to.LocalAddr().(interface{ AddrPort() netip.AddrPort }).AddrPort()
	few := 20
	if slices.Max(sizes) > 1472 {
		few = 1 // more may be more than a socket's buffer holds
	}
	for some := range slices.Chunk(sizes, few) {
		for _, n := range some {
			if m, err := from.WriteToUDPAddrPort(pattern(n), dst); m != n || err != nil {
				return fmt.Sprintf("write of %d: %s", n, r.result(m, err))
			}
		}
		for _, n := range some {
			to.SetReadDeadline(time.Now().Add(patience))
			m, err := to.Read(r.buf)
			if err != nil {
				return fmt.Sprintf("read of %d: %s", n, r.told(err))
			}
			if !bytes.Equal(r.buf[:m], pattern(n)) {
				return fmt.Sprintf("%d bytes for %d, or others", m, n)
			}
		}
	}
	return "whole"
}

// pattern is n bytes that differ by length and by place.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + n + i>>8)
	}
	return b
}
