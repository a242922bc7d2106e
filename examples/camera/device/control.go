// SPDX-License-Identifier: MIT

package device

import (
	"net/netip"
	"time"

	"github.com/xdpath/xdpath/examples/camera/gv"
)

// actions is what commands make the camera do, beside remembering registers.
type actions interface {
	// aim tells where the stream is to go; an invalid address is nowhere.
	aim(dst netip.AddrPort)
	// mtu is the largest packet, IP header included, that gets to where the stream
	// goes in one piece.
	mtu() int
	// start begins to stream; it is not called while streaming.
	start(s settings) error
	// stop ends the stream. It returns when the last packet has left.
	stop()
	// change applies what may change while streaming.
	change(s settings)
	// test sends a test packet: a datagram of n bytes that is not fragmented.
	test(n int) error
	// resend sends packets again. It does not wait for that.
	resend(r gv.Resend)
}

// control is the camera's side of the control protocol: who may do what, and what
// the registers mean. It does no I/O and is for one goroutine.
type control struct {
	*registers
	do        actions
	started   time.Time // when the camera's clock was 0
	streaming bool

	owner  netip.AddrPort // who is in control; invalid: nobody
	heard  time.Time      // from the owner, at last
	counts controlCounts
}

// controlCounts count commands.
type controlCounts struct {
	Commands, Malformed, Refused, Heartbeats uint64 // Heartbeats: that were missing
}

func newControl(do actions, id gv.Identity, s settings, now time.Time) *control {
	c := &control{registers: newRegisters(), do: do, started: now}
	id.Put(c.boot[:])
	for at, v := range map[uint32]uint32{
		gv.RegInterfaces: 1, gv.RegStreams: 1, gv.RegTicksLow: uint32(time.Second), gv.RegHeartbeat: 3000,
		gv.RegGVCPCap: gv.GVCPCapUserName | gv.GVCPCapSerial | gv.GVCPCapConcatenate | gv.GVCPCapWriteMem | gv.GVCPCapResend,
		gv.RegGVSPCap: gv.GVSPCapSourcePort | gv.GVSPCapLegacyIDs,
	} {
		c.set(at, v)
	}
	c.store(s)
	return c
}

// answer obeys a datagram from somebody and appends the answer to buf. It returns
// nothing where nothing is to be said: to what is no command, to commands whose
// sender wants no answer, and to requests to resend, which packets answer.
func (c *control) answer(buf []byte, from netip.AddrPort, b []byte, now time.Time) []byte {
	cmd, err := gv.ParseCommand(b)
	if cmd.ID == 0 {
		c.counts.Malformed++
		return nil
	}
	c.counts.Commands++
	if from == c.owner {
		c.heard = now
	}
	status, body := gv.InvalidHeader, []byte(nil)
	if err == nil {
		status, body = c.obey(cmd, from, now)
	}
	if status.IsError() {
		c.counts.Refused++
	}
	if cmd.Kind == gv.ResendReq || cmd.Kind == gv.ForceIP || !cmd.WantsAck() {
		return nil
	}
	return gv.AppendAck(buf, gv.Ack{Status: status, Kind: cmd.Kind.Ack(), ID: cmd.ID, Body: body})
}

// obey does what a command says.
func (c *control) obey(cmd gv.Command, from netip.AddrPort, now time.Time) (gv.Status, []byte) {
	switch cmd.Kind {
	case gv.Discovery:
		return gv.OK, c.boot[:gv.DiscoveryLen]
	case gv.ReadReg, gv.ReadMem:
		if c.owner.IsValid() && from != c.owner && c.get(gv.RegCCP)&gv.CCPExclusive != 0 {
			return gv.AccessDenied, nil
		}
		if cmd.Kind == gv.ReadReg {
			return c.readReg(cmd.Body)
		}
		return c.readMem(cmd.Body)
	case gv.WriteReg:
		return c.writeReg(cmd.Body, from, now)
	case gv.WriteMem:
		return c.writeMem(cmd.Body, from, now)
	case gv.ResendReq:
		r, err := gv.ParseResend(cmd)
		// Viewers ask from the port that the stream comes to. The packets go there
		// whoever asks.
		switch {
		case err != nil || r.Channel != 0:
			return gv.InvalidParameter, nil
		case !c.owner.IsValid() || from.Addr() != c.owner.Addr():
			return gv.AccessDenied, nil
		}
		c.do.resend(r)
		return gv.OK, nil
	}
	// ForceIP too, to which answer says nothing at all, as if it were for another
	// camera: the address is the interface's, and not ours to change.
	return gv.NotImplemented, nil
}

// stall is how much too late expire may be called to count.
const stall = 250 * time.Millisecond

// expire releases control if its owner has not been heard of for too long. If that is
// noticed much too late, the camera itself was not running, and perhaps could not
// hear: it waits once more.
func (c *control) expire(now time.Time) {
	if !c.owner.IsValid() || now.Before(c.deadline()) {
		return
	}
	if now.Sub(c.deadline()) > stall {
		c.heard = now
		return
	}
	c.counts.Heartbeats++
	c.release()
}

// deadline is when control ends if nothing comes; the zero time if nobody has it.
func (c *control) deadline() time.Time {
	if !c.owner.IsValid() {
		return time.Time{}
	}
	return c.heard.Add(time.Duration(c.get(gv.RegHeartbeat)) * time.Millisecond)
}

// release gives up control, and with it the stream.
func (c *control) release() {
	c.acquire(0)
	c.set(gv.RegSCP, 0)
	c.retarget()
	c.owner = netip.AddrPort{}
	c.set(gv.RegCCP, 0)
	c.set(gv.RegControlPort, 0)
	c.set(gv.RegControlIP, 0)
}
