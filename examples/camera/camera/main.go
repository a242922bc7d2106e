// SPDX-License-Identifier: MIT

// Camera is a virtual camera on an interface.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/xdpath/xdpath/examples/camera/device"
)

func main() {
	var cfg device.Config
	flag.StringVar(&cfg.Interface, "i", "eth0", "")
	flag.Float64Var(&cfg.Faults.Suppress, "suppress", 0, "")
	flag.BoolVar(&cfg.Extended, "extended", false, "")
	flag.Parse()
	cfg.Via = device.Socket
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	d, err := device.Open(ctx, cfg)
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		for range time.Tick(time.Second) {
			fmt.Println(d.Stats(), d.Latest())
		}
	}()
	if err := d.Run(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Stats(), d.Latest())
}
