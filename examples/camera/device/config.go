// SPDX-License-Identifier: MIT

package device

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/xdpath/xdpath/examples/camera/gv"
	"github.com/xdpath/xdpath/examples/camera/pattern"
	"github.com/xdpath/xdpath/udp"
)

// Via is how the stream is sent.
type Via int

const (
	// XDP is package udp, without a copy where that is worth it.
	XDP Via = iota
	// Socket is an ordinary socket and a system call a packet, to compare with.
	Socket
)

// Config describes a camera. Interface is required.
type Config struct {
	Interface string
	Serial    string // at most 15 bytes; default "1"

	// Width and Height are those of the sensor, in pixels: what images have at
	// first, and at most. Default 1280 x 1024.
	Width, Height int
	Format        gv.PixelFormat // default Mono8
	Rate          float64        // images a second; default 50
	// PacketSize is that of the stream with the headers of IP and UDP, in bytes.
	// Default 1500, or the interface's MTU if that is less.
	PacketSize int
	Delay      time.Duration // from packet to packet; default none
	Extended   bool          // ids of 64 bits
	// Viewers can change all of the above from Width on.

	// Images is how many are kept, for packets to be sent again. Default 8.
	Images     int
	FirstBlock uint64 // id of the first image after each start; default 1
	Faults     Faults

	Via    Via
	Gather udp.GatherPolicy // with XDP

	Port uint16 // of control; default 3956, where viewers look for it
}

func (c Config) withDefaults(mtu int) Config {
	if c.Serial == "" {
		c.Serial = "1"
	}
	if c.Width == 0 {
		c.Width = 1280
	}
	if c.Height == 0 {
		c.Height = 1024
	}
	if c.Format == 0 {
		c.Format = gv.Mono8
	}
	if c.Rate == 0 {
		c.Rate = 50
	}
	if c.PacketSize == 0 {
		c.PacketSize = min(mtu, 1500)
	}
	if c.Images == 0 {
		c.Images = 8
	}
	if c.FirstBlock == 0 {
		c.FirstBlock = 1
	}
	if c.Port == 0 {
		c.Port = gv.ControlPort
	}
	return c
}

// maxSide bounds width and height, so that memory and sizes stay reasonable.
const maxSide = 1 << 14

// validate tells everything that is wrong with c.
func (c Config) validate(mtu int) error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("device: config: "+format, args...))
	}
	if len(c.Serial) > 15 {
		bad("Serial %q: at most 15 bytes", c.Serial)
	}
	if c.Width < widthStep || c.Width > maxSide || c.Width%widthStep != 0 {
		bad("Width %d: must be a multiple of %d up to %d", c.Width, widthStep, maxSide)
	}
	if c.Height < heightStep || c.Height > maxSide || c.Height%heightStep != 0 {
		bad("Height %d: must be a multiple of %d up to %d", c.Height, heightStep, maxSide)
	}
	if !slices.Contains(pattern.Formats(), c.Format) {
		bad("Format: %v is not one of %v", c.Format, pattern.Formats())
	}
	if !(c.Rate*1000 >= 1 && c.Rate*1000 <= maxRate) {
		bad("Rate %v: must be from 0.001 to %v images a second", c.Rate, maxRate/1000)
	}
	if c.PacketSize < minPacket || c.PacketSize > mtu {
		bad("PacketSize %d: must be from %d to the MTU of %s, %d", c.PacketSize, minPacket, c.Interface, mtu)
	}
	if c.Delay < 0 || c.Delay > math.MaxUint32 {
		bad("Delay %v: must be from 0 to %v", c.Delay, time.Duration(math.MaxUint32))
	}
	if c.Images < 2 || c.Images > 1<<12 {
		bad("Images %d: must be from 2 to %d", c.Images, 1<<12)
	}
	if !c.Extended && c.FirstBlock > math.MaxUint16 {
		bad("FirstBlock %d: ids have 16 bits unless Extended", c.FirstBlock)
	}
	if c.Via != XDP && c.Via != Socket {
		bad("Via %d: no such value", c.Via)
	}
	return errors.Join(append(errs, c.Faults.validate())...)
}

// settings are what the camera begins with.
func (c Config) settings() settings {
	return settings{
		width: c.Width, height: c.Height, maxWidth: c.Width, maxHeight: c.Height, format: c.Format,
		rate: uint32(math.Round(c.Rate * 1000)), packet: c.PacketSize, gap: c.Delay, extended: c.Extended,
	}
}

// place is how many bytes the largest image has that a viewer can ask for.
func (c Config) place() int {
	most := 0
	for _, f := range pattern.Formats() {
		most = max(most, c.Width*c.Height*f.Bits()/8)
	}
	return most
}

// memory is how many bytes a transport needs: places for images, and enough for the
// largest packet.
func (c Config) memory() int { return max(c.Images*c.place(), 1<<16) }
