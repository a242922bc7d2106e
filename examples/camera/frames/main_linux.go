// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"
)

func main() {
	log.SetFlags(0)
	p, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	rows, err := p.run(ctx, os.Stdout)
	if len(rows) > 0 {
		write(os.Stdout, p, rows)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// plan is what the flags say.
type plan struct {
	mtus            []int
	vias            []string
	width, height   int
	rate            float64
	delay           time.Duration
	duration, slice time.Duration
	buffers         int
}

// bytes are those of an image.
func (p plan) bytes() int { return p.width * p.height }

func parse(args []string, usage io.Writer) (p plan, err error) {
	f := flag.NewFlagSet("frames", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.DurationVar(&p.duration, "duration", time.Minute, "time for each way at each MTU")
	f.DurationVar(&p.slice, "slice", 5*time.Second, "time after which the next way has its turn")
	mtus := f.String("mtu", "1500,8000", "MTUs of the link, one after the other")
	vias := f.String("via", "xdp,mmsg", "ways, in turns: xdp, mmsg")
	f.IntVar(&p.width, "width", 1280, "pixels")
	f.IntVar(&p.height, "height", 1024, "pixels")
	f.Float64Var(&p.rate, "rate", 50, "images a second")
	f.DurationVar(&p.delay, "delay", 0, "from packet to packet, xdp only")
	f.IntVar(&p.buffers, "buffers", 8, "image buffers of the receiver")
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		f.SetOutput(usage)
		f.Usage()
		return p, err
	} else if err != nil {
		return p, fmt.Errorf("frames: %w (-h lists the flags)", err)
	}
	if f.NArg() > 0 {
		return p, fmt.Errorf("frames: %q: there are flags only", f.Args())
	}
	for _, s := range strings.Split(*mtus, ",") {
		mtu, err := strconv.Atoi(s)
		if err != nil || mtu < 576 || mtu > 65535 {
			return p, fmt.Errorf("frames: -mtu %s: must be numbers from 576 to 65535", *mtus)
		}
		p.mtus = append(p.mtus, mtu)
	}
	p.vias = strings.Split(*vias, ",")
	for _, v := range p.vias {
		if ways[v] == nil {
			return p, fmt.Errorf("frames: -via %s: must be of xdp and mmsg", *vias)
		}
	}
	if p.slice < 2*warmUp || p.duration < p.slice {
		return p, fmt.Errorf("frames: -slice %v of -duration %v: must be at least %v, and not longer than that", p.slice, p.duration, 2*warmUp)
	}
	return p, nil
}
