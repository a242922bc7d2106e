// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/bench/internal/iperf3"
)

const clientUsage = `usage: bench iperf3-client HOST -i interface [flags]

Measures against an unmodified server (iperf3 -s): control over an ordinary TCP
socket, datagrams over the path, in one stream. Rates and sizes are as iperf3 has them: K, M and
G are powers of 1000 for -b, of 1024 for -n and -l.

`

// dialWait bounds the wait for a server.
const dialWait = 10 * time.Second

func runIperf3Client(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	const name = "iperf3-client"
	o, c, host, err := parseClient(args, stdout)
	if err != nil {
		return misused(err, name, stderr)
	}
	out, err := o.measure(ctx, &c, host)
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		if ctx.Err() != nil {
			return exitInterrupted
		}
		return exitBroken
	}
	o.print(out, stdout, stderr)
	return exitOK
}

// parseClient reads the arguments; HOST may stand before the flags or after them.
func parseClient(args []string, w io.Writer) (o iperf3Options, c iperf3.Client, host string, err error) {
	fs := flag.NewFlagSet("iperf3-client", flag.ContinueOnError)
	o.define(fs)
	rate := fs.String("b", "1M", "payload `bits` a second, 0 for as many as go")
	num := fs.String("n", "", "end after so many `bytes`, instead of -t")
	size := fs.String("l", "", "payload `bytes` of a datagram, default what fits the connection")
	window := fs.String("w", "", "`bytes` of the server's socket buffer")
	fs.Float64Var(&c.Params.Time, "t", 10, "length of the test in `seconds`")
	fs.Float64Var(&c.Params.Omit, "O", 0, "`seconds` at the start that do not count")
	reverse := fs.Bool("R", false, "the server sends")
	wide := fs.Bool("udp-counters-64bit", false, "counters of 64 bits")
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		host, args = args[0], args[1:]
	}
	if err = parse(fs, args, clientUsage, w); err != nil {
		return o, c, host, err
	}
	rest := fs.Args()
	if host == "" && len(rest) > 0 {
		host, rest = rest[0], rest[1:]
	}
	switch {
	case host == "":
		err = errors.New("no host")
	case len(rest) > 0:
		err = fmt.Errorf("argument %q", rest[0])
	}
	p := &c.Params
	p.Reverse, p.Wide, p.Parallel, c.Pacer = iperf3.Bool(*reverse), iperf3.Bool(*wide), 1, pace
	errs := []error{err, o.validate(), amount("-b", *rate, 1000, &p.Bandwidth), amount("-n", *num, 1024, &p.Num), amount("-l", *size, 1024, &p.Len), amount("-w", *window, 1024, &p.Window)}
	if p.Num > 0 {
		p.Time = 0
	} else if !(p.Time > 0) {
		errs = append(errs, fmt.Errorf("-t %v: must be more than 0", p.Time))
	}
	return o, c, host, errors.Join(errs...)
}

// amount reads a number with a suffix; an empty text leaves what is there.
func amount(name, text string, kilo float64, to *float64) error {
	if text == "" {
		return nil
	}
	digits, factor := text, 1.0
	if i := strings.IndexByte("KMGT", strings.ToUpper(text)[len(text)-1]); i >= 0 {
		digits, factor = text[:len(text)-1], math.Pow(kilo, float64(i+1))
	}
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil || !(v >= 0 && v*factor < math.MaxInt64) {
		return fmt.Errorf("%s %s: not a number, with K, M, G or T if you like", name, text)
	}
	*to = math.Floor(v * factor)
	return nil
}

// measure makes one test.
func (o *iperf3Options) measure(ctx context.Context, c *iperf3.Client, host string) (out iperf3.Outcome, err error) {
	// Before the server begins a test that nobody would end.
	if _, err := net.InterfaceByName(o.iface); err != nil {
		return out, fmt.Errorf("-i %s: %w", o.iface, err)
	}
	dialer := net.Dialer{Timeout: dialWait}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(o.port)))
	if err != nil {
		return out, err
	}
	defer func() { _ = conn.Close() }() // a test that ran has closed it
	server, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil {
		return out, err
	}
	here, err := netip.ParseAddrPort(conn.LocalAddr().String())
	if err != nil {
		return out, err
	}
	if c.Params.Len == 0 {
		c.Params.Len = segment(conn)
	}
	port, err := o.open(ctx, netip.AddrPortFrom(here.Addr().Unmap(), 0), server)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, port.Close()) }()
	return c.Run(ctx, conn, port, server)
}

// segment is what one packet of the connection carries, which a datagram does too.
func segment(conn net.Conn) float64 {
	const usual = 1448
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		return usual
	}
	size := 0
	err = raw.Control(func(fd uintptr) { size, _ = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG) })
	if err != nil || size < iperf3.MinSize {
		return usual
	}
	return float64(size)
}
