// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/xdpath/xdpath/examples/camera/assemble"
	"github.com/xdpath/xdpath/examples/camera/gv"
	"github.com/xdpath/xdpath/examples/camera/picture"
)

// config is what the flags say.
type config struct {
	camera  netip.Addr // not valid: find one
	iface   string
	via     string
	port    uint
	ring    int
	buffer  int // of a socket, in bytes
	size    int // 0: negotiate
	delay   int // -1: leave it alone
	writes  []gv.Write
	ends    []gv.Write
	resend  bool
	stream  assemble.Config
	saveDir string
	every   int
	format  string
	http    string

	interval, duration, pause time.Duration
}

// parse reads the flags.
func parse(args []string, usage io.Writer) (config, error) {
	var c config
	f := flag.NewFlagSet("receive", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Func("camera", "address of the camera; without it, the only one that answers a broadcast on -i", func(s string) (err error) {
		c.camera, err = netip.ParseAddr(s)
		return err
	})
	f.StringVar(&c.iface, "i", "", "interface; default the one that faces the camera")
	f.StringVar(&c.via, "via", "xdp", "how the stream is received: xdp or socket")
	f.UintVar(&c.port, "port", 0, "UDP port to receive on; 0: any")
	f.IntVar(&c.ring, "ring", 4096, "entries of each ring of AF_XDP, a power of two")
	f.DurationVar(&c.pause, "pause", 300*time.Microsecond, "time that packets of an image may collect in the ring: spares wakeups")
	f.IntVar(&c.buffer, "socket-buffer", 32<<20, "bytes of the receive buffer of -via socket, the kernel's bookkeeping included; 0: the system's")
	size := f.String("size", "auto", "packet size in bytes, IP header included; auto: the largest whose test packet arrives")
	f.IntVar(&c.delay, "delay", -1, "ticks of the camera's clock from packet to packet; -1: leave it as it is")
	f.Func("w", "ADDRESS=VALUE to write before the stream; may be repeated", writes(&c.writes))
	f.Func("end", "ADDRESS=VALUE to write after the stream; may be repeated", writes(&c.ends))
	f.BoolVar(&c.resend, "resend", true, "ask for missing packets, if the camera can send them again")
	f.IntVar(&c.stream.Buffers, "buffers", 16, "image buffers")
	f.Float64Var(&c.stream.ResendRatio, "resend-ratio", 0.25, "packets of an image that may be asked for, as a part of all")
	f.DurationVar(&c.stream.InitialPacketTimeout, "initial-packet-timeout", time.Millisecond, "lateness after which a packet is asked for")
	f.DurationVar(&c.stream.PacketTimeout, "packet-timeout", 20*time.Millisecond, "time after which it is asked for again")
	f.DurationVar(&c.stream.FrameRetention, "frame-retention", 100*time.Millisecond, "silence after which an image is given up")
	f.StringVar(&c.saveDir, "save", "", "existing folder to save complete images in")
	f.IntVar(&c.every, "every", 1, "save every nth")
	f.StringVar(&c.format, "format", picture.PNG, "of files: png, or pgm (ppm for colours)")
	f.StringVar(&c.http, "http", "", "address of a page that shows images and counters, such as 127.0.0.1:8080")
	f.DurationVar(&c.interval, "interval", time.Second, "time from line to line; 0: at the end only")
	f.DurationVar(&c.duration, "duration", 0, "how long to receive; 0: until Ctrl-C")
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		f.SetOutput(usage)
		f.Usage()
		return c, err
	} else if err != nil {
		return c, fmt.Errorf("receive: %w (-h lists the flags)", err)
	}
	if f.NArg() > 0 {
		return c, fmt.Errorf("receive: %q: there are flags only", f.Args())
	}
	return c, c.validate(*size)
}

// writes reads ADDRESS=VALUE, both in the notation of Go: 0x for hexadecimal.
func writes(to *[]gv.Write) func(string) error {
	return func(s string) error {
		address, value, ok := strings.Cut(s, "=")
		if !ok {
			return errors.New("must be ADDRESS=VALUE, such as 0x104=512")
		}
		a, err := strconv.ParseUint(address, 0, 32)
		if err != nil {
			return err
		}
		v, err := strconv.ParseUint(value, 0, 32)
		if err != nil {
			return err
		}
		*to = append(*to, gv.Write{Address: uint32(a), Value: uint32(v)})
		return nil
	}
}

func (c *config) validate(size string) error {
	var errs []error
	bad := func(name string, value any, rule string) {
		errs = append(errs, fmt.Errorf("receive: -%s %v: must be %s", name, value, rule))
	}
	if size != "auto" {
		var err error
		if c.size, err = strconv.Atoi(size); err != nil || gv.PacketPayload(c.size, true) < 1 || c.size > 65535 {
			bad("size", size, "auto, or 49 to 65535 bytes")
		}
	}
	if c.via != "xdp" && c.via != "socket" {
		bad("via", c.via, "xdp or socket")
	}
	if c.port > 65535 {
		bad("port", c.port, "0 to 65535")
	}
	if c.every < 1 {
		bad("every", c.every, "1 or more")
	}
	if c.format != picture.PNG && c.format != picture.PNM {
		bad("format", c.format, "png or pgm")
	}
	if c.interval < 0 || c.duration < 0 || c.pause < 0 {
		bad("interval, -duration, -pause", fmt.Sprint(c.interval, c.duration, c.pause), "not negative")
	}
	if !c.camera.IsValid() && c.iface == "" {
		errs = append(errs, errors.New("receive: -camera or -i is needed"))
	}
	if c.saveDir != "" {
		if st, err := os.Stat(c.saveDir); err != nil {
			errs = append(errs, fmt.Errorf("receive: -save: %w", err))
		} else if !st.IsDir() {
			bad("save", c.saveDir, "a folder")
		}
	}
	return errors.Join(errs...)
}
