// SPDX-License-Identifier: MIT

package pattern

import (
	"bytes"
	"flag"
	"image"
	"image/color"
	"image/png"
	"os"
	"testing"

	"github.com/xdpath/xdpath/examples/camera/gv"
)

var save = flag.String("pattern.png", "", "write an image to this file, to look at it")

// draw draws image n.
func draw(t testing.TB, format gv.PixelFormat, width, height int, n uint64) []byte {
	t.Helper()
	p, err := New(format, width, height)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, p.Bytes()+1)
	b[p.Bytes()] = 0x77
	p.Draw(b, n)
	if b[p.Bytes()] != 0x77 {
		t.Fatal("a byte behind the image was written")
	}
	return b[:p.Bytes()]
}

// Every format shows the same picture.
func TestFormats(t *testing.T) {
	const w, h, n = 320, 240, 1234
	colour, grey := draw(t, gv.RGB8, w, h, n), draw(t, gv.Mono8, w, h, n)
	deep, bayer := draw(t, gv.Mono16, w, h, n), draw(t, gv.BayerRG8, w, h, n)
	for y := range h {
		for x := range w {
			at := y*w + x
			c := colour[3*at:]
			if want := color.GrayModel.Convert(color.RGBA{c[0], c[1], c[2], 255}).(color.Gray).Y; abs(int(grey[at])-int(want)) > 2 {
				t.Fatalf("Mono8 at %d, %d: %d, want %d", x, y, grey[at], want)
			}
			if deep[2*at+1] != grey[at] {
				t.Fatalf("Mono16 at %d, %d: %x, want %x in its high byte", x, y, deep[2*at:2*at+2], grey[at])
			}
			if want := c[y%2+x%2]; bayer[at] != want {
				t.Fatalf("BayerRG8 at %d, %d: %d, want %d", x, y, bayer[at], want)
			}
		}
	}
	if *save != "" {
		img := image.NewRGBA(image.Rect(0, 0, w, h))
		for at := range w * h {
			copy(img.Pix[4*at:], append(bytes.Clone(colour[3*at:3*at+3]), 255))
		}
		var out bytes.Buffer
		if err := png.Encode(&out, img); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(*save, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func abs(n int) int { return max(n, -n) }

// It moves: each image is the one before, shifted, but for the number; and none that
// are near to each other are the same.
func TestMoves(t *testing.T) {
	const w, h = 256, 64
	a, b := draw(t, gv.Mono8, w, h, 7), draw(t, gv.Mono8, w, h, 8)
	below := a[40*w+step : 40*w+w]
	if !bytes.Equal(b[40*w:40*w+w-step], below) {
		t.Error("line 40 is not the line of the image before, further left")
	}
	seen := map[string]uint64{}
	for n := range uint64(300) {
		img := string(draw(t, gv.Mono8, w, h, n))
		if m, ok := seen[img]; ok {
			t.Fatalf("images %d and %d are the same", m, n)
		}
		seen[img] = n
	}
}

// Images may be smaller than a digit.
func TestSmall(t *testing.T) {
	for _, f := range Formats() {
		draw(t, f, 8, 4, 5)
		draw(t, f, 1, 1, 1<<63)
		draw(t, f, 12, 10, 1<<63)
	}
	for _, c := range []struct {
		f    gv.PixelFormat
		w, h int
	}{{gv.BGR8, 8, 8}, {gv.Mono8, 0, 8}, {gv.Mono8, 8, -1}} {
		if _, err := New(c.f, c.w, c.h); err == nil {
			t.Errorf("%v %d x %d: no error", c.f, c.w, c.h)
		}
	}
}

func BenchmarkDraw(b *testing.B) {
	p, err := New(gv.Mono8, 1280, 1024)
	if err != nil {
		b.Fatal(err)
	}
	img := make([]byte, p.Bytes())
	b.SetBytes(int64(len(img)))
	for n := uint64(0); b.Loop(); n++ {
		p.Draw(img, n)
	}
}
