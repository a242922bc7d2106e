// SPDX-License-Identifier: MIT

package main

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/xdpath/xdpath/examples/camera/gv"
	"github.com/xdpath/xdpath/examples/internal/program"
	"github.com/xdpath/xdpath/internal/testnet"
)

var long = flag.Duration("long", 3*time.Second, "how long the stream of each test with Aravis is")

func TestMain(m *testing.M) {
	if program.IsExample() {
		main()
		return
	}
	os.Exit(m.Run())
}

const fakeCamera = "arv-fake-gv-camera-0.8"

// port is where the streams of tests go to.
const port = 5544

// fake starts Aravis's fake camera.
func fake(t *testing.T, end testnet.End, args ...string) {
	t.Helper()
	program.Installed(t, fakeCamera, "aravis-tools")
	program.Other(t, end.NS.Start, fakeCamera, append([]string{"-i", end.IP4.String(), "-s", "GV77"}, args...)...)
}

// start are the writes that have the fake camera send images of a size at 50 Hz.
func start(w, h int) []string {
	return strings.Fields(fmt.Sprintf("-w 0x100=%d -w 0x104=%d -w 0x138=20000 -w 0x124=1 -end 0x124=0", w, h))
}

// run runs the receiver as long as -long says, and returns its counters and output.
func run(t *testing.T, end testnet.End, args ...string) (map[string]int, string) {
	t.Helper()
	args = append([]string{"-port", strconv.Itoa(port), "-duration", long.String()}, args...)
	p := program.Example(t, end.NS.Start, args...)
	for range int(long.Seconds()) - 1 {
		p.Line("images/s") // it has patience for each line, not for all
	}
	out, err := p.Wait()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return counters(out), out
}

func counters(out string) map[string]int {
	c := map[string]int{}
	for _, line := range strings.Split(out, "\n") {
		name, value, ok := strings.Cut(line, " = ")
		if n, err := strconv.Atoi(value); ok && err == nil {
			c[strings.TrimSpace(name)] = n
		}
	}
	return c
}

// Every image of Aravis's fake camera is complete, by either way, at either MTU.
func TestAravisSends(t *testing.T) {
	for _, c := range []struct {
		via string
		mtu int
	}{{"xdp", 1500}, {"xdp", 8000}, {"socket", 1500}} {
		t.Run(fmt.Sprint(c.via, " ", c.mtu), func(t *testing.T) {
			pair := testnet.TestPair(t, testnet.Config{MTU: c.mtu})
			fake(t, pair.A)
			n, out := run(t, pair.B, append(start(1024, 512), "-camera", pair.A.IP4.String(), "-via", c.via)...)
			t.Log(out[strings.Index(out, "n_completed"):])
			packets := gv.Packets(1024*512, gv.PacketPayload(c.mtu, false)) + 2
			// Half of what it should be must have come: the machine may be busy.
			if least := int(long.Seconds() * 25); n["n_completed_buffers"] < least {
				t.Errorf("%d images in %v, want at least %d", n["n_completed_buffers"], *long, least)
			}
			if n["n_received_packets"] != packets*n["n_completed_buffers"] {
				t.Errorf("%d packets for %d images of %d", n["n_received_packets"], n["n_completed_buffers"], packets)
			}
			clean(t, n)
		})
	}
}

// clean tells that nothing was lost.
func clean(t *testing.T, n map[string]int) {
	t.Helper()
	for name, v := range n {
		switch name {
		case "n_completed_buffers", "n_received_packets", "n_transferred_bytes":
		default:
			if v != 0 {
				t.Errorf("%s = %d", name, v)
			}
		}
	}
}

// What is missing is what was missing on the wire: the fake camera leaves packets out,
// and a packet socket at its side counts the others.
func TestAravisLoses(t *testing.T) {
	for _, via := range []string{"xdp", "socket"} {
		t.Run(via, func(t *testing.T) {
			pair := testnet.TestPair(t, testnet.Config{})
			fake(t, pair.A, "-r", "10")
			w := watch(t, pair.A, port)
			n, out := run(t, pair.B, append(start(512, 512), "-camera", pair.A.IP4.String(), "-via", via)...)
			missing, whole, images := w.missing(t, gv.Packets(512*512, gv.PacketPayload(1500, false))+2)
			t.Logf("on the wire: %d images, %d whole, %d packets missing\n%s", images, whole, missing, out[strings.Index(out, "n_completed"):])
			if missing == 0 || n["n_missing_packets"] != missing {
				t.Errorf("%d packets are said to be missing, %d are", n["n_missing_packets"], missing)
			}
			if n["n_completed_buffers"] != whole || n["n_failures"] != images-whole || n["n_missing_frames"] != 0 {
				t.Errorf("%d complete and %d failures of %d images, %d of them whole", n["n_completed_buffers"], n["n_failures"], images, whole)
			}
			if want := fmt.Sprintf("lost on the wire %d, ring 0, consumer 0", missing); !strings.Contains(out, want) {
				t.Errorf("no %q in the output", want)
			}
		})
	}
}
