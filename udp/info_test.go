// SPDX-License-Identifier: MIT

package udp

import (
	"testing"

	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/xsk"
)

func TestInfoString(t *testing.T) {
	i := Info{Interface: "eth0", Driver: "veth", Attach: bpf.Native, Sockets: []xsk.Info{{Mode: xsk.Copy}}}
	for _, c := range []struct {
		sockets, uncovered int
		want               string
	}{
		{1, 0, "eth0 (veth): native copy, 1 queue"},
		{2, 0, "eth0 (veth): native copy, 2 queues"},
		{1, 3, "eth0 (veth): native copy, 1 queue (3 more without a socket: the kernel lane)"},
	} {
		i.Sockets, i.Uncovered = make([]xsk.Info, c.sockets), c.uncovered
		i.Sockets[0].Mode = xsk.Copy
		if got := i.String(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
