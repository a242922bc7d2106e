// SPDX-License-Identifier: MIT

// Echo sends each UDP datagram that comes to a port back to its sender, in the frame
// that it came in, until Ctrl-C.
//
//	go run ./examples/echo -i eth0 -port 7000
//
// It shows how a server answers without a copy. A datagram lies where the driver
// wrote it, headers and all:
//
//	                 the same chunk of memory
//	+-------------------------------------------------------+
//	| MAC from,to | IP from,to | UDP from,to | payload      |   Receive
//	+-------------------------------------------------------+
//	       x             x            x        as it is         Reply: they change places
//	+-------------------------------------------------------+
//	| MAC to,from | IP to,from | UDP to,from | payload      |   Send
//	+-------------------------------------------------------+
//
// No route and no neighbour is looked up: the answer goes back where the question came
// from. What comes by the kernel lane (see package udp) is copied, and answered the
// same way.
//
// Sockperf can measure it: sockperf pp -i ADDRESS -p 7000. See sockperf.go.
//
// Whoever can forge a source address can aim an echo at somebody else: it is not
// for open networks.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/netip"
	"os"
	"os/signal"

	"github.com/xdpath/xdpath/udp"
	"github.com/xdpath/xdpath/xsk"
)

func main() {
	log.SetFlags(0)
	name := flag.String("i", "eth0", "interface")
	port := flag.Uint("port", 7000, "UDP port, of any address")
	wait := flag.String("wait", "adaptive", "how to wait: adaptive, block (least CPU) or busy (least latency, one CPU a queue)")
	flag.Parse()
	cfg, err := config(*name, *port, *wait)
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := echo(ctx, cfg, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// config makes the flags what package udp wants.
func config(name string, port uint, wait string) (udp.Config, error) {
	if port == 0 || port > 65535 {
		return udp.Config{}, fmt.Errorf("echo: -port %d: must be 1 to 65535", port)
	}
	for _, w := range []xsk.Wait{xsk.Adaptive, xsk.Block, xsk.Busy} {
		if w.String() == wait {
			return udp.Config{Interface: name, Local: netip.AddrPortFrom(netip.Addr{}, uint16(port)), Wait: w}, nil
		}
	}
	return udp.Config{}, fmt.Errorf("echo: -wait %q: must be adaptive, block or busy", wait)
}

// echo answers on all queues of the interface, one goroutine each, until ctx ends.
func echo(ctx context.Context, cfg udp.Config, w io.Writer) (err error) {
	c, err := udp.Listen(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	fmt.Fprintf(w, "listening on port %d, %v\n", c.LocalAddr().Port(), c.Info())

	var answerers []*answerer
	for _, q := range c.Queues() {
		answerers = append(answerers, newAnswerer(q))
	}
	err = run(ctx, answerers, func(ctx context.Context) { report(ctx, c, w) })
	st, e := c.Stats()
	fmt.Fprintf(w, "total: %v; %v\n", st, unsent(answerers))
	return errors.Join(err, e)
}

// run has all answerers at work until ctx ends or one of them does, and returns the
// error unless ctx was the reason.
func run(ctx context.Context, answerers []*answerer, beside func(context.Context)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error)
	for _, a := range answerers {
		go func() { ended <- a.run(ctx) }()
	}
	reported := make(chan struct{})
	go func() {
		beside(ctx)
		close(reported)
	}()
	var errs []error
	for range answerers {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			errs = append(errs, err)
		}
		stop() // one queue less is not the service that was asked for
	}
	<-reported
	return errors.Join(errs...)
}
