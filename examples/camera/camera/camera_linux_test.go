// SPDX-License-Identifier: MIT

package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/xdpath/xdpath/examples/camera/device"
	"github.com/xdpath/xdpath/examples/camera/gv"
	"github.com/xdpath/xdpath/examples/internal/program"
	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/udp"
)

var long = flag.Duration("long", 3*time.Second, "how long each test with Aravis streams")

func TestMain(m *testing.M) {
	if program.IsExample() {
		main()
		return
	}
	os.Exit(m.Run())
}

const viewer = "arv-camera-test-0.8"

// start starts the camera at an end, and waits for it.
func start(t *testing.T, end testnet.End, args string) *program.Program {
	t.Helper()
	p := program.Example(t, end.NS.Start, append([]string{"-i", end.Name}, strings.Fields(args)...)...)
	t.Log(p.Line("listens"))
	return p
}

// watch runs Aravis's test program until it ends, and returns its counters.
func watch(t *testing.T, end testnet.End, args string) map[string]int {
	t.Helper()
	all := fmt.Sprintf("-n xdpath-7 --duration=%d -m 500 %s", int(long.Seconds()), args)
	// Or it would print nothing until its end.
	p := program.Other(t, end.NS.Start, "stdbuf", append([]string{"-oL", viewer}, strings.Fields(all)...)...)
	for range int(long.Seconds()) {
		p.Line("frames/s") // it has patience for each line, not for all
	}
	out, err := p.Wait()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	counters := map[string]int{}
	for _, line := range strings.Split(out, "\n") {
		name, value, _ := strings.Cut(line, "=")
		fields := strings.Fields(value)
		if len(fields) == 0 {
			continue
		}
		if n, err := strconv.Atoi(fields[0]); err == nil {
			counters[strings.TrimSpace(name)] = n
		}
	}
	t.Logf("%v", out[max(strings.Index(out, "n_completed"), 0):])
	return counters
}

// Every image that Aravis gets of the camera is complete: packets are lost and come
// again, or change places, or come twice.
func TestAravis(t *testing.T) {
	program.Installed(t, viewer, "aravis-tools")
	for _, c := range []struct {
		name         string
		mtu          int
		camera, view string
		packet       int // size that is expected to be in use
	}{
		{"1500", 1500, "", "-j never", 1500},
		{"9000", 9000, "-gather always", "-j always", 9000}, // finds the size by test packets
		{"1500, suppressed", 1500, "-suppress 0.01", "-j always", 1500},
		{"9000, suppressed, extended", 9000, "-suppress 0.01 -extended", "-j never -i 9000", 9000},
		{"1500, extended by the viewer, reordered and duplicated", 1500, "-reorder 0.01 -duplicate 0.01 -first 65500", "-j never --features GevGVSPExtendedIDMode=On", 1500},
		{"9000, by a socket, suppressed, round the last id", 9000, "-via socket -suppress 0.01 -first 65500", "-j always", 9000},
	} {
		t.Run(c.name, func(t *testing.T) {
			// A machine that stands still for long enough loses packets in its own
			// queues. A camera that loses some does so each time.
			for attempt := 1; ; attempt++ {
				lost := attend(t, c.mtu, c.packet, c.camera, c.view)
				if len(lost) == 0 {
					return
				}
				if attempt == 3 {
					t.Fatalf("in attempt %d: %q", attempt, lost)
				}
				t.Logf("once more, since: %q", lost)
			}
		})
	}
}

// attend has Aravis watch the camera, and returns what says that not every image was
// complete.
func attend(t *testing.T, mtu, packet int, camera, view string) (lost []string) {
	pair := testnet.TestPair(t, testnet.Config{MTU: mtu})
	p := start(t, pair.A, "-serial 7 -size 1280x1024 -images 32 "+camera)
	n := watch(t, pair.B, "-w 1024 -h 1024 -f 50 "+view)
	out := p.Interrupt()
	_, total, _ := strings.Cut(out, "total: ")
	t.Log(total)

	// A third of what it should be must have come: the machine may be busy.
	if least := int(long.Seconds() * 50 / 3); n["n_completed_buffers"] < least {
		lost = append(lost, fmt.Sprintf("%d images in %v, want at least %d", n["n_completed_buffers"], *long, least))
	}
	for name, v := range n {
		if v != 0 && strings.HasPrefix(name, "n_") && !fine(name) {
			lost = append(lost, fmt.Sprintf("%s = %d", name, v))
		}
	}
	if strings.Contains(camera, "suppress") && n["n_resent_packets"] == 0 {
		t.Error("nothing was asked for again")
	}
	if n["gv packet size"] != packet { // a viewer waits 10 ms for a test packet
		lost = append(lost, fmt.Sprintf("packet size %d, want %d", n["gv packet size"], packet))
	}
	if n["payload"] != 1024*1024 {
		t.Errorf("payload %d", n["payload"])
	}
	var images int
	if fmt.Sscanf(total, "%d images", &images); images < n["n_completed_buffers"] {
		t.Errorf("the camera sent %d images", images)
	}
	if strings.Contains(out, "not sent") {
		t.Error("something could not be sent")
	}
	return lost
}

// fine tells counters that may be other than 0: of what came, and of repairs. On a busy
// machine a viewer takes for lost what is late, and asks for it: that comes twice.
func fine(name string) bool {
	switch name {
	case "n_completed_buffers", "n_received_packets", "n_transferred_bytes", "n_duplicated_packets", "n_ignored_packets", "n_ignored_bytes",
		"n_resend_requests", "n_resent_packets", "n_resend_ratio_reached":
		return true
	}
	return false
}

// A viewer changes what images are like.
func TestViewerSettings(t *testing.T) {
	program.Installed(t, viewer, "aravis-tools")
	pair := testnet.TestPair(t, testnet.Config{})
	camera := start(t, pair.A, "-serial 7 -size 640x480 -rate 10")
	was := *long
	*long = time.Second
	defer func() { *long = was }()
	for _, c := range []struct {
		args          string
		payload, rate int
	}{
		{"-w 640 -h 480 -f 40 --features PixelFormat=RGB8", 640 * 480 * 3, 40},
		{"-w 320 -h 200 -f 100 --features PixelFormat=BayerRG8", 320 * 200, 100},
		{"-w 8 -h 4 -f 20 --features PixelFormat=Mono8", 32, 20}, // one packet (case 129)
	} {
		n := watch(t, pair.B, "-j never "+c.args)
		if n["payload"] != c.payload || n["n_completed_buffers"] < c.rate/3 || n["n_completed_buffers"] > 2*c.rate || n["n_failures"] != 0 {
			t.Errorf("%s: payload %d, %d images, %d failures", c.args, n["payload"], n["n_completed_buffers"], n["n_failures"])
		}
	}
	camera.Interrupt()
}

func TestFlags(t *testing.T) {
	parsed := func(args string) (device.Config, error) {
		f := flag.NewFlagSet("camera", flag.ContinueOnError)
		f.SetOutput(io.Discard)
		return parse(f, strings.Fields(args))
	}
	cfg, err := parsed("-i lo -size 64x32 -format RGB8 -rate 7.5 -packet 1400 -delay 20us -extended -via socket -gather always -suppress 0.5 -seed 3")
	want := device.Config{
		Interface: "lo", Serial: "1", Width: 64, Height: 32, Format: gv.RGB8, Rate: 7.5, PacketSize: 1400, Delay: 20 * time.Microsecond, Extended: true,
		Images: 8, FirstBlock: 1, Faults: device.Faults{Suppress: 0.5, Seed: 3}, Via: device.Socket, Gather: udp.GatherAlways,
	}
	if err != nil || cfg != want {
		t.Errorf("got  %+v, %v\nwant %+v", cfg, err, want)
	}
	for args, want := range map[string]string{"-size 64": "-size 64", "-size 0x0": "-size 0x0", "-format grey": "-format", "-via pigeon": "-via pigeon", "-gather never": "-gather never", "-rate x": "rate"} {
		if _, err := parsed(args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
}
