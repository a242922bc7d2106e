// SPDX-License-Identifier: MIT

package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/xdpath/xdpath/examples/camera/gv"
)

// Config says which camera to control.
type Config struct {
	// Camera is its address. Port 0 is the one that cameras have.
	Camera netip.AddrPort
	// Timeout is how long one answer may take, and Tries how often a command is
	// sent. Defaults 200 ms and 5.
	Timeout time.Duration
	Tries   int
}

func (c Config) withDefaults() Config {
	if c.Camera.Port() == 0 {
		c.Camera = netip.AddrPortFrom(c.Camera.Addr(), gv.ControlPort)
	}
	if c.Timeout == 0 {
		c.Timeout = 200 * time.Millisecond
	}
	if c.Tries == 0 {
		c.Tries = 5
	}
	return c
}

// ErrNoAnswer is a camera that does not answer.
var ErrNoAnswer = errors.New("no answer: is the address right, the camera on, and no firewall in between?")

// Client controls one camera. Its methods may be called by several goroutines: one
// command is under way at a time, and requests to resend wait for none.
type Client struct {
	cfg  Config
	conn *net.UDPConn

	mu  sync.Mutex // guards what follows, and reading
	id  uint16
	in  [2048]byte
	out []byte

	resend   sync.Mutex // guards what follows
	resendID uint16
	request  []byte
}

// Dial opens the socket. Nothing is sent yet.
func Dial(cfg Config) (*Client, error) {
	cfg = cfg.withDefaults()
	if !cfg.Camera.Addr().Unmap().Is4() {
		return nil, fmt.Errorf("control: camera %v: must be an IPv4 address", cfg.Camera.Addr())
	}
	conn, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(cfg.Camera))
	if err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	return &Client{cfg: cfg, conn: conn}, nil
}

// Close closes the socket. The camera keeps what it was told until its heartbeat
// timeout is over.
func (c *Client) Close() error { return c.conn.Close() }

// Local is the address of this host that faces the camera.
func (c *Client) Local() netip.Addr {
	return c.conn.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap()
}

// Camera is the camera's address.
func (c *Client) Camera() netip.Addr { return c.cfg.Camera.Addr().Unmap() }

// Identity asks the camera who it is.
func (c *Client) Identity(ctx context.Context) (gv.Identity, error) {
	var who gv.Identity
	err := c.do(ctx, gv.Discovery, nil, func(body []byte) (err error) {
		who, err = gv.ParseIdentity(body)
		return err
	})
	if err != nil {
		return who, fmt.Errorf("control: discovery of %v: %w", c.cfg.Camera, err)
	}
	return who, nil
}

// Read reads a register.
func (c *Client) Read(ctx context.Context, address uint32) (value uint32, err error) {
	err = c.do(ctx, gv.ReadReg, gv.AppendWords(nil, address), func(body []byte) error {
		words, err := gv.ParseWords(body)
		if err == nil && len(words) != 1 {
			err = gv.ErrMalformed
		}
		if err == nil {
			value = words[0]
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("control: read register %#06x: %w", address, err)
	}
	return value, nil
}

// Write writes a register.
func (c *Client) Write(ctx context.Context, address, value uint32) error {
	err := c.do(ctx, gv.WriteReg, gv.AppendWrites(nil, gv.Write{Address: address, Value: value}), func([]byte) error { return nil })
	if err != nil {
		return fmt.Errorf("control: write %#x to register %#06x: %w", value, address, err)
	}
	return nil
}

// do sends a command until it is answered, and has the body of the answer read.
func (c *Client) do(ctx context.Context, kind gv.Kind, body []byte, read func(body []byte) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	// The end of the context ends the wait; what it does to the deadline is undone by
	// the next command.
	stop := context.AfterFunc(ctx, func() { c.conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	if c.id++; c.id == 0 {
		c.id = 1
	}
	c.out = gv.AppendCommand(c.out[:0], gv.Command{Flags: gv.FlagAck, Kind: kind, ID: c.id, Body: body})
	for range c.cfg.Tries {
		if _, err := c.conn.Write(c.out); err != nil && !refused(err) {
			return err
		}
		switch ack, err := c.wait(ctx, kind.Ack()); {
		case errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() == nil:
		case err != nil:
			return errors.Join(ctx.Err(), err)
		case ack.Status != gv.OK:
			return ack.Status
		default:
			return read(ack.Body)
		}
	}
	return ErrNoAnswer
}

// wait reads until the answer to the last command is there. Any other is an older
// one's.
func (c *Client) wait(ctx context.Context, kind gv.Kind) (gv.Ack, error) {
	deadline := time.Now().Add(c.cfg.Timeout)
	for {
		c.conn.SetReadDeadline(deadline)
		if err := ctx.Err(); err != nil { // it may have ended before the deadline was set
			return gv.Ack{}, err
		}
		n, err := c.conn.Read(c.in[:])
		if refused(err) {
			// Nobody listens there, now: a camera that starts may soon. The kernel says
			// so at once; to ask again before the time is over would be a flood.
			continue
		}
		if err != nil {
			return gv.Ack{}, err
		}
		ack, err := gv.ParseAck(c.in[:n])
		switch {
		case err != nil || ack.ID != c.id:
		case ack.Kind == gv.Pending.Ack():
			deadline = time.Now().Add(c.pending(ack.Body))
		case ack.Kind == kind:
			return ack, nil
		}
	}
}

// maxPending bounds how long a camera may have us wait.
const maxPending = 5 * time.Second

// pending is how much longer a camera wants us to wait, in milliseconds, for what it
// does at the moment.
func (c *Client) pending(body []byte) time.Duration {
	if len(body) < 4 {
		return c.cfg.Timeout
	}
	ms := int(body[2])<<8 | int(body[3])
	return min(time.Duration(ms)*time.Millisecond+c.cfg.Timeout, maxPending)
}

// Resend asks for packets of the stream. Nothing acknowledges it.
func (c *Client) Resend(r gv.Resend) error {
	c.resend.Lock()
	defer c.resend.Unlock()
	if c.resendID++; c.resendID == 0 {
		c.resendID = 1
	}
	var body [20]byte
	n := r.Put(body[:])
	c.request = gv.AppendCommand(c.request[:0], gv.Command{Flags: r.Flags(), Kind: gv.ResendReq, ID: c.resendID, Body: body[:n]})
	if _, err := c.conn.Write(c.request); err != nil && !refused(err) {
		return fmt.Errorf("control: ask for packets %d to %d of image %d: %w", r.First, r.Last, r.Block, err)
	}
	return nil
}
