// SPDX-License-Identifier: MIT

// Package path holds the ways of carrying datagrams that the bench compares,
// one file each, behind one small interface.
//
// To add a path, write a file that implements Sender and Receiver, or Peer, and
// a function that returns its Path, and name that function in All.
package path

import (
	"context"
	"fmt"
	"math/bits"
	"net"
	"net/netip"
	"time"

	"github.com/xdpath/xdpath/bench/internal/camera"
	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/rr"
	"github.com/xdpath/xdpath/bench/internal/stream"
	"github.com/xdpath/xdpath/udp"
)

// A Path is one way of carrying datagrams. It has what the tests need that it is
// for: Sender and Receiver for a stream, Peer, which is either side, for round
// trips, Camera and Receiver for images, Fan for several queues. The others are nil.
type Path struct {
	Name  string
	Extra []Kind // what it does only when it is asked to, so that a plain bench takes a minute at most
	// Fragments tells that datagrams over the MTU go, in IP fragments: the kernel's stack
	// makes them and puts them together again.
	Fragments bool
	Rings     bool // each of its rings can have a size of its own
	Coalesces bool // datagrams to send can wait for company
	TakesAll  bool // its XDP program takes the frames of everybody else on the interface, too
	Sender    func(Config) (Sender, error)
	Receiver  func(Config) (Receiver, error)
	Peer      func(Config) (Peer, error)
	Camera    func(Config) (Camera, error)
	Fan       func(cfg Config, sender bool) (*Fan, error)
	Forward   func(a, b Leg, cfg Config) (End, error) // what lies between two interfaces
}

// A Leg is an interface of a machine that forwards, and who is at the other end of its
// link.
type Leg struct {
	Interface    string
	MAC, PeerMAC net.HardwareAddr
}

// A Kind is what a test drives paths by. Several tests may drive them alike.
type Kind string

// The kinds, named after the tests that came first.
const (
	Stream Kind = stream.Name // a Sender and a Receiver
	Trips  Kind = rr.Name     // two Peers
	Images Kind = camera.Name // a Camera and a Receiver
	Queues Kind = "queues"    // two Fans
	Cross  Kind = "forward"   // two Crossfires, which are no path's own, and what Forward opens between them
	Load   Kind = "load"      // a Generator, which is no path's own, and a Receiver
)

// does tells whether the path has what a test needs.
func (p Path) does(k Kind) bool {
	switch k {
	case Stream:
		return p.Sender != nil
	case Load:
		return p.Receiver != nil
	case Queues:
		return p.Fan != nil
	case Cross:
		return p.Forward != nil
	case Trips:
		return p.Peer != nil
	case Images:
		return p.Camera != nil
	}
	return false
}

// Open opens one side of a path that does k.
func (p Path) Open(k Kind, sender bool, cfg Config) (End, error) {
	if k == Images {
		cfg.Hold = HoldImages(camera.Shape{Image: cfg.Image, Size: cfg.Size})
	}
	if k == Trips {
		cfg.Hold = HoldTrips
	}
	if cfg.RX+cfg.TX+cfg.Fill > 0 && !p.Rings {
		return nil, fmt.Errorf("%s has no rings that can be set one by one", p.Name)
	}
	if cfg.Coalesce != (udp.Coalesce{}) && !p.Coalesces {
		return nil, fmt.Errorf("%s has no coalescing of what it sends", p.Name)
	}
	if n := fragments(cfg); n > 1 {
		who := p.Name
		if k == Load || k == Cross {
			who = "the generator"
		}
		if !p.Fragments || k == Load || k == Cross {
			return nil, fmt.Errorf("%d bytes of payload are more than the %d that MTU %d has room for, and %s sends no fragments", cfg.Size, cfg.MTU-ipHeaders, cfg.MTU, who)
		}
		// A ring has room for so many packets, and each fragment is one.
		cfg.Hold = max(1, cfg.Hold>>bits.Len(uint(n-1)))
	}
	switch {
	case k == Trips:
		return p.Peer(cfg)
	case k == Images && sender:
		return p.Camera(cfg)
	case k == Cross:
		return openCrossfire(cfg)
	case k == Queues:
		return p.Fan(cfg, sender)
	case k == Load && sender:
		return openGenerator(cfg)
	case k == Load:
		return openLoaded(cfg, p.Receiver)
	case sender:
		return p.Sender(cfg)
	default:
		return p.Receiver(cfg)
	}
}

// ipHeaders is what IPv4 and UDP put before a payload in a packet, in bytes.
const ipHeaders = 28

// fragments is how many packets a datagram takes.
func fragments(cfg Config) int {
	if cfg.Size <= cfg.MTU-ipHeaders {
		return 1
	}
	// Their payloads are multiples of 8 bytes, the UDP header included.
	each := (cfg.MTU - 20) &^ 7
	return (cfg.Size + 8 + each - 1) / each
}

// Config is what a path is opened with, the same for all paths of a row. It
// comes from the worker, which has checked it.
type Config struct {
	Interface string         // in the namespace of the process
	Queue     int            // of Interface, for paths that sit on one
	Queues    int            // of Interface, for a Fan: from 0 on
	Processor int            // for a Forward with threads of its own
	Flow      int            // number of this one among as many flows
	Local     netip.AddrPort // this end's address, IPv4
	Peer      netip.AddrPort // the other end's
	LocalMAC  net.HardwareAddr
	PeerMAC   net.HardwareAddr // for paths that build their own frames
	Size      int              // payload bytes of each datagram
	Batch     int              // datagrams a call, at most stream.MaxBatch
	MTU       int              // of Interface
	Hold      int              // datagrams the receiving side shall hold unread
	RX        int              // entries of that ring alone, 0 where it is as Hold says
	TX, Fill  int              // likewise
	Coalesce  udp.Coalesce     // of what is sent
	Image     int              // bytes of each image, of which a datagram has Size less its header
	Keep      bool             // the settings of Interface are not ours to change
	Checksum  bool             // paths through package udp compute UDP checksums and verify them
}

// Hold is how many datagrams every path can hold unread, a power of two: the
// entries of an AF_XDP path's RX ring, or the receive buffer of a socket. A round
// trip needs no more than one; there, HoldTrips is what our library has by itself.
const (
	Hold      = 4096
	HoldTrips = 2048
)

// HoldImages is how many datagrams of images every path can hold unread: two images,
// as the receiver keeps two, within bounds. Rings go round: a larger one than is
// needed costs cache.
func HoldImages(s camera.Shape) int {
	const images, least = 2, 256
	hold := least
	for s.Validate() == nil && hold < images*s.Packets() && hold < Hold {
		hold *= 2
	}
	return hold
}

// A Sender is the sending side of an open path. Its stream methods are for one
// goroutine at a time; the others must not run beside them.
type Sender interface {
	stream.Sender
	End
}

// A Receiver is the receiving side of an open path, with the same rule.
type Receiver interface {
	stream.Receiver
	End
}

// A Camera is the sending side of an open path, for images, with the same rule.
type Camera interface {
	camera.Sender
	End
}

// A Generator is a sender in the kernel, with the same rule.
type Generator interface {
	// Generate sends datagrams of a run, numbered from 0, until d has passed or ctx is
	// done.
	Generate(ctx context.Context, run uint32, d time.Duration) (stream.Sent, error)
	End
}

// A Fan is one side of an open path over several queues: as many senders, or receivers,
// each for a goroutine of its own.
type Fan struct {
	End
	Senders   []stream.Sender
	Receivers []stream.Receiver
}

// A Crossfire is a Generator that counts what comes from another one, without reading
// the payloads.
type Crossfire interface {
	Generator
	// Expect begins a run. Numbers of runs follow each other.
	Expect(run uint32) error
	// Arrived is how many datagrams of it have come so far.
	Arrived(run uint32) (uint64, error)
}

// A Peer is either side of an open path, for round trips, with the same rule.
type Peer interface {
	rr.Peer
	End
}

// An End is what both sides of a path have in common.
type End interface {
	Info() Info
	// Counters returns the counters of lost datagrams that this side has,
	// counted from any fixed moment on and never going back.
	Counters() (loss.Counts, error)
	Close() error
}

// Info is what a path obtained, as opposed to what it was asked for.
type Info struct {
	// Mode is how the data moves, "-" where there is nothing to tell. On an
	// AF_XDP path it is read back from the kernel.
	Mode string `json:"mode"`
	// Batch is the most datagrams that one call handles.
	Batch int `json:"batch"`
	// BufferAsked and BufferGot are bytes of socket buffer, 0 on other paths.
	// The kernel doubles what it is asked for and charges more than the
	// payload: Got shows the doubled value, and Asked is comparable with it.
	BufferAsked int `json:"buffer_asked,omitempty"`
	BufferGot   int `json:"buffer_got,omitempty"`
	// SendRoom and ReceiveRoom are the bytes of memory in which datagrams wait each
	// way: a socket's buffers, as SO_SNDBUF and SO_RCVBUF tell, or the chunks that
	// an AF_XDP socket's rings hold. 0 where a side has none.
	SendRoom    int `json:"send_room,omitempty"`
	ReceiveRoom int `json:"receive_room,omitempty"`
	// Bundle is the most datagrams that the kernel may handle, and drop, as one
	// packet, 0 where each is one of its own.
	Bundle int `json:"bundle,omitempty"`
	// OneShot tells that the path frees what it holds only when its process
	// ends: the worker must be replaced before the next path opens.
	OneShot bool `json:"one_shot,omitempty"`
	// Notes are sentences for the reader of the table.
	Notes []string `json:"notes,omitempty"`
}
