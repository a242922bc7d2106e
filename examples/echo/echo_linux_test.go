// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/xdpath/xdpath/examples/internal/program"
	"github.com/xdpath/xdpath/internal/nic"
	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/udp"
)

func TestMain(m *testing.M) {
	if program.IsExample() {
		main()
		return
	}
	os.Exit(m.Run())
}

const port = 7000

// dial opens a socket of the kernel's at an end, to the echo at an address.
func dial(t *testing.T, end testnet.End, to netip.Addr) *net.UDPConn {
	t.Helper()
	var c *net.UDPConn
	err := end.NS.Do(func() (err error) {
		c, err = net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(to, port)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return c
}

// ask sends datagrams, one after the other, and tells whether each comes back.
func ask(c *net.UDPConn, payloads ...[]byte) error {
	got := make([]byte, 1<<16)
	for _, want := range payloads {
		if _, err := c.Write(want); err != nil {
			return err
		}
		n, err := c.Read(got)
		if err != nil {
			return fmt.Errorf("%d bytes: %w", len(want), err)
		}
		if !bytes.Equal(got[:n], want) {
			return fmt.Errorf("%d bytes came back as %d others: %x", len(want), n, got[:min(n, 64)])
		}
	}
	return nil
}

// detached tells that no XDP program is left on an end.
func detached(t *testing.T, end testnet.End) {
	t.Helper()
	err := end.NS.Do(func() error {
		n, err := nic.Open(end.Name)
		if err != nil {
			return err
		}
		defer n.Close()
		for giveUp := time.Now().Add(5 * time.Second); ; {
			l, err := n.Link()
			if err != nil || len(l.Programs) == 0 {
				return err
			}
			if time.Now().After(giveUp) {
				return fmt.Errorf("programs are left: %v", l.Programs)
			}
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// running is an echo in this process.
type running struct {
	out  output
	stop context.CancelFunc
	done chan struct{}
	err  error // valid after done
}

// started runs echo at an end, and ends it after the test.
func started(t *testing.T, end testnet.End) *running {
	t.Helper()
	cfg, err := config(end.Name, port, "adaptive")
	if err != nil {
		t.Fatal(err)
	}
	r := &running{out: output{listening: make(chan struct{})}, done: make(chan struct{})}
	var ctx context.Context
	ctx, r.stop = context.WithCancel(context.Background())
	go func() {
		defer close(r.done)
		r.err = end.NS.Do(func() error { return echo(ctx, cfg, &r.out) })
	}()
	t.Cleanup(func() {
		r.stop()
		<-r.done
	})
	select {
	case <-r.done:
		t.Fatal(r.err)
	case <-r.out.listening:
	}
	return r
}

// wait waits for the end of an echo, and returns what it printed and why it ended.
func (r *running) wait(t *testing.T) (string, error) {
	t.Helper()
	select {
	case <-r.done:
		return r.out.String(), r.err
	case <-time.After(20 * time.Second):
		t.Fatal("echo does not end")
		return "", nil
	}
}

// output is what echo prints, and tells when that begins.
type output struct {
	bytes.Buffer
	listening chan struct{}
}

func (o *output) Write(b []byte) (int, error) {
	if o.Len() == 0 {
		close(o.listening)
	}
	return o.Buffer.Write(b)
}

// Datagrams of all sizes come back, in both address families, from all queues: small
// ones by the fast lane, and larger than the MTU by the kernel lane.
func TestEcho(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{Queues: 2, IPv6: true})
	testnet.Leaks(t)
	echo := started(t, pair.B)
	var payloads [][]byte
	for _, n := range []int{0, 1, 13, 14, 18, 64, 1000, 1400, 1452, 1453, 1472, 1473, 4000, 9000} {
		payloads = append(payloads, bytes.Repeat([]byte{byte(n)}, n))
	}
	asked := 0
	for _, to := range []netip.Addr{pair.B.IP4, pair.B.IP6} {
		for range 4 {
			c := dial(t, pair.A, to)
			if err := ask(c, payloads...); err != nil {
				t.Fatalf("%v: %v", to, err)
			}
			asked += len(payloads)
			c.Close()
		}
	}
	echo.stop()
	out, err := echo.wait(t)
	if err != nil {
		t.Error(err)
	}
	// Over the MTU with headers: 1473 on are in IPv4, 1453 on in IPv6.
	slow := 4*3 + 4*5
	want := fmt.Sprintf("total: received %d fast, %d kernel; sent %[1]d fast, %[2]d kernel;", asked-slow, slow)
	if !strings.Contains(out, want) || !strings.Contains(out, "0 answers not sent") {
		t.Errorf("want %q in:\n%s", want, out)
	}
	detached(t, pair.B)
}

// When its interface disappears, echo ends and says so.
func TestEchoEnds(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{Queues: 2})
	testnet.Leaks(t)
	echo := started(t, pair.B)
	if err := ask(dial(t, pair.A, pair.B.IP4), []byte("here")); err != nil {
		t.Fatal(err)
	}
	if err := pair.B.Delete(); err != nil {
		t.Fatal(err)
	}
	if _, err := echo.wait(t); !errors.Is(err, udp.ErrNoInterface) {
		t.Errorf("ended with %v", err)
	}
}

func TestEchoRefuses(t *testing.T) {
	testnet.Require(t)
	testnet.Leaks(t)
	cfg, err := config("none", port, "block")
	if err != nil {
		t.Fatal(err)
	}
	if err := echo(context.Background(), cfg, new(bytes.Buffer)); !errors.Is(err, udp.ErrNoInterface) {
		t.Errorf("no such interface: %v", err)
	}
}

// Sockperf gets an answer to all that it asks, and Ctrl-C leaves the port to the
// kernel.
func TestSockperf(t *testing.T) {
	program.Installed(t, "sockperf", "sockperf")
	pair := testnet.TestPair(t, testnet.Config{Queues: 2})
	for wait, seconds := range map[string]string{"adaptive": "2", "block": "1", "busy": "1"} {
		t.Run(wait, func(t *testing.T) {
			e := program.Example(t, pair.B.NS.Start, "-i", pair.B.Name, "-port", fmt.Sprint(port), "-wait", wait)
			t.Log(e.Line("listening"))
			// Its client knows IPv4 only.
			s := program.Other(t, pair.A.NS.Start, "sockperf", "pp", "-i", pair.B.IP4.String(), "-p", fmt.Sprint(port), "-m", "64", "-t", seconds)
			out, err := s.Wait()
			if err != nil {
				t.Fatal(err)
			}
			checkSockperf(t, out)
			e.Line("in ", "fast ")
			checkTotal(t, e.Interrupt())
			detached(t, pair.B)
			refused(t, pair.A, pair.B.IP4)
		})
	}
}

// checkSockperf reads sockperf's own report.
func checkSockperf(t *testing.T, out string) {
	t.Helper()
	var sent, received int
	_, valid, _ := strings.Cut(out, "[Valid Duration] ")
	_, counts, _ := strings.Cut(valid, "; ")
	fmt.Sscanf(counts, "SentMessages=%d; ReceivedMessages=%d", &sent, &received) // 0 if it is not there
	if sent < 100 || sent != received {
		t.Errorf("sockperf sent %d and got %d answers:\n%s", sent, received, out)
	}
	if !strings.Contains(out, "# dropped messages = 0; # duplicated messages = 0; # out-of-order messages = 0") {
		t.Errorf("sockperf lost some:\n%s", out)
	}
	for _, line := range strings.Split(out, "\n") {
		if strings.Contains(line, "Duration") || strings.Contains(line, "Latency is") || strings.Contains(line, "99.000") {
			t.Log(line)
		}
	}
}

// checkTotal reads echo's: what came in went out, and nearly all by the fast lane.
func checkTotal(t *testing.T, out string) {
	t.Helper()
	_, total, _ := strings.Cut(out, "total: ")
	var in, kernelIn, sent, kernelOut int
	if n, err := fmt.Sscanf(total, "received %d fast, %d kernel; sent %d fast, %d kernel", &in, &kernelIn, &sent, &kernelOut); n < 4 {
		t.Fatalf("%v in %q", err, out)
	}
	if in+kernelIn != sent+kernelOut || kernelIn > 10 || kernelOut > 10 || !strings.Contains(total, "0 answers not sent") {
		t.Errorf("echo's account: %s", total)
	}
	t.Log(strings.TrimSpace(total))
}

// refused tells that nobody listens on the port any more.
func refused(t *testing.T, from testnet.End, to netip.Addr) {
	t.Helper()
	if err := ask(dial(t, from, to), []byte("gone?")); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("the kernel did not refuse a datagram after the end: %v", err)
	}
}

// A killed echo leaves nothing attached, and the next takes over.
func TestKilled(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	for range 2 {
		e := program.Example(t, pair.B.NS.Start, "-i", pair.B.Name, "-port", fmt.Sprint(port))
		e.Line("listening")
		if err := ask(dial(t, pair.A, pair.B.IP4), []byte("alive")); err != nil {
			t.Error(err)
		}
		e.Kill()
	}
	detached(t, pair.B)
	refused(t, pair.A, pair.B.IP4)
}
