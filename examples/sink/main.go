// SPDX-License-Identifier: MIT

// Sink receives what iperf 2, or examples/source, sends over UDP, and tells how much
// came, how much was lost and how evenly it came, as iperf's own server would.
//
//	go run ./examples/sink -i eth0          # here
//	iperf -u -c ADDRESS -b 500m             # on another machine
//
// It shows how a receiver borrows: datagrams are read where the driver wrote them, in
// batches, and given back as a batch; and that two lanes come out of one call.
//
//	            queue 0 --- fast lane ---+
//	interface   queue 1 --- fast lane ---+--- ReceiveContext: up to 64 at once, read,
//	            the kernel's socket -----+    counted by sender, and Release gives
//	             (fragments and such)         their chunks back to the driver
//
// Each queue has a goroutine of its own. They share only the table of senders, whose
// lock is taken once a batch. Nothing is printed from there: a terminal that
// stands still must not stop reception.
//
// The last datagram of a test is turned into its answer, in the same frame.
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
	"time"

	"github.com/xdpath/xdpath/udp"
)

func main() {
	log.SetFlags(0)
	name := flag.String("i", "eth0", "interface")
	port := flag.Uint("port", 5001, "UDP port, of any address")
	interval := flag.Duration("interval", time.Second, "time from report to report; 0: at the end only")
	flag.Parse()
	cfg, err := config(*name, *port, *interval)
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := sink(ctx, cfg, *interval, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// socketBuffer is what may wait in the kernel lane. The default holds a dozen datagrams
// of several fragments: less than comes while a busy machine lets us wait.
const socketBuffer = 4 << 20

// config makes the flags what package udp wants.
func config(name string, port uint, interval time.Duration) (udp.Config, error) {
	if port == 0 || port > 65535 {
		return udp.Config{}, fmt.Errorf("sink: -port %d: must be 1 to 65535", port)
	}
	if interval < 0 {
		return udp.Config{}, fmt.Errorf("sink: -interval %v: must not be negative", interval)
	}
	return udp.Config{
		Interface: name, Local: netip.AddrPortFrom(netip.Addr{}, uint16(port)),
		ReceiveBuffer: socketBuffer,
	}, nil
}

// sink receives on all queues of the interface until ctx ends.
func sink(ctx context.Context, cfg udp.Config, interval time.Duration, w io.Writer) (err error) {
	c, err := udp.Listen(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	fmt.Fprintf(w, "listening on port %d, %v\n", c.LocalAddr().Port(), c.Info())

	t := newTable(interval)
	err = run(ctx, c.Queues(), t, w)
	st, e := c.Stats()
	t.writeEnd(w)
	fmt.Fprintf(w, "total: %v\n", st)
	return errors.Join(err, e)
}

// run has all queues received from until ctx ends or one receiver does, and returns
// the error unless ctx was the reason.
func run(ctx context.Context, queues []*udp.Queue, t *table, w io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error)
	for _, q := range queues {
		go func() { ended <- newReceiver(q, t).run(ctx) }()
	}
	printed := make(chan struct{})
	go func() {
		t.print(ctx, w)
		close(printed)
	}()
	var errs []error
	for range queues {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			errs = append(errs, err)
		}
		stop() // what comes to this queue would be missing
	}
	<-printed
	return errors.Join(errs...)
}
