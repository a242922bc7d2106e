// SPDX-License-Identifier: MIT

package udp_test

import (
	"context"
	"encoding/binary"
	"errors"
	"log"
	"net/netip"
	"time"

	"github.com/xdpath/xdpath/udp"
	"github.com/xdpath/xdpath/umem"
)

// A batch is sent to its end: datagrams that are refused are given up, and what the
// ring had no room for is tried again.
func ExampleQueue_Send() {
	c, err := udp.Listen(context.Background(), udp.Config{Interface: "eth0", Local: netip.MustParseAddrPort("10.0.0.1:5000")})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	q, flow := c.Queues()[0], c.Flow(netip.MustParseAddrPort("10.0.0.2:5000"))

	batch := make([]udp.Outgoing, 64)
	n, err := q.ReserveContext(context.Background(), batch)
	if err != nil {
		log.Fatal(err)
	}
	for i := range batch[:n] {
		o := &batch[i]
		o.Flow = flow
		o.Payload = o.Payload[:copy(o.Payload, "hello")] // in the frame that it leaves in
	}
	for left := batch[:n]; len(left) > 0; {
		n, err := q.Send(left)
		var refused *udp.SendError
		if errors.As(err, &refused) {
			log.Print(err)
			if err := q.Abort(left[:n]); err != nil { // those of the first n that have not gone
				log.Print(err)
			}
		} else if err != nil && !errors.Is(err, udp.ErrLost) { // lost by the device, and counted
			log.Fatal(err)
		}
		left = left[n:]
	}
}

// An image is sent out of the memory that it lies in, as numbered datagrams 20 µs
// apart. Its bytes may change again when its cookie is back.
func ExampleQueue_SendTrain() {
	const image = 1 << 20
	// One queue has 2048 frames each way by default; the rest of the chunks is for
	// images.
	area, err := umem.New(umem.Config{Chunks: 4096 + 2*image/2048})
	if err != nil {
		log.Fatal(err)
	}
	defer area.Close()
	region, err := area.NewRegion(2 * image)
	if err != nil {
		log.Fatal(err)
	}
	c, err := udp.Listen(context.Background(), udp.Config{
		Interface: "eth0", Local: netip.MustParseAddrPort("10.0.0.1:5000"), Queues: []int{0}, Area: area,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	pacer, err := udp.NewPacer(udp.PacerConfig{Gap: 20 * time.Microsecond})
	if err != nil {
		log.Fatal(err)
	}
	data, err := region.Slice(0, image)
	if err != nil {
		log.Fatal(err)
	}
	clear(data.Bytes()) // draw it
	q, flow := c.Queues()[0], c.Flow(netip.MustParseAddrPort("10.0.0.2:5000"))
	_, err = q.SendTrain(context.Background(), udp.Train{
		Flow: flow, Data: data, Size: 1400, Cookie: 1, Pacer: pacer,
		Header: func(i int, room []byte) int {
			binary.BigEndian.PutUint32(room, uint32(i))
			return 4
		},
	})
	if err != nil {
		log.Print(err)
	}
	var cookies [4]uint64
	for q.Completed(cookies[:]) == 0 {
		time.Sleep(time.Millisecond)
	}
	// The first image's place is free again.
}
