// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/xdpath/xdpath/umem"
)

func main() {
	a := flag.String("a", "eth0", "first interface")
	b := flag.String("b", "", "second interface; none: echo on the first")
	queue := flag.Int("queue", 0, "queue of the interfaces")
	port := flag.Uint("port", 5000, "UDP port whose datagrams are forwarded")
	flag.Parse()
	if *port == 0 || *port > 65535 {
		log.Fatalf("l2fwd: -port %d: must be 1 to 65535", *port)
	}
	names := []string{*a}
	if *b != "" {
		names = append(names, *b)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := l2fwd(ctx, names, *queue, uint16(*port)); err != nil {
		log.Fatal(err)
	}
}

// l2fwd makes the memory, forwards until ctx ends, and leaves nothing behind.
func l2fwd(ctx context.Context, names []string, queue int, port uint16) (err error) {
	area, err := umem.New(umem.Config{Chunks: len(names) * poolSize})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, area.Close()) }()
	f, err := newForwarder(area, names, queue, port)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, f.close())
		for _, d := range f.directions {
			fmt.Println(d)
		}
	}()
	if err := f.run(ctx, os.Stdout); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
