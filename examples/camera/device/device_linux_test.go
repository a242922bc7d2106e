// SPDX-License-Identifier: MIT

package device

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	viewer "github.com/xdpath/xdpath/examples/camera/control"
	"github.com/xdpath/xdpath/examples/camera/gv"
	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/udp"
)

// patient is how long to wait for what should come at once.
const patient = 20 * time.Second

// rig is a camera at one end of a pair, and a viewer at the other.
type rig struct {
	t      *testing.T
	pair   *testnet.Pair
	device *Device
	ended  chan error
	client *viewer.Client
	stream *net.UDPConn
	packet []byte
}

// newRig starts both; the viewer is in control, and the stream channel open.
func newRig(t *testing.T, link testnet.Config, cfg Config) *rig {
	t.Helper()
	r := &rig{t: t, pair: testnet.TestPair(t, link), ended: make(chan error, 1), packet: make([]byte, 1<<16)}
	testnet.Leaks(t)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() {
		cancel()
		if r.ended != nil {
			if err := <-r.ended; err != nil {
				t.Errorf("the camera ended with %v", err)
			}
		}
	})
	cfg.Interface = r.pair.A.Name
	if err := r.pair.A.NS.Do(func() (err error) {
		r.device, err = Open(ctx, cfg)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	go func() { r.ended <- r.device.Run(ctx) }()
	if err := r.pair.B.NS.Do(r.view); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.client.Close(); r.stream.Close() })
	r.write(gv.RegCCP, gv.CCPControl)
	ip := r.pair.B.IP4.As4()
	r.write(gv.RegSCDA, binary.BigEndian.Uint32(ip[:]))
	r.write(gv.RegSCP, uint32(r.stream.LocalAddr().(*net.UDPAddr).Port))
	return r
}

// view opens what the viewer needs.
func (r *rig) view() (err error) {
	// The camera may be busy: a command is tried for long.
	r.client, err = viewer.Dial(viewer.Config{Camera: netip.AddrPortFrom(r.pair.A.IP4, 0), Timeout: time.Second, Tries: 20})
	if err != nil {
		return err
	}
	if r.stream, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(r.pair.B.IP4, 0))); err != nil {
		return err
	}
	return r.stream.SetReadBuffer(4 << 20)
}

func (r *rig) write(at, v uint32) {
	r.t.Helper()
	if err := r.client.Write(r.t.Context(), at, v); err != nil {
		r.t.Fatal(err)
	}
}

// next reads a packet of the stream.
func (r *rig) next() gv.Packet {
	r.t.Helper()
	r.stream.SetReadDeadline(time.Now().Add(patient))
	n, from, err := r.stream.ReadFromUDPAddrPort(r.packet)
	if err != nil {
		r.t.Fatal(err)
	}
	if from != netip.AddrPortFrom(r.pair.A.IP4, r.device.out.port()) {
		r.t.Fatalf("a packet from %v", from)
	}
	p, err := gv.ParsePacket(r.packet[:n])
	if err != nil {
		r.t.Fatal(err)
	}
	p.Body = append([]byte(nil), p.Body...)
	return p
}

// image reads packets until the trailer.
func (r *rig) image() (packets []gv.Packet) {
	r.t.Helper()
	for {
		p := r.next()
		packets = append(packets, p)
		if p.Kind == gv.PartTrailer {
			return packets
		}
	}
}

// waitFor waits for a condition.
func (r *rig) waitFor(what string, ok func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(patient); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatalf("%s: not in %v; %v", what, patient, r.device.Stats())
		}
	}
}

// Images arrive at an ordinary socket as they were drawn, by every way. The receiver
// stops the camera after an image, so that no socket's buffer is too small.
func TestStreams(t *testing.T) {
	for _, c := range []struct {
		mtu int
		cfg Config
	}{
		{1500, Config{}},
		{1500, Config{Gather: udp.GatherAlways, Extended: true}},
		{9000, Config{PacketSize: 9000}},
		{9000, Config{PacketSize: 8000, Gather: udp.GatherCopy, Format: gv.RGB8}},
		{9000, Config{PacketSize: 9000, Via: Socket}},
	} {
		c.cfg.Width, c.cfg.Height, c.cfg.Rate = 320, 240, 20
		t.Run(fmt.Sprintf("MTU %d, %+v", c.mtu, c.cfg), func(t *testing.T) {
			r := newRig(t, testnet.Config{MTU: c.mtu}, c.cfg)
			t.Log(r.device)
			r.write(regAcquisition, 1)
			for block := uint64(1); block <= 5; block++ {
				wantImage(t, c.cfg, block, r.image())
			}
			r.write(regAcquisition, 0)
			if x, ok := r.device.out.(*xdp); ok {
				st, err := x.conn.Stats()
				if err != nil || st.FastTx == 0 || (c.cfg.Gather == udp.GatherAlways || c.cfg.PacketSize > 4096 && c.cfg.Gather == udp.GatherAuto) && st.Gathered == 0 {
					t.Errorf("%+v, %v", st, err)
				}
			}
		})
	}
}

// The first image after each start is complete (case 134), and a stop ends with an
// image.
func TestStarts(t *testing.T) {
	cfg := Config{Width: 64, Height: 64, Rate: 500}
	r := newRig(t, testnet.Config{}, cfg)
	for range 100 {
		r.write(regAcquisition, 1)
		wantImage(t, cfg, 1, r.image())
		r.write(regAcquisition, 0)
		for n := r.device.Stats(); ; {
			r.stream.SetReadDeadline(time.Now().Add(time.Millisecond))
			if _, err := r.stream.Read(r.packet); err != nil {
				if r.device.Stats() == n {
					break
				}
				n = r.device.Stats()
			}
		}
	}
	if n := r.device.Stats(); n.Failed != 0 || n.Images < 100 || n.Packets != 5*n.Images {
		t.Errorf("%+v", n)
	}
}

// Test packets have exactly the length asked for and may not be fragmented (case 126);
// where one end's MTU is smaller, they do not arrive.
func TestTestPackets(t *testing.T) {
	for _, via := range []Via{XDP, Socket} {
		r := newRig(t, testnet.Config{MTU: 9000}, Config{Via: via})
		raw, err := testnet.OpenRaw(r.pair.B)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { raw.Close() })
		// seen is the next packet of the stream on the wire.
		seen := func(wait time.Duration) (ip []byte) {
			for deadline := time.Now().Add(wait); ; {
				b, err := raw.Receive(deadline)
				if err != nil {
					return nil
				}
				if len(b) > 14+28 && b[12] == 8 && b[13] == 0 && binary.BigEndian.Uint16(b[14+20:]) == r.device.out.port() {
					return b[14:]
				}
			}
		}
		for _, size := range []uint32{minPacket, 1500, 1504, 8999, 9000} {
			r.write(gv.RegSCPS, size|gv.SCPSDontFrag|gv.SCPSFireTest)
			ip := seen(patient)
			if len(ip) < 28 || int(binary.BigEndian.Uint16(ip[2:])) != int(size) || binary.BigEndian.Uint16(ip[6:]) != 1<<14 {
				t.Errorf("via %d, size %d: %d bytes, %x", via, size, len(ip), ip[:min(28, len(ip))])
			}
			r.stream.SetReadDeadline(time.Now().Add(patient))
			if n, err := r.stream.Read(r.packet); err != nil || n != gv.TestPacketLen(int(size)) {
				t.Errorf("via %d, size %d: datagram of %d, %v", via, size, n, err)
			}
		}
		refused := func(size uint32) {
			t.Helper()
			if err := r.client.Write(t.Context(), gv.RegSCPS, size|gv.SCPSFireTest); !errors.Is(err, gv.WrongConfig) {
				t.Errorf("via %d, size %d: %v", via, size, err)
			}
		}
		refused(9004)
		if err := r.pair.B.SetMTU(1500); err != nil {
			t.Fatal(err)
		}
		r.write(gv.RegSCPS, 9000|gv.SCPSFireTest) // is sent, and lost
		r.write(gv.RegSCPS, 1500|gv.SCPSFireTest)
		if ip := seen(patient); len(ip) != 1500 {
			t.Errorf("via %d: %d bytes arrive where the MTU is 1500", via, len(ip))
		}
		if via == XDP { // which follows the link
			if err := r.pair.A.SetMTU(1500); err != nil {
				t.Fatal(err)
			}
			r.waitFor("the MTU is smaller", func() bool { return r.device.out.mtu() == 1500 })
			refused(1504)
			r.write(gv.RegSCPS, 1504)
			if err := r.client.Write(t.Context(), regAcquisition, 1); !errors.Is(err, gv.WrongConfig) {
				t.Errorf("start over the MTU: %v", err)
			}
		}
	}
}

// Discovery by broadcast, and heartbeats, are answered while the stream flows (case
// 137); without heartbeats it ends.
func TestControlBeside(t *testing.T) {
	r := newRig(t, testnet.Config{}, Config{Serial: "77", Width: 64, Height: 64, Rate: 1000})
	r.write(gv.RegHeartbeat, 10_000)
	r.write(regAcquisition, 1)
	for range 20 {
		before := r.device.Stats().Images
		var found []viewer.Found
		r.waitFor("a camera is found", func() bool {
			if err := r.pair.B.NS.Do(func() (err error) {
				found, err = viewer.Discover(t.Context(), r.pair.B.IP4, 50*time.Millisecond)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			return len(found) > 0
		})
		if len(found) != 1 || found[0].Serial != "77" || found[0].IP != r.pair.A.IP4 || found[0].MAC.String() != r.pair.A.MAC.String() || found[0].Mask.String() != "255.255.255.0" {
			t.Fatalf("%+v", found)
		}
		if v, err := r.client.Read(t.Context(), gv.RegCCP); err != nil || v != gv.CCPControl {
			t.Fatalf("control is %d, %v", v, err)
		}
		r.waitFor("the stream flows", func() bool { return r.device.Stats().Images > before })
	}
	r.write(gv.RegHeartbeat, minHeartbeat)
	r.waitFor("control ends", func() bool { return r.device.Stats().Heartbeats > 0 })
	n := r.device.Stats().Images
	if err := r.client.Write(t.Context(), gv.RegHeartbeat, 1000); !errors.Is(err, gv.AccessDenied) {
		t.Errorf("without control: %v", err)
	}
	if got := r.device.Stats().Images; got != n {
		t.Errorf("%d images since control was lost", got-n)
	}
}

// Packets leave at the delay that is asked for, and how well is told (case 136). What
// gaps there are is up to the machine, and tested in package udp.
func TestDelay(t *testing.T) {
	cfg := Config{Width: 64, Height: 64, Rate: 50, Delay: 200 * time.Microsecond}
	r := newRig(t, testnet.Config{}, cfg)
	r.write(regAcquisition, 1)
	for block := uint64(1); block <= 10; block++ {
		wantImage(t, cfg, block, r.image())
	}
	r.write(regAcquisition, 0)
	gaps := r.device.Gaps()
	t.Log(gaps)
	var n int
	if _, err := fmt.Sscanf(gaps, "%d gaps of 200µs", &n); err != nil || n < 20 || !strings.Contains(gaps, "worst") || !strings.Contains(gaps, "longest burst") {
		t.Errorf("gaps: %v, %q", err, gaps)
	}
}

// A link that is down costs images; an interface that is gone ends the camera.
func TestLink(t *testing.T) {
	r := newRig(t, testnet.Config{}, Config{Width: 64, Height: 64, Rate: 200})
	r.write(regAcquisition, 1)
	r.image()
	if err := r.pair.A.SetUp(false); err != nil {
		t.Fatal(err)
	}
	n := r.device.Stats()
	r.waitFor("images fail", func() bool { m := r.device.Stats(); return m.Failed+m.Skipped > n.Failed+n.Skipped+3 })
	if err := errors.Join(r.pair.A.SetUp(true), r.pair.A.WaitUp()); err != nil {
		t.Fatal(err)
	}
	n = r.device.Stats()
	r.waitFor("images again", func() bool { return r.device.Stats().Images > n.Images+3 })
	if err := r.pair.A.Delete(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-r.ended:
		if !errors.Is(err, udp.ErrNoInterface) {
			t.Errorf("ended with %v", err)
		}
	case <-time.After(patient):
		t.Error("it does not end")
	}
	r.ended = nil
}

// What cannot be had is an error that says why, and nothing stays open.
func TestOpenRefuses(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	testnet.Leaks(t)
	open := func(cfg Config) (d *Device, err error) {
		err = pair.A.NS.Do(func() error {
			d, err = Open(t.Context(), cfg)
			return err
		})
		return d, err
	}
	refused := func(want string, cfg Config) {
		t.Helper()
		if d, err := open(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
			if err == nil {
				d.Close()
			}
		}
	}
	refused("interface none", Config{Interface: "none"})
	refused("PacketSize 1504", Config{Interface: pair.A.Name, PacketSize: 1504})
	d, err := open(Config{Interface: pair.A.Name, Via: Socket})
	if err != nil {
		t.Fatal(err)
	}
	refused("address already in use", Config{Interface: pair.A.Name})
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if err := pair.A.DelAddr(netip.PrefixFrom(pair.A.IP4, 24)); err != nil {
		t.Fatal(err)
	}
	refused("needs an IPv4 address", Config{Interface: pair.A.Name})
}
