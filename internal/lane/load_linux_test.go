// SPDX-License-Identifier: MIT

package lane

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/internal/wait"
)

// receiveErrors is RcvbufErrors of the namespace, which the kernel counts by itself.
func receiveErrors(t *testing.T, end testnet.End) uint64 {
	t.Helper()
	var text []byte
	err := end.NS.Do(func() (err error) {
		text, err = os.ReadFile("/proc/thread-self/net/snmp")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != "Udp:" {
			continue
		}
		if names == nil {
			names = fields
			continue
		}
		for i, name := range names {
			if name == "RcvbufErrors" {
				n, err := strconv.ParseUint(fields[i], 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				return n
			}
		}
	}
	t.Fatalf("no RcvbufErrors in %s", text)
	return 0
}

// Case 125: what was sent is what was received and what the kernel dropped, exactly,
// and the drops are those that the kernel counts.
func TestKernelDrops(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	cfg := at("10.9.0.2:0")
	cfg.ReceiveBuffer = 4096
	l := openOn(t, pair.B, cfg)
	c := peerOn(t, pair.A, "udp4", "10.9.0.1:0")
	const count = 500
	for i := range count {
		writeTo(t, c, l.LocalAddr(), binary.BigEndian.AppendUint32(nil, uint32(i)))
	}
	received := uint64(0)
	msgs := make([]Message, 64)
	until(t, "all accounted for", func() bool {
		n, err := l.Receive(msgs)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range msgs[:n] {
			if i := binary.BigEndian.Uint32(m.Payload); uint64(i) < received {
				t.Fatalf("datagram %d came twice or late", i)
			}
			received++
		}
		l.Release(msgs[:n])
		return received+l.Stats().KernelDrops >= count
	})
	s := l.Stats()
	if s.KernelDrops == 0 || s.Received != received || received+s.KernelDrops != count {
		t.Errorf("received %d of %d: %+v", received, count, s)
	}
	if kernel := receiveErrors(t, pair.B); kernel != s.KernelDrops {
		t.Errorf("%d drops, the kernel counts %d", s.KernelDrops, kernel)
	}
}

// The drops come with the datagrams too, for kernels that cannot be asked.
func TestDropsByMessage(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	cfg := at("10.9.0.2:0")
	cfg.ReceiveBuffer = 4096
	l := openOn(t, pair.B, cfg)
	c := peerOn(t, pair.A, "udp4", "10.9.0.1:0")
	for range 100 {
		writeTo(t, c, l.LocalAddr(), []byte("x"))
	}
	until(t, "drops", func() bool {
		n, err := socketDrops(l.fd)
		return err == nil && n > 0 && uint64(n) == receiveErrors(t, pair.B)
	})
	msgs := make([]Message, 100)
	for n := 1; n > 0; {
		n, _ = l.Receive(msgs)
		l.Release(msgs[:n])
	}
	writeTo(t, c, l.LocalAddr(), []byte("after"))
	l.Release(collect(t, l, 1))
	want, err := socketDrops(l.fd)
	if got := l.drops.total.Load(); err != nil || got != uint64(want) {
		t.Errorf("%d drops by message, %d by asking: %v", got, want, err)
	}
}

// Case 117: nothing is allocated for datagrams, with all that can be said of them.
func TestNoAllocation(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{IPv6: true})
	for _, x := range []struct {
		name  string
		local netip.AddrPort
		src   netip.Addr
	}{
		{"IPv4", netip.MustParseAddrPort("10.9.0.2:0"), pair.B.IP4},
		{"dual stack by IPv4", netip.MustParseAddrPort("[::]:0"), pair.B.IP4},
		{"IPv6", netip.MustParseAddrPort("[::]:0"), pair.B.IP6},
		{"link-local", netip.MustParseAddrPort("[::]:0"), linkLocal(t, pair.B)},
	} {
		t.Run(x.name, func(t *testing.T) {
			l := openOn(t, pair.B, Config{Local: x.local, GRO: true, Timestamps: true})
			self := netip.AddrPortFrom(x.src, l.LocalAddr().Port())
			out := make([]Outgoing, 8)
			for i := range out {
				out[i] = Outgoing{Payload: pattern(100 * i), Dst: self, TTL: 7, TOS: 8, Src: x.src.WithZone(""), Ifindex: 0}
			}
			bundle := Outgoing{Payload: pattern(7001), Dst: self}
			in := make([]Message, 16)
			round := func() {
				n, err := l.Send(out)
				if err != nil || n != len(out) {
					t.Fatal(n, err)
				}
				if n, err = l.SendSegments(bundle, 1000); err != nil || n != 8 {
					t.Fatal(n, err)
				}
				for got := 0; got < 16; got += n {
					if n, err = l.Receive(in); err != nil {
						t.Fatal(err)
					}
					l.Release(in[:n])
				}
				if _, err = l.Unsent(); err != nil || l.Pending() != 0 || l.FD() < 0 {
					t.Fatal(err)
				}
				l.Stats()
			}
			if n := testing.AllocsPerRun(200, round); n != 0 {
				t.Errorf("%v allocations for 16 datagrams", n)
			}
		})
	}
}

// receiveLoop receives until the set is closed, beside other goroutines that do.
func receiveLoop(t *testing.T, l *Lane, set *wait.Set, handle func([]Message)) {
	msgs := make([]Message, 32)
	for {
		n, err := l.Receive(msgs)
		if err == ErrNoBuffers { // the other receivers have them for a moment
			runtime.Gosched()
			continue
		}
		if err != nil {
			t.Error(err)
			return
		}
		if n > 0 {
			handle(msgs[:n])
			l.Release(msgs[:n])
		} else if set.Sleep(context.Background(), wait.Forever, l.FD()) != nil {
			return
		}
		if l.Pending() > 0 {
			set.Wake()
		}
	}
}

// sendWhole sends until all is taken.
func sendWhole(t *testing.T, l *Lane, out []Outgoing) {
	for n := 0; n < len(out); {
		k, err := l.Send(out[n:])
		if err != nil {
			t.Error(err)
			return
		}
		n += k
	}
}

// sendNumbered sends datagrams numbered by sender and sequence, in small batches.
func sendNumbered(t *testing.T, l *Lane, dst netip.AddrPort, sender, count int) {
	for i := 0; i < count; i += 7 {
		out := make([]Outgoing, min(count-i, 7))
		for j := range out {
			p := binary.BigEndian.AppendUint16(nil, uint16(sender))
			out[j] = Outgoing{Payload: binary.BigEndian.AppendUint16(p, uint16(i+j)), Dst: dst}
		}
		sendWhole(t, l, out)
		l.Stats()
		l.Info()
		_, _ = l.Unsent()
	}
}

// Case 109: many goroutines on one lane. Each datagram goes to a lane at the other
// end and comes back, once.
func TestConcurrent(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{})
	const senders, each = 4, 1500
	l := openOn(t, pair.B, Config{Local: netip.MustParseAddrPort("10.9.0.2:0"), ReceiveBuffer: 32 << 20, GRO: true})
	mirror := openOn(t, pair.A, Config{Local: netip.MustParseAddrPort("10.9.0.1:0"), ReceiveBuffer: 32 << 20})
	var counts [senders][each]atomic.Int32
	var total atomic.Int32
	var atLane, atMirror wait.Set
	var receivers, sending sync.WaitGroup
	for range 3 {
		receivers.Go(func() {
			receiveLoop(t, l, &atLane, func(msgs []Message) {
				for _, m := range msgs {
					counts[binary.BigEndian.Uint16(m.Payload)][binary.BigEndian.Uint16(m.Payload[2:])].Add(1)
					total.Add(1)
				}
			})
		})
	}
	for range 2 {
		receivers.Go(func() {
			receiveLoop(t, mirror, &atMirror, func(msgs []Message) {
				out := make([]Outgoing, len(msgs))
				for i, m := range msgs {
					out[i] = Outgoing{Payload: m.Payload, Dst: m.Src}
				}
				sendWhole(t, mirror, out)
			})
		})
	}
	for g := range senders {
		sending.Go(func() { sendNumbered(t, l, mirror.LocalAddr(), g, each) })
	}
	sending.Wait()
	until(t, "all back", func() bool { return total.Load() >= senders*each })
	atLane.Close()
	atMirror.Close()
	receivers.Wait()
	for g := range counts {
		for i := range counts[g] {
			if n := counts[g][i].Load(); n != 1 {
				t.Fatalf("datagram %d of sender %d arrived %d times", i, g, n)
			}
		}
	}
	if s := l.Stats(); s.KernelDrops != 0 || s.Received != senders*each || s.Sent != senders*each || s.BadReleases != 0 {
		t.Errorf("%+v", s)
	}
}

// Close from anywhere: calls under way end well, later ones say net.ErrClosed.
func TestCloseWhileUsed(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{})
	for range 20 {
		l := openOn(t, pair.B, at("10.9.0.2:0"))
		var users, closers sync.WaitGroup
		var started atomic.Int32
		for range 4 {
			users.Go(func() {
				msgs := make([]Message, 4)
				out := []Outgoing{{Payload: []byte("x"), Dst: l.LocalAddr()}}
				for {
					n, receiveErr := l.Receive(msgs)
					l.Release(msgs[:n])
					_, sendErr := l.Send(out)
					started.Add(1)
					if errors.Is(receiveErr, net.ErrClosed) && errors.Is(sendErr, net.ErrClosed) {
						return
					}
					if receiveErr != nil && receiveErr != net.ErrClosed || sendErr != nil && sendErr != net.ErrClosed {
						t.Error(receiveErr, sendErr)
						return
					}
				}
			})
		}
		until(t, "all running", func() bool { return started.Load() > 20 })
		for range 2 {
			closers.Go(func() {
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		closers.Wait()
		users.Wait()
	}
}

// Whoever polls the descriptor wakes when the lane is closed.
func TestCloseWhilePolled(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{})
	for _, cfg := range []Config{at("10.9.0.2:0"), {Remote: netip.MustParseAddrPort("10.9.0.1:9")}} {
		l := openOn(t, pair.B, cfg)
		fds := []unix.PollFd{{Fd: int32(l.FD()), Events: unix.POLLIN}}
		asleep := make(chan int, 1)
		woke := make(chan error, 1)
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			asleep <- unix.Gettid()
			for {
				n, err := unix.Ppoll(fds, nil, nil)
				if err == unix.EINTR {
					continue
				}
				if n != 1 {
					err = errors.Join(err, errors.New("nothing ready"))
				}
				woke <- err
				return
			}
		}()
		// Begins with the number of the call that the thread is blocked in.
		call := fmt.Sprintf("/proc/self/task/%d/syscall", <-asleep)
		until(t, "asleep in poll", func() bool {
			text, err := os.ReadFile(call)
			return err == nil && strings.HasPrefix(string(text), fmt.Sprintf("%d ", unix.SYS_PPOLL))
		})
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-woke:
			// POLLNVAL: poll(2) looks the number up again when it is woken.
			if err != nil || fds[0].Revents&(unix.POLLHUP|unix.POLLNVAL) == 0 {
				t.Errorf("poll: events %#x, %v", fds[0].Revents, err)
			}
		case <-time.After(patience):
			t.Fatal("still asleep")
		}
	}
}
