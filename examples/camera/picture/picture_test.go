// SPDX-License-Identifier: MIT

package picture

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdpath/xdpath/examples/camera/gv"
)

func image8(f gv.PixelFormat, w, h uint32, data ...byte) raw {
	return raw{gv.Leader{PixelFormat: f, Width: w, Height: h}, data}
}

func decode(t *testing.T, r raw) image.Image {
	t.Helper()
	p, err := Decode(r.Leader, r.data)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func at(t *testing.T, p image.Image, x, y int) color.RGBA {
	t.Helper()
	return color.RGBAModel.Convert(p.At(x, y)).(color.RGBA)
}

func TestDecode(t *testing.T) {
	padded := image8(gv.Mono8, 2, 2, 1, 2, 99, 3, 4, 99)
	padded.PadX = 1
	for _, c := range []struct {
		name string
		raw  raw
		x, y int
		want color.RGBA
	}{
		{"Mono8", image8(gv.Mono8, 2, 2, 1, 2, 3, 4), 1, 1, color.RGBA{4, 4, 4, 255}},
		{"padded", padded, 0, 1, color.RGBA{3, 3, 3, 255}},
		{"short", image8(gv.Mono8, 2, 2, 1, 2, 3), 1, 1, color.RGBA{0, 0, 0, 255}},
		{"Mono10", image8(gv.Mono10, 1, 1, 0xff, 0x03), 0, 0, color.RGBA{255, 255, 255, 255}},
		{"Mono12", image8(gv.Mono12, 1, 1, 0x00, 0x08), 0, 0, color.RGBA{128, 128, 128, 255}},
		{"Mono16", image8(gv.Mono16, 1, 1, 0x34, 0x12), 0, 0, color.RGBA{0x12, 0x12, 0x12, 255}},
		{"RGB8", image8(gv.RGB8, 2, 1, 1, 2, 3, 4, 5, 6), 1, 0, color.RGBA{4, 5, 6, 255}},
		{"BGR8", image8(gv.BGR8, 2, 1, 1, 2, 3, 4, 5, 6), 1, 0, color.RGBA{6, 5, 4, 255}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := Decode(c.raw.Leader, c.raw.data)
			if err != nil {
				t.Fatal(err)
			}
			if got := at(t, p, c.x, c.y); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// A plain colour through each mosaic is that colour again, up to the edges.
func TestBayer(t *testing.T) {
	want := color.RGBA{200, 100, 50, 255}
	for f, mosaic := range map[gv.PixelFormat]string{gv.BayerRG8: "RGGB", gv.BayerGR8: "GRBG", gv.BayerGB8: "GBRG", gv.BayerBG8: "BGGR"} {
		const w, h = 6, 4
		var data []byte
		for y := range h {
			for x := range w {
				data = append(data, map[byte]byte{'R': want.R, 'G': want.G, 'B': want.B}[mosaic[y%2*2+x%2]])
			}
		}
		p := decode(t, image8(f, w, h, data...))
		for y := range h {
			for x := range w {
				if got := at(t, p, x, y); got != want {
					t.Errorf("%v at %d, %d: got %v", f, x, y, got)
				}
			}
		}
	}
	decode(t, image8(gv.BayerRG8, 1, 1, 7))
}

func TestDecodeRefuses(t *testing.T) {
	for want, r := range map[string]raw{
		"0 x 5": image8(gv.Mono8, 0, 5), "sides must be": image8(gv.Mono8, 1<<20, 5), "not one that can be shown": image8(0x02100032, 5, 5),
	} {
		if _, err := Decode(r.Leader, r.data); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestSave(t *testing.T) {
	dir := t.TempDir()
	mono := decode(t, image8(gv.Mono8, 2, 1, 10, 20))
	deep := decode(t, image8(gv.Mono16, 1, 1, 0x34, 0x12))
	rgb := decode(t, image8(gv.RGB8, 1, 1, 1, 2, 3))
	for _, c := range []struct {
		format, file string
		p            image.Image
		want         string
	}{
		{PNM, "a.pgm", mono, "P5\n2 1\n255\n\x0a\x14"},
		{PNM, "a.pgm", deep, "P5\n1 1\n65535\n\x12\x34"},
		{PNM, "a.ppm", rgb, "P6\n1 1\n255\n\x01\x02\x03"},
		{PNG, "a.png", rgb, ""},
	} {
		name, err := Save(dir, "a", c.format, c.p)
		if err != nil || name != filepath.Join(dir, c.file) {
			t.Fatalf("%q, %v", name, err)
		}
		got, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if c.want != "" && string(got) != c.want {
			t.Errorf("%s: %q", name, got)
		}
		if c.format == PNG {
			p, err := png.Decode(bytes.NewReader(got))
			if err != nil || at(t, p, 0, 0) != (color.RGBA{1, 2, 3, 255}) {
				t.Errorf("%v, %v", p, err)
			}
		}
	}
	if _, err := Save(filepath.Join(dir, "none"), "a", PNG, mono); err == nil {
		t.Error("a folder that is not there was written to")
	}
}

// No leader and no bytes make it fail in another way than by an error.
func FuzzDecode(f *testing.F) {
	f.Add(uint32(gv.Mono8), uint16(2), uint16(2), uint16(0), []byte{1, 2, 3, 4})
	f.Add(uint32(gv.BayerGB8), uint16(3), uint16(1), uint16(1), []byte{1, 2, 3, 4})
	f.Add(uint32(gv.Mono12), uint16(2), uint16(2), uint16(0), []byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, format uint32, w, h, pad uint16, data []byte) {
		r := image8(gv.PixelFormat(format), uint32(w%512), uint32(h%512), data...)
		r.PadX = pad
		p, err := Decode(r.Leader, r.data)
		if err != nil {
			return
		}
		if p.Bounds().Dx() != int(w%512) || p.Bounds().Dy() != int(h%512) {
			t.Errorf("%v of %d x %d", p.Bounds(), w, h)
		}
		b := binary.BigEndian.AppendUint16(nil, 0)
		if err := fastPNG(bytes.NewBuffer(b), p); err != nil {
			t.Error(err)
		}
	})
}
