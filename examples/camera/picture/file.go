// SPDX-License-Identifier: MIT

package picture

import (
	"bufio"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"
)

// Formats are the names of files' formats. PNM is PGM for grey pictures and PPM for
// others.
const (
	PNG = "png"
	PNM = "pgm"
)

// Save writes a picture to a new file in a folder, and returns the file's name. Nothing
// is left of a file that could not be written wholly.
func Save(dir, name, format string, p image.Image) (string, error) {
	ext, write := ".png", fastPNG
	if format == PNM {
		ext, write = pnm(p)
	}
	file := filepath.Join(dir, name+ext)
	f, err := os.Create(file)
	if err != nil {
		return "", fmt.Errorf("picture: %w", err)
	}
	w := bufio.NewWriter(f)
	if err := errors.Join(write(w, p), w.Flush(), f.Close()); err != nil {
		return "", fmt.Errorf("picture: %w", errors.Join(err, os.Remove(file)))
	}
	return file, nil
}

// fastPNG writes a PNG. To compress well takes longer than a camera waits.
func fastPNG(w io.Writer, p image.Image) error {
	enc := png.Encoder{CompressionLevel: png.BestSpeed}
	return enc.Encode(w, p)
}

// pnm is how a picture is written without compression.
func pnm(p image.Image) (ext string, write func(io.Writer, image.Image) error) {
	switch p.(type) {
	case *image.Gray, *image.Gray16:
		return ".pgm", grey
	}
	return ".ppm", ppm
}

func grey(w io.Writer, p image.Image) error {
	size := p.Bounds().Size()
	switch p := p.(type) {
	case *image.Gray:
		return lines(w, fmt.Sprintf("P5\n%d %d\n255\n", size.X, size.Y), size.Y, func(y int) []byte {
			return p.Pix[y*p.Stride : y*p.Stride+size.X]
		})
	case *image.Gray16:
		return lines(w, fmt.Sprintf("P5\n%d %d\n65535\n", size.X, size.Y), size.Y, func(y int) []byte {
			return p.Pix[y*p.Stride : y*p.Stride+2*size.X]
		})
	}
	return fmt.Errorf("picture: %T is not grey", p)
}

func ppm(w io.Writer, p image.Image) error {
	b := p.Bounds()
	line := make([]byte, 3*b.Dx())
	return lines(w, fmt.Sprintf("P6\n%d %d\n255\n", b.Dx(), b.Dy()), b.Dy(), func(y int) []byte {
		for x := range b.Dx() {
			r, g, bl, _ := p.At(b.Min.X+x, b.Min.Y+y).RGBA()
			line[3*x], line[3*x+1], line[3*x+2] = byte(r>>8), byte(g>>8), byte(bl>>8)
		}
		return line
	})
}

func lines(w io.Writer, head string, n int, line func(y int) []byte) error {
	if _, err := io.WriteString(w, head); err != nil {
		return err
	}
	for y := range n {
		if _, err := w.Write(line(y)); err != nil {
			return err
		}
	}
	return nil
}
