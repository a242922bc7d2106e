// SPDX-License-Identifier: MIT

package route_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/xdpath/xdpath/internal/route"
)

// A sender waits until the next hop is resolved, keeps it while it sends, and looks
// at the generation for each datagram.
func ExampleTable() {
	const eth0 = 2
	dst := netip.MustParseAddr("192.0.2.1")
	table, err := route.Open(route.Config{Ifindex: eth0})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = table.Close() }()
	a, err := table.Resolve(route.Query{Dst: dst})
	for err == nil && a.Kind == route.Unresolved && !a.Failed {
		if err := table.Solicit(a.NextHop); errors.Is(err, route.ErrNotPermitted) {
			break // send through a kernel socket: it resolves the next hop as well
		}
		if table.WaitChange(context.Background(), a.Gen) != nil {
			break
		}
		a, err = table.Resolve(route.Query{Dst: dst})
	}
	if err != nil || !a.Kind.Direct() {
		return
	}
	if err := table.Keep(a.NextHop); err == nil {
		defer table.Forget(a.NextHop)
	}
	for range 1000 {
		if a.Gen != table.Generation() {
			a, err = table.Resolve(route.Query{Dst: dst})
		}
		if err == nil && a.Kind.Direct() {
			fmt.Println("one frame to", a.MAC, "from", a.Src)
		}
	}
}
