// SPDX-License-Identifier: MIT

package control

import (
	"net/netip"
	"time"

	"github.com/xdpath/xdpath/bench/internal/cpu"
	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/path"
	"github.com/xdpath/xdpath/bench/internal/rr"
	"github.com/xdpath/xdpath/bench/internal/stream"
)

// Version is the protocol's. Both ends must have the same one.
const Version = 5

// A Type says what a message means and which body it has.
type Type string

// The types of messages.
const (
	TypeHello   Type = "hello"
	TypePrepare Type = "prepare"
	TypeReady   Type = "ready"
	TypeStart   Type = "start"
	TypeStop    Type = "stop"
	TypeTotals  Type = "totals" // as a question it has no body
	TypeClose   Type = "close"
	TypeBye     Type = "bye"
	TypeOK      Type = "ok"
	TypeError   Type = "error"
)

// A Message is what goes over the stream. It has the body that its type
// names, or none.
type Message struct {
	Type      Type       `json:"type"`
	Hello     *Hello     `json:"hello,omitempty"`
	Prepare   *Prepare   `json:"prepare,omitempty"`
	Ready     *Ready     `json:"ready,omitempty"`
	Start     *Start     `json:"start,omitempty"`
	Totals    *Totals    `json:"totals,omitempty"`
	Error     *Error     `json:"error,omitempty"`
	Challenge *Challenge `json:"challenge,omitempty"`
	Open      *Open      `json:"open,omitempty"`
	Welcome   *Welcome   `json:"welcome,omitempty"`
}

// Hello is the first message each way.
type Hello struct {
	Version   int    `json:"version"`
	Interface string `json:"interface,omitempty"` // that the worker is to use, and tell of
	Facts     Facts  `json:"facts"`
}

// Facts are what a result needs to be understood later.
type Facts struct {
	Machine    string `json:"machine"` // the same for two processes of one running kernel
	Kernel     string `json:"kernel"`
	Arch       string `json:"arch"`
	Go         string `json:"go"`
	CPUModel   string `json:"cpu_model"`
	CPUs       int    `json:"cpus"`       // of the machine
	Pinned     []int  `json:"pinned"`     // processors that the worker may run on
	GOMAXPROCS int    `json:"gomaxprocs"` // of the worker
	PID        int    `json:"pid"`
	Build      string `json:"build,omitempty"` // of the program: a release or a revision
	NIC        *NIC   `json:"nic,omitempty"`   // the interface that the worker uses
}

// A NIC is what there is to know of an interface.
type NIC struct {
	Name     string `json:"name"`
	Driver   string `json:"driver"`
	MTU      int    `json:"mtu"`
	RXQueues int    `json:"rx_queues"`
	TXQueues int    `json:"tx_queues"`
}

// A Role is the side of a path that a worker takes. In round trips the sender is
// the client and the receiver the server.
type Role string

// The roles.
const (
	RoleSender   Role = "sender"
	RoleReceiver Role = "receiver"
)

// A Row is what one line of the table stands for: a path, and how both of its ends
// are set. A test that needs a further setting has a field here.
type Row struct {
	Path string `json:"path"`
	Size int    `json:"size"` // payload bytes
	// Param names what else sets the row apart from others of its path and size,
	// as the table shows it: "mtu=8000". It may be empty.
	Param    string `json:"param,omitempty"`
	Batch    int    `json:"batch"` // datagrams a call
	MTU      int    `json:"mtu"`
	Hold     int    `json:"hold,omitempty"`     // datagrams that the receiver can hold unread; 0 is the path's own choice
	Checksum bool   `json:"checksum,omitempty"` // for paths that can do with and without

	Image int     `json:"image,omitempty"` // camera: bytes of an image
	Rate  float64 `json:"rate,omitempty"`  // of images, or of datagrams, a second

	Queues int           `json:"queues,omitempty"` // of the interface, each with a stream of its own; 0: one stream
	Ring   int           `json:"ring,omitempty"`   // entries of each ring, or datagrams in a socket's buffer; 0: the path's own
	RX     int           `json:"rx,omitempty"`     // of one ring alone, where that differs
	TX     int           `json:"tx,omitempty"`     // likewise
	Fill   int           `json:"fill,omitempty"`   // likewise
	Frames int           `json:"frames,omitempty"` // transmit coalescing: so many datagrams are sent together,
	Delay  time.Duration `json:"delay,omitempty"`  // or none waits longer for others than that, in nanoseconds

	// For the controller alone: the row is the highest rate at which no more than Limit
	// percent is lost.
	Search bool    `json:"-"`
	Limit  float64 `json:"-"`
}

// Prepare asks for one side of a path to be opened.
type Prepare struct {
	Test string `json:"test"`
	Role Role   `json:"role"`
	Row
	Interface string         `json:"interface"`
	Queue     int            `json:"queue"`
	Local     netip.AddrPort `json:"local"`
	Peer      netip.AddrPort `json:"peer"`
	LocalMAC  string         `json:"local_mac"`
	PeerMAC   string         `json:"peer_mac"` // of the next hop, where there is one
	// Keep tells that the settings of the interface must stay as they are: it is
	// not one that the bench made for itself.
	Keep bool `json:"keep,omitempty"`
}

// Ready answers a Prepare.
type Ready struct {
	Info path.Info `json:"info"`
}

// Start begins a window of traffic on the prepared path.
type Start struct {
	Run      uint32        `json:"run"`            // number of the window, in every datagram of it
	Duration time.Duration `json:"duration"`       // nanoseconds; for a receiver the least it must be ready for
	Rate     float64       `json:"rate,omitempty"` // in place of the row's, if not 0
}

// Totals are what one side found out about a window.
type Totals struct {
	Run     uint32        `json:"run"`
	Elapsed time.Duration `json:"elapsed"`           // nanoseconds from the first to the last datagram
	Sent    uint64        `json:"sent"`              // a server's answers, too
	Tally   stream.Tally  `json:"tally"`             // of what came: nothing at the sender of a stream
	Latency rr.Latency    `json:"latency"`           // a client's only
	Images  uint64        `json:"images,omitempty"`  // camera: sent, or complete
	Lost    loss.Counts   `json:"lost"`              // by the counters of this side
	Refused uint64        `json:"refused,omitempty"` // calls to send, for want of a way to the peer; nothing of them is in Sent
	Why     string        `json:"why,omitempty"`     // of the last of these
	Machine cpu.Times     `json:"machine"`           // ticks of all processors in the window
	User    time.Duration `json:"user"`              // nanoseconds of this process in the window
	System  time.Duration `json:"system"`
	Info    path.Info     `json:"info"` // as it stood at the end
}

// Error is the answer to what the worker could not do.
type Error struct {
	Reason string `json:"reason"`
}
