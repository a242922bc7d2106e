// SPDX-License-Identifier: MIT

package device

import (
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/xdpath/xdpath/examples/camera/gv"
	"github.com/xdpath/xdpath/internal/testnet"
)

// storm sends commands of all kinds, right and wrong, until done is closed.
func storm(t *testing.T, c *net.UDPConn, to netip.AddrPort, seed uint64, done chan struct{}) {
	r := rand.New(rand.NewPCG(seed, 1))
	registers := []uint32{gv.RegCCP, gv.RegSCP, gv.RegSCPS, gv.RegSCPD, gv.RegSCDA, gv.RegHeartbeat, gv.RegTimeControl, gv.RegGVSPConfig, regWidth, regHeight, regFormat, regRate, regAcquisition, 0xfffffffc, 2}
	for i := 0; ; i++ {
		select {
		case <-done:
			return
		default:
		}
		cmd := gv.Command{Flags: gv.FlagAck, ID: uint16(i | 1)}
		switch r.IntN(6) {
		case 0:
			cmd.Kind, cmd.Body = gv.ReadMem, gv.AppendSpan(nil, gv.Span{Address: r.Uint32N(1 << 17), Count: int(r.Uint32N(1 << 16))})
		case 1:
			for range 1 + r.IntN(60) {
				cmd.Body = gv.AppendWrites(cmd.Body, gv.Write{Address: registers[r.IntN(len(registers))], Value: r.Uint32()})
			}
			cmd.Kind = gv.WriteReg
		case 2:
			cmd.Kind, cmd.Body = gv.ReadReg, make([]byte, 4*(1+r.IntN(130)))
		case 3, 4:
			q := gv.Resend{Block: r.Uint64N(400), First: r.Uint32N(700), Last: r.Uint32N(1 << 24), Extended: r.IntN(4) == 0}
			cmd.Kind, cmd.Flags, cmd.Body = gv.ResendReq, q.Flags(), make([]byte, 20)
			cmd.Body = cmd.Body[:q.Put(cmd.Body)]
		case 5:
			cmd.Kind = gv.Discovery
		}
		b := gv.AppendCommand(nil, cmd)
		if r.IntN(8) == 0 {
			b[r.IntN(8)] ^= byte(r.Uint32())
			b = b[:r.IntN(len(b)+1)]
		}
		c.WriteToUDPAddrPort(b, to)
		if i%32 == 0 {
			time.Sleep(200 * time.Microsecond)
		}
	}
}

// Commands of somebody else, and requests to resend without end, neither stop the
// stream nor change it. When the viewer is not heard of any more in the middle of it
// all, the stream ends, and the next viewer gets all there is.
func TestStorm(t *testing.T) {
	r := newRig(t, testnet.Config{MTU: 9000}, Config{Width: 640, Height: 480, Rate: 200, PacketSize: 576, Delay: time.Microsecond, Faults: Faults{Duplicate: 0.05, Reorder: 0.05, Suppress: 0.05}})
	var stranger *net.UDPConn
	if err := r.pair.B.NS.Do(func() (err error) {
		stranger, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(r.pair.B.IP4, 0)))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	to := netip.AddrPortFrom(r.pair.A.IP4, gv.ControlPort)
	r.write(gv.RegHeartbeat, 1000)
	r.write(regAcquisition, 1)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { storm(t, stranger, to, 7, done) })
	before := r.device.Stats()
	r.waitFor("images in the storm", func() bool {
		if _, err := r.client.Read(t.Context(), gv.RegCCP); err != nil { // a heartbeat
			t.Fatal(err)
		}
		n := r.device.Stats()
		return n.Images > before.Images+50 && n.Resent > 100
	})
	// Nothing of the stranger's has an effect; of ours, neither while streaming.
	if w, err := r.client.Read(t.Context(), regWidth); w != 640 || err != nil {
		t.Errorf("width %d, %v", w, err)
	}
	if err := r.client.Write(t.Context(), regWidth, 320); err == nil {
		t.Error("the width was changed while streaming")
	}
	if n := r.device.Stats(); n.Failed > 0 {
		t.Errorf("%+v, %v", n, r.device.Latest())
	}
	r.waitFor("the viewer is missed", func() bool { return r.device.Stats().Heartbeats == 1 })
	images := r.device.Stats().Images
	close(done)
	wg.Wait()
	r.waitFor("nobody reads", func() bool {
		r.device.reap()
		return r.readers(t) == 0
	})
	r.write(gv.RegCCP, gv.CCPControl)
	ip := r.pair.B.IP4.As4()
	r.write(gv.RegSCDA, uint32(ip[0])<<24|uint32(ip[1])<<16|uint32(ip[2])<<8|uint32(ip[3]))
	r.write(gv.RegSCP, uint32(r.stream.LocalAddr().(*net.UDPAddr).Port))
	r.write(regWidth, 320)
	n := r.device.Stats()
	r.write(regAcquisition, 1)
	r.waitFor("images of the next viewer", func() bool { return r.device.Stats().Images > n.Images+20 })
	r.write(regAcquisition, 0)
	r.waitFor("nobody reads", func() bool {
		r.device.reap()
		return r.readers(t) == 0
	})
	if n := r.device.Stats(); n.Images == images {
		t.Errorf("%+v", n)
	}
}

// readers is how many read an image.
func (r *rig) readers(t *testing.T) (n int) {
	t.Helper()
	s := r.device.store
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.slots {
		if s.slots[i].readers < 0 {
			t.Fatalf("place %d has %d readers", i, s.slots[i].readers)
		}
		n += s.slots[i].readers
	}
	return n
}
