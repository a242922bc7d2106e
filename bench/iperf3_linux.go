// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"

	"github.com/xdpath/xdpath/bench/internal/iperf3"
	"github.com/xdpath/xdpath/udp"
)

// iperf3Port is the port that iperf3 has by itself.
const iperf3Port = 5201

// iperf3Options are the flags that both sides have.
type iperf3Options struct {
	iface, path string
	port        int
	json        bool
}

func (o *iperf3Options) define(fs *flag.FlagSet) {
	fs.SetOutput(io.Discard)
	fs.StringVar(&o.iface, "i", "", "`interface` that carries the datagrams")
	fs.StringVar(&o.path, "path", "xdp", "what carries them: xdp or socket")
	fs.IntVar(&o.port, "p", iperf3Port, "port of the server, TCP and UDP")
	fs.BoolVar(&o.json, "J", false, "results as JSON, one line a test")
}

func (o *iperf3Options) validate() error {
	var errs []error
	if o.iface == "" {
		errs = append(errs, errors.New("-i: an interface is required"))
	}
	if o.path != "xdp" && o.path != "socket" {
		errs = append(errs, fmt.Errorf("-path %s: xdp or socket", o.path))
	}
	return errors.Join(append(errs, within("-p", o.port, 1, 65535))...)
}

// open opens the UDP port. peer is the only one that it receives from, or not valid.
func (o *iperf3Options) open(ctx context.Context, local, peer netip.AddrPort) (iperf3.Port, error) {
	if o.path == "socket" {
		return iperf3.OpenSocket(local)
	}
	return iperf3.OpenXDP(ctx, udp.Config{Interface: o.iface, Local: local, Remote: peer})
}

// pace makes pacers.
func pace(rate float64) (iperf3.Pacer, error) { return udp.NewPacer(udp.PacerConfig{Rate: rate}) }

// parse reads the flags of a command; usage goes to w if it is asked for.
func parse(fs *flag.FlagSet, args []string, text string, w io.Writer) error {
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(w, text)
		fs.SetOutput(w)
		fs.PrintDefaults()
	}
	return err
}

// misused is the exit status for what came of reading flags.
func misused(err error, name string, stderr io.Writer) int {
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	fmt.Fprintf(stderr, "bench %s: %v\n", name, err)
	return exitUsage
}

const serverUsage = `usage: bench iperf3-server -i interface [flags]

Answers unmodified clients (iperf3 -c HOST -u, with -R -P -b -l -t -n -k -O and
--udp-counters-64bit), one at a time: control over an ordinary TCP socket,
datagrams over the path. Serves until it is interrupted. A rate is sent in groups
of a millisecond, as iperf3 does (--pacing-timer); time that other processes took
for more than 10 ms is not made up for.

`

func runIperf3Server(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	const name = "iperf3-server"
	var o iperf3Options
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	o.define(fs)
	bind := fs.String("B", "", "`address` to serve on, default the interface's first")
	once := fs.Bool("1", false, "serve one client and end")
	longest := fs.Duration("longest", time.Hour, "refuse tests that would take longer")
	err := parse(fs, args, serverUsage, stdout)
	if err == nil && fs.NArg() > 0 {
		err = fmt.Errorf("argument %q", fs.Arg(0))
	}
	if err == nil {
		err = o.validate()
	}
	if err == nil && (*longest <= 0 || *longest > iperf3.MaxTime) {
		err = fmt.Errorf("-longest %v: must be more than 0, and at most %v", *longest, iperf3.MaxTime)
	}
	if err != nil {
		return misused(err, name, stderr)
	}
	local, err := o.local(*bind)
	if err != nil {
		return misused(err, name, stderr)
	}
	if err := o.serve(ctx, local, *once, *longest, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return exitBroken
	}
	return exitOK
}

// local is the address to serve on.
func (o *iperf3Options) local(bind string) (netip.AddrPort, error) {
	if bind != "" {
		addr, err := netip.ParseAddr(bind)
		return netip.AddrPortFrom(addr, uint16(o.port)), err
	}
	ifi, err := net.InterfaceByName(o.iface)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("-i %s: %w", o.iface, err)
	}
	addrs, err := ifi.Addrs()
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("-i %s: %w", o.iface, err)
	}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil && !p.Addr().IsLinkLocalUnicast() {
			return netip.AddrPortFrom(p.Addr(), uint16(o.port)), nil
		}
	}
	return netip.AddrPort{}, fmt.Errorf("-i %s: it has no address; give it one, or -B", o.iface)
}

// serve opens both ports and serves until ctx is done.
func (o *iperf3Options) serve(ctx context.Context, local netip.AddrPort, once bool, longest time.Duration, stdout, stderr io.Writer) (err error) {
	l, err := net.Listen("tcp", local.String())
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }()
	port, err := o.open(ctx, local, netip.AddrPort{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, port.Close()) }()
	if !o.json {
		fmt.Fprintf(stdout, "serving on %v\n%v\n", local, port)
	}
	s := iperf3.Server{Port: port, Pacer: pace, Longest: longest, Report: func(out iperf3.Outcome) { o.print(out, stdout, stderr) }}
	return s.Serve(ctx, l, once)
}

// print writes what came of a test.
func (o *iperf3Options) print(out iperf3.Outcome, stdout, stderr io.Writer) {
	if out.Err != nil {
		fmt.Fprintln(stderr, "bench:", out.Err)
		return
	}
	write := out.WriteText
	if o.json {
		write = out.WriteJSON
	}
	if err := write(stdout); err != nil {
		fmt.Fprintln(stderr, "bench: write:", err)
	}
}
