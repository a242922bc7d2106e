// SPDX-License-Identifier: MIT

// Receive takes the stream of a GigE-Vision-style camera, tells complete images from
// incomplete ones, and where what is missing was lost.
//
//	go run ./examples/camera/receive -camera 10.9.0.1 -w 0x124=1 -end 0x124=0 -http 127.0.0.1:8080
//
// It reads no description of the camera. The registers that every camera has it writes
// by itself: control, packet size, delay, where the stream goes. What a camera has
// beyond them, such as the size of images and their start, are -w and -end, in the
// order given; the camera's manual or its XML has the addresses.
//
//	                      ordinary socket
//	camera  <--- commands, heartbeats, requests to resend --- control
//	   |
//	   +---- stream ---> AF_XDP (or a socket) ---> intake ---> image buffers
//	                                                |              |
//	                                             counters     -save, -http
//
// The counters that it prints at the end are those of arv-camera-test, by name.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	log.SetFlags(0)
	cfg, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := receive(ctx, cfg, os.Stdout); err != nil {
		log.Fatal(err)
	}
}
