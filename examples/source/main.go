// SPDX-License-Identifier: MIT

// Source sends datagrams at a steady rate to iperf 2, or to examples/sink, and prints
// what that received of them.
//
//	iperf -s -u                                              # on another machine
//	go run ./examples/source -i eth0 -to ADDRESS:5001 -b 500m   # here
//
// It shows how a sender works: it reserves frames that the driver will read, writes
// its payload into them, and hands over a batch at a time.
//
//	                 +--------------------------------------------+
//	Reserve          |  room for headers  | payload               |  ours to write
//	                 +--------------------------------------------+
//	Send, with Flow  |  MAC  |  IP  | UDP | payload               |  the driver's
//	                 +--------------------------------------------+
//
// The headers come from a Flow: it knows route, neighbour and source address of the
// destination, and follows when they change. The first datagrams take the kernel
// lane, since the kernel has to find the neighbour's address; none is lost for that.
//
// They leave evenly: a udp.Pacer says when each is due. With gaps below some 100 µs that
// takes a CPU; -gaps prints how even it was.
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

	"github.com/xdpath/xdpath/examples/internal/iperf"
	"github.com/xdpath/xdpath/udp"
)

// settings are the flags.
type settings struct {
	name  string
	queue int
	to    netip.AddrPort
	rate  rate
	size  int
	time  time.Duration
	gaps  bool
}

func main() {
	log.SetFlags(0)
	var s settings
	flag.StringVar(&s.name, "i", "eth0", "interface")
	flag.IntVar(&s.queue, "queue", 0, "its queue to send by")
	flag.TextVar(&s.to, "to", netip.AddrPort{}, "address and port of the receiver")
	flag.TextVar(&s.rate, "b", rate(50e6), "payload bits a second; k, m and g are thousands, K, M and G are 1024s, as for iperf")
	flag.IntVar(&s.size, "l", 1470, "bytes of a datagram")
	flag.DurationVar(&s.time, "t", 10*time.Second, "how long to send")
	flag.BoolVar(&s.gaps, "gaps", false, "print the times from one datagram to the next")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	// From the first Ctrl-C on, which ends the sending, the next one ends all.
	context.AfterFunc(ctx, stop)
	if err := run(ctx, s, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// check tells what is wrong with the settings.
func (s settings) check() error {
	switch {
	case !s.to.IsValid() || s.to.Port() == 0 || s.to.Addr().IsUnspecified():
		return errors.New("source: -to: the receiver's address and port are required, such as 192.0.2.7:5001")
	case s.rate <= 0:
		return fmt.Errorf("source: -b %v: must be more than 0", s.rate)
	case s.size < iperf.HeaderLen:
		return fmt.Errorf("source: -l %d: must be at least %d", s.size, iperf.HeaderLen)
	case s.time <= 0:
		return fmt.Errorf("source: -t %v: must be more than 0", s.time)
	}
	if _, err := s.pacer(); err != nil {
		return fmt.Errorf("source: -b %v: %w", s.rate, err)
	}
	return nil
}

// pacer makes the datagrams leave at the rate.
func (s settings) pacer() (*udp.Pacer, error) {
	return udp.NewPacer(udp.PacerConfig{Rate: s.rate.datagrams(s.size)})
}

// run sends until the time is over or ctx ends, and prints the receiver's report.
func run(ctx context.Context, s settings, w io.Writer) (err error) {
	if err := s.check(); err != nil {
		return err
	}
	c, err := udp.Dial(ctx, udp.Config{Interface: s.name, Remote: s.to, Queues: []int{s.queue}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if s.size > c.PayloadRoom() {
		return fmt.Errorf("source: -l %d: a frame has room for %d bytes", s.size, c.PayloadRoom())
	}
	src, err := newSource(c, s, w)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "sending to %v, %d bytes each %v, by %v\n", s.to, s.size, src.pace.Stats().Gap, c.Info())
	fmt.Fprintln(w, iperf.SenderTitle)

	err = src.send(ctx)
	if err == nil {
		err = src.finish()
	}
	st, e := c.Stats()
	fmt.Fprintf(w, "total: %v\n", st)
	if s.gaps {
		fmt.Fprintln(w, src.pace.Stats())
	}
	return errors.Join(err, e)
}
