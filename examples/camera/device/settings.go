// SPDX-License-Identifier: MIT

package device

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"time"

	"github.com/xdpath/xdpath/examples/camera/gv"
	"github.com/xdpath/xdpath/examples/camera/pattern"
)

const (
	// Steps and least values of width and height: a Bayer image needs even ones.
	widthStep, heightStep = 4, 2
	minHeartbeat          = 500 // ms; less is a mistake
	minPacket             = 220 // bytes of the smallest packet size
	maxPacket             = 16404
	maxRate               = 1e6 // a thousand images a second
)

// settings are what the registers say of the stream.
type settings struct {
	width, height, maxWidth, maxHeight int
	format                             gv.PixelFormat
	rate                               uint32 // images in 1000 seconds
	packet                             int    // SCPS: bytes of a packet, IP header included
	gap                                time.Duration
	extended                           bool
}

// period is the time from image to image.
func (s settings) period() time.Duration {
	return time.Duration(float64(1000*time.Second) / float64(s.rate))
}

// payload is the image's bytes in a packet.
func (s settings) payload() int { return gv.PacketPayload(s.packet, s.extended) }

// store writes settings into the registers.
func (c *control) store(s settings) {
	for at, v := range map[uint32]uint32{
		regWidth: uint32(s.width), regHeight: uint32(s.height), regWidthMax: uint32(s.maxWidth), regHeightMax: uint32(s.maxHeight),
		regFormat: uint32(s.format), regRate: s.rate, gv.RegSCPS: uint32(s.packet), gv.RegSCPD: uint32(s.gap),
	} {
		c.set(at, v)
	}
	if s.extended {
		c.set(gv.RegGVSPConfig, gv.GVSPConfigID64)
	}
	c.measure()
}

// settings reads them.
func (c *control) settings() settings {
	return settings{
		width: int(c.get(regWidth)), height: int(c.get(regHeight)), maxWidth: int(c.get(regWidthMax)), maxHeight: int(c.get(regHeightMax)),
		format: gv.PixelFormat(c.get(regFormat)), rate: c.get(regRate), packet: int(c.get(gv.RegSCPS) & gv.SCPSSize),
		gap: time.Duration(c.get(gv.RegSCPD)), extended: c.get(gv.RegGVSPConfig)&gv.GVSPConfigID64 != 0,
	}
}

// measure writes how long an image is.
func (c *control) measure() {
	c.set(regPayloadSize, uint32(gv.PixelFormat(c.get(regFormat)).Bytes(c.get(regWidth), c.get(regHeight))))
}

// writable are the registers that can be written, and what then happens. What an
// image is like does not change while images are sent: such writes are refused with
// Busy. Rate and delay may change at any time.
var writable = map[uint32]func(c *control, v uint32) gv.Status{
	gv.RegHeartbeat:   (*control).setHeartbeat,
	gv.RegTimeControl: (*control).setClock,
	gv.RegGVSPConfig:  idle(func(c *control, v uint32) gv.Status { return c.keep(gv.RegGVSPConfig, v&gv.GVSPConfigID64) }),
	gv.RegSCDA:        idle(func(c *control, v uint32) gv.Status { return c.keepTarget(gv.RegSCDA, v) }),
	gv.RegSCP:         (*control).setPort,
	gv.RegSCPS:        idle((*control).setPacketSize),
	gv.RegSCPD:        func(c *control, v uint32) gv.Status { return c.keepLive(gv.RegSCPD, v) },
	regWidth:          idle(func(c *control, v uint32) gv.Status { return c.setSide(regWidth, v, regWidthMax, widthStep) }),
	regHeight:         idle(func(c *control, v uint32) gv.Status { return c.setSide(regHeight, v, regHeightMax, heightStep) }),
	regFormat:         idle((*control).setFormat),
	regRate:           (*control).setRate,
	regAcquisition:    (*control).acquire,
}

// idle refuses a write while streaming.
func idle(set func(c *control, v uint32) gv.Status) func(c *control, v uint32) gv.Status {
	return func(c *control, v uint32) gv.Status {
		if c.streaming {
			return gv.Busy
		}
		return set(c, v)
	}
}

func (c *control) keep(at, v uint32) gv.Status {
	c.set(at, v)
	return gv.OK
}

func (c *control) keepTarget(at, v uint32) gv.Status {
	c.set(at, v)
	c.retarget()
	return gv.OK
}

func (c *control) keepLive(at, v uint32) gv.Status {
	c.set(at, v)
	c.do.change(c.settings())
	return gv.OK
}

func (c *control) setHeartbeat(v uint32) gv.Status {
	return c.keep(gv.RegHeartbeat, max(v, minHeartbeat))
}

// setClock resets the clock of timestamps, or takes its time into registers.
func (c *control) setClock(v uint32) gv.Status {
	now := time.Now()
	if v&gv.TimeReset != 0 {
		if c.streaming { // its timestamps go on
			return gv.Busy
		}
		c.started = now
	}
	if v&gv.TimeLatch != 0 {
		ticks := uint64(now.Sub(c.started))
		c.set(gv.RegTimeHigh, uint32(ticks>>32))
		c.set(gv.RegTimeLow, uint32(ticks))
	}
	return gv.OK
}

func (c *control) setSide(at, v, most uint32, step uint32) gv.Status {
	if v < step || v > c.get(most) || v%step != 0 {
		return gv.InvalidParameter
	}
	c.set(at, v)
	c.measure()
	return gv.OK
}

func (c *control) setFormat(v uint32) gv.Status {
	if !slices.Contains(pattern.Formats(), gv.PixelFormat(v)) {
		return gv.InvalidParameter
	}
	c.set(regFormat, v)
	c.measure()
	return gv.OK
}

func (c *control) setRate(v uint32) gv.Status {
	if v < 1 || v > maxRate {
		return gv.InvalidParameter
	}
	return c.keepLive(regRate, v)
}

// setPacketSize sets the packet size. With the bit for it, a packet of the size is
// sent at once, so that the receiver sees whether it gets through.
//
// A size over the MTU can be set, since viewers try sizes from large to small and do
// not understand a refusal; but nothing is ever sent with it: no test packet, so that
// they see that it does not work, and no stream.
func (c *control) setPacketSize(v uint32) gv.Status {
	size := int(v & gv.SCPSSize)
	if size < minPacket || size > maxPacket {
		return gv.InvalidParameter
	}
	c.set(gv.RegSCPS, v&^gv.SCPSFireTest)
	if v&gv.SCPSFireTest == 0 {
		return gv.OK
	}
	if !c.target().IsValid() || size > c.do.mtu() || c.do.test(gv.TestPacketLen(size)) != nil {
		return gv.WrongConfig
	}
	return gv.OK
}

// setPort opens the stream channel, or closes it with 0.
func (c *control) setPort(v uint32) gv.Status {
	v &= 0xffff
	if v == 0 {
		c.acquire(0)
	} else if c.streaming && v != c.get(gv.RegSCP) {
		return gv.Busy
	}
	return c.keepTarget(gv.RegSCP, v)
}

// target is where the stream goes; invalid while that is not said.
func (c *control) target() netip.AddrPort {
	var ip [4]byte
	binary.BigEndian.PutUint32(ip[:], c.get(gv.RegSCDA))
	port := uint16(c.get(gv.RegSCP))
	if addr := netip.AddrFrom4(ip); port != 0 && !addr.IsUnspecified() {
		return netip.AddrPortFrom(addr, port)
	}
	return netip.AddrPort{}
}

// retarget tells where the stream goes, or where it will probably go.
func (c *control) retarget() {
	to := c.target()
	if !to.IsValid() {
		to = c.owner
	}
	c.do.aim(to)
}

// acquire starts and stops the stream.
func (c *control) acquire(v uint32) gv.Status {
	start := v&1 != 0
	if start == c.streaming {
		return gv.OK
	}
	if !start {
		c.do.stop()
		c.streaming = false
		return c.keep(regAcquisition, 0)
	}
	// What is over the MTU would be sent in fragments, or not at all.
	if !c.target().IsValid() || c.settings().packet > c.do.mtu() {
		return gv.WrongConfig
	}
	if err := c.do.start(c.settings()); err != nil {
		return gv.Failed
	}
	c.streaming = true
	return c.keep(regAcquisition, 1)
}
