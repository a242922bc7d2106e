// SPDX-License-Identifier: MIT

package lane_test

import (
	"fmt"
	"log"
	"net/netip"

	"github.com/xdpath/xdpath/internal/lane"
)

// A lane that sends itself two datagrams in one call and receives them in another.
func Example() {
	l, err := lane.Open(lane.Config{Local: netip.MustParseAddrPort("127.0.0.1:0")})
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()

	out := []lane.Outgoing{
		{Payload: []byte("one"), Dst: l.LocalAddr()},
		{Payload: []byte("two"), Dst: l.LocalAddr(), TTL: 3},
	}
	if n, err := l.Send(out); n < len(out) {
		log.Fatal(n, err) // err is about out[n]; nil: the send buffer is full
	}

	msgs := make([]lane.Message, 16)
	for got := 0; got < len(out); {
		n, err := l.Receive(msgs) // 0 and nil: nothing there, wait for l.FD()
		if err != nil {
			log.Fatal(err)
		}
		for _, m := range msgs[:n] {
			fmt.Printf("%s from %v to %v, TTL %d\n", m.Payload, m.Src.Addr(), m.Dst.Addr(), m.TTL)
		}
		l.Release(msgs[:n])
		got += n
	}
	// Output:
	// one from 127.0.0.1 to 127.0.0.1, TTL 64
	// two from 127.0.0.1 to 127.0.0.1, TTL 3
}
