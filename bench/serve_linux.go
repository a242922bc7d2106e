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
	"sync"
	"time"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/remote"
)

const serveUsage = `usage: bench serve [flags]

Lends an interface of this machine to the runs of a bench on another one:

  here   head -c 24 /dev/urandom | base64 >token
         bench serve -i eth0 -listen 10.9.0.2 -token token
  there  bench -peer 10.9.0.2 -i eth0 -token token

It runs the tests that this program has, one run at a time, for as long as -limit
says at most, and nothing else that it is told. It changes no settings of the
interface. Whoever has the token can have it send datagrams to machines in the
networks of the interface. The control connection is not encrypted.

Flags:
`

// serveOptions is what the command line asks for.
type serveOptions struct {
	listen, iface string
	secret        secret
	cpu           int
	limit         time.Duration
}

func parseServe(args []string, w io.Writer) (serveOptions, error) {
	var o serveOptions
	fs := flag.NewFlagSet("bench serve", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&o.listen, "listen", "127.0.0.1:"+defaultPort, "`address[:port]` of the control port; one that others can reach needs a token")
	fs.StringVar(&o.iface, "i", "", "`interface` to run tests on; without it, the one that a client comes in by")
	fs.IntVar(&o.cpu, "cpu", -1, "`processor` for the tests; -1 is the last one")
	fs.DurationVar(&o.limit, "limit", time.Hour, "longest that one run may take")
	o.secret.define(fs)
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(w, serveUsage)
			fs.SetOutput(w)
			fs.PrintDefaults()
		}
		return o, err
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("argument %q: bench serve takes flags only", fs.Arg(0))
	}
	if o.limit <= 0 || o.limit > control.MaxSession {
		return o, fmt.Errorf("-limit %v: must be above 0 and at most %v", o.limit, control.MaxSession)
	}
	if _, _, err := net.SplitHostPort(o.listen); err != nil {
		o.listen = net.JoinHostPort(o.listen, defaultPort)
	}
	return o, nil
}

// guarded tells whether a server that listens there is as closed as it must be.
func guarded(listen string, token control.Token) error {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("-listen %s: %w", listen, err)
	}
	addr, err := netip.ParseAddr(host)
	if err == nil && addr.IsLoopback() || host == "localhost" || len(token) > 0 {
		return nil
	}
	return fmt.Errorf("-listen %s: others can reach that, so it needs a token: give -token a file with at least %d bytes that the other machine has too", listen, control.MinToken)
}

// runServe is "bench serve": arguments after that word in, exit status out.
func runServe(ctx context.Context, args []string, _, stderr io.Writer) int {
	o, err := parseServe(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	var token control.Token
	var processor int
	if err == nil {
		token, err = o.secret.read()
	}
	if err == nil {
		err = guarded(o.listen, token)
	}
	if err == nil {
		processor, err = pick(o.cpu)
	}
	if err != nil {
		fmt.Fprintln(stderr, "bench serve:", err)
		return exitUsage
	}
	if err := serve(ctx, o, token, processor, stderr); err != nil {
		fmt.Fprintln(stderr, "bench serve:", err)
		return exitBroken
	}
	return exitOK
}

// serve serves until it is told to end, which is no error.
func serve(ctx context.Context, o serveOptions, token control.Token, processor int, stderr io.Writer) error {
	if o.iface != "" {
		if _, err := net.InterfaceByName(o.iface); err != nil {
			return fmt.Errorf("-i %s: %w", o.iface, err)
		}
	}
	l, err := remote.Listen(ctx, o.listen)
	if err != nil {
		return err
	}
	var mu sync.Mutex // one line at a time
	log := func(line string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(stderr, "bench serve:", line)
	}
	log("listens at " + l.Addr().String())
	return remote.NewServer(remote.ServerConfig{
		Interface: o.iface, Token: token, Limit: o.limit, Start: remote.Spawn(workerCommand, processor), Log: log,
	}).Serve(ctx, l)
}
