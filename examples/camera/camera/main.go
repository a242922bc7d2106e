// SPDX-License-Identifier: MIT

// Camera is a virtual GigE-Vision-style camera on an interface: programs such as
// Aravis's viewer find it, configure it, and watch its test pattern.
//
//	go run ./examples/camera/camera -i eth0      # here, as root
//	arv-viewer-0.8                               # on another machine of the network
//
// Its stream goes out by AF_XDP from the memory that the images are drawn into; with
// -via socket by an ordinary socket, to compare. Package device is the camera, and
// this is its switch: flags, and a line of counters a second.
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
	"syscall"
	"time"

	"github.com/xdpath/xdpath/examples/camera/device"
	"github.com/xdpath/xdpath/examples/camera/gv"
	"github.com/xdpath/xdpath/udp"
)

func main() {
	log.SetFlags(0)
	cfg, err := parse(flag.CommandLine, os.Args[1:])
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// From the first Ctrl-C on, which ends the camera, the next one ends all.
	context.AfterFunc(ctx, stop)
	if err := run(ctx, cfg, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// ways are what -via and -gather can be.
var (
	vias    = map[string]device.Via{"xdp": device.XDP, "socket": device.Socket}
	gathers = map[string]udp.GatherPolicy{"auto": udp.GatherAuto, "always": udp.GatherAlways, "copy": udp.GatherCopy}
)

// parse reads the flags.
func parse(f *flag.FlagSet, args []string) (cfg device.Config, err error) {
	f.StringVar(&cfg.Interface, "i", "eth0", "interface")
	f.StringVar(&cfg.Serial, "serial", "1", "serial number: viewers know the camera as xdpath-`SERIAL`")
	size := f.String("size", "1280x1024", "pixels of the sensor, `WxH`")
	format := f.String("format", "Mono8", "pixel format: Mono8, Mono16, BayerRG8 or RGB8")
	f.Float64Var(&cfg.Rate, "rate", 50, "images a second")
	f.IntVar(&cfg.PacketSize, "packet", 0, "packet size with the headers of IP and UDP; 0: 1500, or the MTU if that is less")
	f.DurationVar(&cfg.Delay, "delay", 0, "time from packet to packet")
	f.BoolVar(&cfg.Extended, "extended", false, "ids of 64 bits")
	f.Uint64Var(&cfg.FirstBlock, "first", 1, "id of the first image: 65535 is followed by 1, but not with -extended")
	f.IntVar(&cfg.Images, "images", 8, "how many images are kept for packets to be sent again")
	via := f.String("via", "xdp", "how to stream: xdp, or socket for an ordinary one")
	gather := f.String("gather", "auto", "with xdp: auto, always (from where the image is) or copy")
	f.Float64Var(&cfg.Faults.Suppress, "suppress", 0, "share of packets, from 0 to 1, that are not sent at first")
	f.Float64Var(&cfg.Faults.Duplicate, "duplicate", 0, "share that is sent twice")
	f.Float64Var(&cfg.Faults.Reorder, "reorder", 0, "share that is sent after the next one")
	f.Uint64Var(&cfg.Faults.Seed, "seed", 0, "which ones: the same seed, the same packets")
	if err := f.Parse(args); err != nil {
		return cfg, err
	}
	var errs []error
	if _, err := fmt.Sscanf(*size, "%dx%d", &cfg.Width, &cfg.Height); err != nil || cfg.Width == 0 || cfg.Height == 0 {
		errs = append(errs, fmt.Errorf("camera: -size %s: want such as 1280x1024", *size))
	}
	if cfg.Format, err = gv.ParsePixelFormat(*format); err != nil {
		errs = append(errs, fmt.Errorf("camera: -format: %w", err))
	}
	var ok bool
	if cfg.Via, ok = vias[*via]; !ok {
		errs = append(errs, fmt.Errorf("camera: -via %s: want xdp or socket", *via))
	}
	if cfg.Gather, ok = gathers[*gather]; !ok {
		errs = append(errs, fmt.Errorf("camera: -gather %s: want auto, always or copy", *gather))
	}
	return cfg, errors.Join(errs...)
}

// run is a camera until ctx ends.
func run(ctx context.Context, cfg device.Config, w io.Writer) error {
	d, err := device.Open(ctx, cfg)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "camera xdpath-%s listens on %s; stream by %s\n", cfg.Serial, cfg.Interface, d)
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var said error
	for last := d.Stats(); ; {
		select {
		case err := <-ended:
			fmt.Fprintf(w, "total: %v\n", d.Stats())
			if gaps := d.Gaps(); gaps != "" {
				fmt.Fprintf(w, "packets left with %s\n", gaps)
			}
			return err
		case <-tick.C:
		}
		now := d.Stats()
		if now != last {
			fmt.Fprintf(w, "%3d images/s: %v\n", now.Images-last.Images, now)
		}
		if err := d.Latest(); err != nil && err != said {
			fmt.Fprintf(w, "not sent: %v\n", err)
			said = err
		}
		last = now
	}
}
