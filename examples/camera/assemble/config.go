// SPDX-License-Identifier: MIT

package assemble

import (
	"errors"
	"fmt"
	"time"

	"github.com/xdpath/xdpath/examples/camera/gv"
)

// Config describes a stream. Only PacketSize has no default.
type Config struct {
	// PacketSize is what the camera was told in SCPS: bytes of a full packet from
	// the IP header on. It decides where payload goes: a wrong one shifts images.
	PacketSize int
	// Buffers is how many images may be in flight or with the consumer at a time.
	// Default 8.
	Buffers int
	// MaxImage is the bytes of the largest image. Buffers grow to what the stream
	// needs, and never over this. Default 64 MiB.
	MaxImage int

	// Resend says that the camera sends packets again when asked.
	Resend bool
	// ResendRatio is how many packets of an image may be asked for, as a part of
	// all that it has. Default 0.25; one at least.
	ResendRatio float64
	// InitialPacketTimeout is how long a packet may be late, by the order of the
	// ids, before it is asked for. Default 1 ms.
	InitialPacketTimeout time.Duration
	// PacketTimeout is how long an answer may take, until it is asked for again.
	// Default 20 ms.
	PacketTimeout time.Duration
	// FrameRetention is the silence after which an image is given up. Default
	// 100 ms.
	FrameRetention time.Duration
}

func (c Config) withDefaults() Config {
	if c.Buffers == 0 {
		c.Buffers = 8
	}
	if c.MaxImage == 0 {
		c.MaxImage = 64 << 20
	}
	if c.ResendRatio == 0 {
		c.ResendRatio = 0.25
	}
	if c.InitialPacketTimeout == 0 {
		c.InitialPacketTimeout = time.Millisecond
	}
	if c.PacketTimeout == 0 {
		c.PacketTimeout = 20 * time.Millisecond
	}
	if c.FrameRetention == 0 {
		c.FrameRetention = 100 * time.Millisecond
	}
	return c
}

// maxMaxImage keeps packet ids of the smallest packets within 32 bits.
const maxMaxImage = 1 << 30

func (c Config) validate() error {
	var errs []error
	bad := func(field string, value any, rule string) {
		errs = append(errs, fmt.Errorf("assemble: config: %s %v: must be %s", field, value, rule))
	}
	if gv.PacketPayload(c.PacketSize, true) < 1 || c.PacketSize > 65535 {
		bad("PacketSize", c.PacketSize, "49 to 65535, what the camera has in SCPS")
	}
	if c.Buffers < 1 {
		bad("Buffers", c.Buffers, "at least 1")
	}
	if c.MaxImage < 1 || c.MaxImage > maxMaxImage {
		bad("MaxImage", c.MaxImage, fmt.Sprintf("1 to %d", maxMaxImage))
	}
	if c.ResendRatio < 0 {
		bad("ResendRatio", c.ResendRatio, "greater than 0; without Resend nothing is asked for")
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{{"InitialPacketTimeout", c.InitialPacketTimeout}, {"PacketTimeout", c.PacketTimeout}, {"FrameRetention", c.FrameRetention}} {
		if d.value < 0 {
			bad(d.field, d.value, "greater than 0")
		}
	}
	return errors.Join(errs...)
}
