// SPDX-License-Identifier: MIT

package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/xdpath/xdpath/internal/packet"
	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/udp"
)

// asProgram makes the test binary be the example: a test runs it as a process of
// its own, in the namespace of its interface, to be interrupted as by Ctrl-C.
const asProgram = "XDPATH_HELLO"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// start runs the example at an end and returns the lines that it prints.
func start(t *testing.T, end testnet.End, args ...string) (*exec.Cmd, <-chan string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := end.NS.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	lines := make(chan string)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
	}()
	return cmd, lines
}

// dial opens a UDP socket at an end, from port 4000 to an address.
func dial(t *testing.T, end testnet.End, to string) net.Conn {
	t.Helper()
	var c net.Conn
	err := end.NS.Do(func() (err error) {
		c, err = (&net.Dialer{LocalAddr: &net.UDPAddr{Port: 4000}}).Dial("udp4", to)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

const (
	patience = 20 * time.Second
	probe    = "10.9.0.1:4000 7 bytes" // what ask makes the example print
)

// ask sends datagrams until the example prints one: before that it has not
// attached its program yet.
func ask(t *testing.T, c net.Conn, lines <-chan string) {
	t.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for giveUp := time.After(patience); ; {
		select {
		case line, ok := <-lines:
			if !ok || line != probe {
				t.Fatalf("printed %q, want %q", line, probe)
			}
			return
		case <-again.C:
			// Until then the kernel answers that nobody listens, which the
			// next send reports.
			if _, err := c.Write(make([]byte, 7)); err != nil && !errors.Is(err, syscall.ECONNREFUSED) {
				t.Fatal(err)
			}
		case <-giveUp:
			t.Fatalf("nothing printed in %v", patience)
		}
	}
}

// next is the next line that is not a late one of ask's.
func next(t *testing.T, lines <-chan string) string {
	t.Helper()
	for giveUp := time.After(patience); ; {
		select {
		case line, ok := <-lines:
			if !ok {
				t.Fatal("the program ended")
			}
			if line != probe {
				t.Log(line)
				return line
			}
		case <-giveUp:
			t.Fatalf("nothing printed in %v", patience)
		}
	}
}

func TestHello(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	cmd, lines := start(t, pair.B, "-i", pair.B.Name, "-port", "6000")
	c := dial(t, pair.A, "10.9.0.2:6000")
	ask(t, c, lines)
	for i := range 100 {
		if _, err := c.Write(make([]byte, 100+i)); err != nil {
			t.Fatal(err)
		}
		if got, want := next(t, lines), fmt.Sprintf("10.9.0.1:4000 %d bytes", 100+i); got != want {
			t.Fatalf("printed %q, want %q", got, want)
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for range lines {
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after an interrupt: %v", err)
	}
	// The program is off the interface: the kernel has the port again.
	if _, err := c.Write(nil); err != nil {
		t.Fatal(err)
	}
	if err := c.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("the kernel did not refuse a datagram after the end: %v", err)
	}
}

// A priority tag is read over, and a killed program leaves nothing attached.
func TestHelloTagged(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	_, lines := start(t, pair.B, "-i", pair.B.Name, "-port", "6000")
	c := dial(t, pair.A, "10.9.0.2:6000")
	ask(t, c, lines)
	raw, err := testnet.OpenRaw(pair.A)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if err := raw.Send(tagged(pair)); err != nil {
		t.Fatal(err)
	}
	if got, want := next(t, lines), "10.9.0.1:1234 3 bytes"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}

// tagged is a datagram of 3 bytes from A to B with a priority tag.
func tagged(pair *testnet.Pair) []byte {
	const headers, payload = 46, 3
	tp, err := packet.NewTemplate(packet.Config{
		SrcMAC: packet.MAC(pair.A.MAC), DstMAC: packet.MAC(pair.B.MAC),
		Src: netip.AddrPortFrom(pair.A.IP4, 1234), Dst: netip.AddrPortFrom(pair.B.IP4, 6000),
		Tagged: true, TCI: 5 << 13,
	})
	if err != nil {
		panic(err) // of the addresses of a pair
	}
	b := make([]byte, headers+payload)
	tp.Put(b, b[headers:])
	return b
}

// What is wrong with the arguments is told.
func TestHelloRefuses(t *testing.T) {
	for _, c := range []struct{ name, port, want string }{
		{"lo", "70000", "invalid port"},
		{"lo", "", "no port"},
		{"much-too-long-a-name", "5000", "much-too-long-a-name"},
	} {
		if err := hello(c.name, c.port); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("interface %q, port %q: %v; want %q in it", c.name, c.port, err, c.want)
		}
	}
	testnet.Require(t)
	if err := hello("none", "5000"); !errors.Is(err, udp.ErrNoInterface) {
		t.Errorf("no such interface: %v", err)
	}
}
