// SPDX-License-Identifier: MIT

package suite

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/xdpath/xdpath/bench/internal/camera"
	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/path"
	"github.com/xdpath/xdpath/bench/internal/report"
)

// cameraTest sends images at a rate, in trains of datagrams.
func cameraTest() Test {
	return Test{
		Name: camera.Name, What: "images at a rate, in trains of datagrams", Kind: path.Images,
		Defaults: Defaults{MTU: "1500,8000", Batch: 64},
		Rows:     cameraRows, Traffic: cameraTraffic, Carried: arrived, Count: countImages,
		Columns: cameraColumns, Notes: cameraNotes,
	}
}

// cameraFlags are those of the test alone.
type cameraFlags struct {
	size   string
	rate   float64
	images int
}

func cameraRows(fs *flag.FlagSet) func(*Plan, Common) error {
	var f cameraFlags
	fs.StringVar(&f.size, "size", "1280x1024", "`width x height` of an image in pixels of one byte")
	fs.Float64Var(&f.rate, "rate", 50, "images a second")
	fs.IntVar(&f.images, "images", 0, "images of a run, instead of -duration")
	return f.rows
}

// rows has datagrams as long as each MTU allows.
func (f *cameraFlags) rows(p *Plan, c Common) error {
	image, err := f.image()
	if !(f.rate > 0 && f.rate <= control.MaxRate) {
		err = errors.Join(err, fmt.Errorf("-rate %v: must be above 0 and at most %v", f.rate, control.MaxRate))
	}
	if f.images < 0 {
		err = errors.Join(err, fmt.Errorf("-images %d: must not be negative", f.images))
	}
	if err != nil {
		return err
	}
	if f.images > 0 {
		d := math.Ceil(float64(f.images) / f.rate * float64(time.Second))
		if d > float64(control.MaxDuration) {
			return fmt.Errorf("-images %d: at %v a second they take more than %v", f.images, f.rate, control.MaxDuration)
		}
		p.Duration = time.Duration(d)
		p.Warmup = min(p.Warmup, p.Duration)
	}
	for _, mtu := range c.MTUs {
		shape := camera.Shape{Image: image, Size: mtu - headers}
		if err := shape.Validate(); err != nil {
			return fmt.Errorf("-mtu %d: %w", mtu, err)
		}
		for _, name := range c.Paths {
			row := c.Row(name, shape.Size, mtu)
			row.Param, row.Image, row.Rate = mtuParam(mtu), image, f.rate
			p.Rows = append(p.Rows, row)
		}
	}
	return nil
}

// headers is what IPv4 and UDP put before a payload, in bytes.
const headers = 28

// image is how many bytes -size makes.
func (f *cameraFlags) image() (int, error) {
	w, h, ok := strings.Cut(f.size, "x")
	width, err1 := strconv.Atoi(w)
	height, err2 := strconv.Atoi(h)
	if !ok || err1 != nil || err2 != nil || width < 1 || height < 1 {
		return 0, fmt.Errorf("-size %s: must be as 1280x1024", f.size)
	}
	if width > camera.MaxImage/height {
		return 0, fmt.Errorf("-size %s: must be %d bytes at most", f.size, camera.MaxImage)
	}
	return width * height, nil
}

func cameraTraffic(ctx context.Context, s Side) error {
	shape := camera.Shape{Image: s.Prepare.Image, Size: s.Prepare.Size}
	if err := shape.Validate(); err != nil || s.Prepare.Rate <= 0 {
		return fmt.Errorf("image of %d bytes at %v a second: both are required: %w", s.Prepare.Image, s.Prepare.Rate, err)
	}
	scene, t := camera.NewScene(shape), s.Totals
	if tx, ok := s.End.(path.Camera); ok {
		sent, err := camera.Shoot(ctx, tx, scene, s.Start.Run, s.Prepare.Rate, s.Start.Duration)
		t.Sent, t.Elapsed, t.Images = sent.Datagrams, sent.Elapsed, sent.Images
		t.Lost = append(t.Lost, loss.Count{Place: loss.TXRing, N: sent.Left})
		return err
	}
	rx, ok := s.End.(path.Receiver)
	if !ok {
		return errNoTraffic(s)
	}
	got, err := camera.Assemble(ctx, rx, scene, shape, s.Start.Run, s.Prepare.Batch)
	t.Elapsed, t.Tally, t.Images = got.Elapsed, got.Tally, got.Complete
	if err == nil && got.Wrong > 0 {
		err = fmt.Errorf("%d images came with other pixels than were sent", got.Wrong)
	}
	return err
}

// countImages adds images to what OneWay counts.
func countImages(p control.Prepare, tx, rx report.Side) (report.Result, error) {
	r, err := report.OneWay(p, tx, rx)
	r.ImagesSent, r.ImagesComplete = tx.Totals.Images, rx.Totals.Images
	if r.ImagesComplete > r.ImagesSent {
		err = errors.Join(err, fmt.Errorf("%d images complete of %d sent", r.ImagesComplete, r.ImagesSent))
	}
	return r, err
}
