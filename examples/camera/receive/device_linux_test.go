// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image/jpeg"
	"image/png"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdpath/xdpath/examples/camera/device"
	"github.com/xdpath/xdpath/examples/camera/gv"
	"github.com/xdpath/xdpath/examples/camera/pattern"
	"github.com/xdpath/xdpath/examples/internal/program"
	"github.com/xdpath/xdpath/internal/testnet"
)

// ours starts the camera of examples/camera/device. The register of its start is in
// its XML.
func ours(t *testing.T, end testnet.End, cfg device.Config) *device.Device {
	t.Helper()
	cfg.Interface = end.Name
	ctx, stop := context.WithCancel(t.Context())
	var d *device.Device
	if err := end.NS.Do(func() (err error) { d, err = device.Open(ctx, cfg); return err }); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return d
}

const regStart = "0xa014"

// With one packet in a hundred left out, repeated or out of order, and asked for
// again, every image is complete; the packet size that is agreed on is the MTU.
func TestResends(t *testing.T) {
	for _, c := range []struct {
		mtu      int
		extended bool
	}{{1500, false}, {9000, true}} {
		t.Run(fmt.Sprint(c.mtu, " extended ", c.extended), func(t *testing.T) {
			pair := testnet.TestPair(t, testnet.Config{MTU: c.mtu})
			d := ours(t, pair.A, device.Config{
				Width: 640, Height: 480, Rate: 20, Extended: c.extended, FirstBlock: 65530,
				Faults: device.Faults{Suppress: 0.01, Duplicate: 0.01, Reorder: 0.01, Seed: 1},
			})
			n, out := run(t, pair.B, "-camera", pair.A.IP4.String(), "-w", regStart+"=1", "-end", regStart+"=0",
				"-resend-ratio", "1", "-frame-retention", "2s")
			st := d.Stats()
			if want := fmt.Sprintf("packets of %d bytes, resend on", c.mtu); !strings.Contains(out, want) {
				t.Errorf("no %q in the output", want)
			}
			if n["n_completed_buffers"] != int(st.Images) || n["n_failures"]+n["n_missing_frames"]+n["n_missing_packets"]+n["n_aborted"] != 0 {
				t.Errorf("%d images were sent", st.Images)
			}
			if st.Suppressed == 0 || n["n_resent_packets"] < int(st.Suppressed) || n["n_duplicated_packets"] == 0 {
				t.Errorf("the camera: %v", st)
			}
			if t.Failed() {
				t.Log(out)
			}
		})
	}
}

// What is saved is what the camera has drawn, of each pixel format.
func TestSaves(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{MTU: 9000})
	for _, f := range []gv.PixelFormat{gv.Mono8, gv.RGB8} {
		dir := t.TempDir()
		t.Run(f.String(), func(t *testing.T) {
			ours(t, pair.A, device.Config{Width: 64, Height: 48, Rate: 20, Format: f})
			out, err := program.Example(t, pair.B.NS.Start, "-camera", pair.A.IP4.String(), "-w", regStart+"=1", "-end", regStart+"=0",
				"-duration", "1s", "-interval", "0", "-save", dir, "-every", "2").Wait()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		})
		b, err := os.ReadFile(filepath.Join(dir, "image-000002.png")) // the third of the stream
		if err != nil {
			t.Fatal(err)
		}
		p, err := png.Decode(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		draw, err := pattern.New(f, 64, 48)
		if err != nil {
			t.Fatal(err)
		}
		want := make([]byte, draw.Bytes())
		draw.Draw(want, 3)
		for i := range 64 * 48 {
			r, g, b, _ := p.At(i%64, i/64).RGBA()
			got := []byte{byte(r >> 8), byte(g >> 8), byte(b >> 8)}
			if n := f.Bits() / 8; !bytes.Equal(got[:n], want[i*n:(i+1)*n]) {
				t.Fatalf("%v, pixel %d: got %v, want %v", f, i, got, want[i*n:(i+1)*n])
			}
		}
	}
}

// The page of a running receiver shows its image and its counters.
func TestPage(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	ours(t, pair.A, device.Config{Width: 640, Height: 480, Rate: 20})
	p := program.Example(t, pair.B.NS.Start, "-camera", pair.A.IP4.String(), "-w", regStart+"=1", "-end", regStart+"=0", "-http", "127.0.0.1:0")
	_, address, _ := strings.Cut(p.Line("page:"), "page: ")
	client := &http.Client{Transport: &http.Transport{DialContext: func(_ context.Context, network, addr string) (c net.Conn, err error) {
		err = pair.B.NS.Do(func() error { c, err = net.Dial(network, addr); return err })
		return c, err
	}}}
	get := func(path string) []byte {
		t.Helper()
		r, err := client.Get(address + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		if err != nil || r.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s, %v", path, r.Status, err)
		}
		return b
	}
	p.Line("images/s")
	if img, err := jpeg.Decode(bytes.NewReader(get("image"))); err != nil || img.Bounds().Dx() != 640 {
		t.Errorf("%v", err)
	}
	var s struct {
		Camera   string
		Counters []struct {
			Name  string
			Value int
		}
	}
	if err := json.Unmarshal(get("status"), &s); err != nil {
		t.Fatal(err)
	}
	client.CloseIdleConnections()
	end := counters(p.Interrupt())
	shown := s.Counters[0].Value
	if !strings.Contains(s.Camera, "Camera 1 at 10.9.0.1") || shown == 0 || shown > end[s.Counters[0].Name] || len(s.Counters) != len(end) {
		t.Errorf("%+v; at the end %v", s, end)
	}
}

// A broadcast finds the only camera; without one, and with bad flags, it is said.
func TestFinds(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	find := func() (string, error) {
		return program.Example(t, pair.B.NS.Start, "-i", pair.B.Name, "-w", regStart+"=1", "-end", regStart+"=0", "-duration", "300ms").Wait()
	}
	if out, err := find(); err == nil || !strings.Contains(out, "no camera answers") {
		t.Errorf("%v\n%s", err, out)
	}
	ours(t, pair.A, device.Config{Width: 64, Height: 48})
	if out, err := find(); err != nil || !strings.Contains(out, "camera: xdpath Camera 1 at 10.9.0.1") || counters(out)["n_completed_buffers"] == 0 {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestParse(t *testing.T) {
	for args, want := range map[string]string{
		"":                            "-camera or -i",
		"-camera x":                   "-camera",
		"-i lo -size 10":              "-size 10",
		"-i lo -via tcp":              "-via tcp",
		"-i lo -w 5":                  "ADDRESS=VALUE",
		"-i lo -w 5=z":                "-w",
		"-i lo -port 70000":           "-port 70000",
		"-i lo -every 0 -format jpg":  "-format jpg",
		"-i lo -save /does/not/exist": "-save",
		"-i lo -interval -1s":         "-interval",
		"-i lo more":                  "flags only",
	} {
		if _, err := parse(strings.Fields(args), io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", args, err)
		}
	}
	c, err := parse(strings.Fields("-i lo -w 0x104=512 -w 8=0x10 -size 9000"), io.Discard)
	if err != nil || len(c.writes) != 2 || c.writes[0] != (gv.Write{Address: 0x104, Value: 512}) || c.size != 9000 {
		t.Errorf("%+v, %v", c, err)
	}
}
