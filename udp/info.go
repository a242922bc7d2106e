// SPDX-License-Identifier: MIT

package udp

import (
	"fmt"

	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/xsk"
)

// Info is what a Conn obtained.
type Info struct {
	Interface string // name when it was opened
	Index     int
	Driver    string
	Reason    error // why there is no fast lane; nil: there is one
	Attach    bpf.Mode
	Program   bpf.Info
	Sockets   []xsk.Info // one a queue
	Uncovered int        // receive queues of the interface without a socket: theirs goes the kernel lane
	// LaunchTime: the device sends paced datagrams at their times, see
	// Config.LaunchClock.
	LaunchTime bool

	vlan uint16
}

// Info tells what was obtained.
func (c *Conn) Info() Info {
	info := c.info
	for _, q := range c.queues {
		info.Sockets = append(info.Sockets, q.sock.Info())
	}
	if l := c.link.Load(); l != nil && len(c.queues) > 0 {
		info.Uncovered = max(l.RxQueues-len(c.queues), 0)
	}
	return info
}

// String is one line for a person. Why it is no better mode is in Program.Attempts and
// in the Attempts of Sockets.
func (i Info) String() string {
	if i.Reason != nil {
		return fmt.Sprintf("%s: kernel lane only (%v)", i.Interface, i.Reason)
	}
	mode := "no queue"
	if len(i.Sockets) > 0 {
		mode = i.Sockets[0].Mode.String()
	}
	queues := fmt.Sprintf("%d queues", len(i.Sockets))
	if len(i.Sockets) == 1 {
		queues = "1 queue"
	}
	if i.Uncovered > 0 {
		queues += fmt.Sprintf(" (%d more without a socket: the kernel lane)", i.Uncovered)
	}
	return fmt.Sprintf("%s (%s): %v %s, %s", i.Interface, i.Driver, i.Attach, mode, queues)
}

// Event is something that happened to the interface or to the Conn.
type Event struct {
	Kind string // "down", "up", "gone", "MTU changed" and so on
	Err  error  // what could not be done about it
}

// eventBacklog is how many events wait for who does not listen; later ones are
// dropped and counted.
const eventBacklog = 64

// Events gives what happens from the time of Listen on. It is closed by Close.
func (c *Conn) Events() <-chan Event { return c.events }

func (c *Conn) tell(e Event) {
	if l := c.cfg.Logger; l != nil {
		l.Info("udp: "+e.Kind, "interface", c.info.Interface, "err", e.Err)
	}
	select {
	case c.events <- e:
	default:
		c.stats.eventsDropped.Add(1)
	}
}
