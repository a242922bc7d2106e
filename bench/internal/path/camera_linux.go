// SPDX-License-Identifier: MIT

package path

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/bench/internal/camera"
	"github.com/xdpath/xdpath/bench/internal/sys"
)

// A socketImage is what the cameras over sockets have in common: one image, which the
// kernel has copied when a send call returns. Headers and parts of the image go to
// the kernel as they lie: nothing is copied before.
type socketImage struct {
	*udpSocket
	shape  camera.Shape
	pixels []byte
	heads  [][]byte // headers of a batch
}

func openSocketImage(cfg Config, batch int) (*socketImage, error) {
	shape := camera.Shape{Image: cfg.Image, Size: cfg.Size}
	if err := shape.Validate(); err != nil {
		return nil, err
	}
	u, err := openUDP(cfg)
	if err != nil {
		return nil, err
	}
	u.info.Batch = batch
	_, heads := slices(batch, camera.HeaderSize)
	return &socketImage{udpSocket: u, shape: shape, pixels: make([]byte, shape.Padded()), heads: heads}, nil
}

// Image implements camera.Sender.
func (s *socketImage) Image() ([]byte, error) { return s.pixels, nil }

// part is the image's share of datagram i.
func (s *socketImage) part(i int) []byte {
	n := s.shape.Pixels()
	return s.pixels[i*n : (i+1)*n]
}

// A socketCamera makes one call a datagram.
type socketCamera struct {
	*socketImage
	pieces [2][]byte
}

func openSocketCamera(cfg Config) (*socketCamera, error) {
	s, err := openSocketImage(cfg, 1)
	if err != nil {
		return nil, err
	}
	return &socketCamera{socketImage: s}, nil
}

// Send implements camera.Sender.
func (s *socketCamera) Send(label camera.Label) (int, error) {
	for i := range s.shape.Packets() {
		label(i, s.heads[0])
		s.pieces = [...][]byte{s.heads[0], s.part(i)}
		if err := s.writev(s.pieces[:]); err != nil {
			return i, fmt.Errorf("send: %w", err)
		}
	}
	return s.shape.Packets(), nil
}

// writev sends what lies in pieces.
func (s *udpSocket) writev(pieces [][]byte) error {
	for {
		if _, err := unix.Writev(s.fd, pieces); err != unix.EINTR {
			return err
		}
	}
}

// A mmsgCamera makes one call a batch.
type mmsgCamera struct {
	*socketImage
	batch *sys.Batch
}

func openMmsgCamera(cfg Config) (*mmsgCamera, error) {
	s, err := openSocketImage(cfg, cfg.Batch)
	if err != nil {
		return nil, err
	}
	return &mmsgCamera{socketImage: s, batch: sys.NewPairs(s.heads)}, nil
}

// Send implements camera.Sender.
func (s *mmsgCamera) Send(label camera.Label) (int, error) {
	sent, all := 0, s.shape.Packets()
	for sent < all {
		n := min(len(s.heads), all-sent)
		for i := range n {
			label(sent+i, s.heads[i])
			s.batch.SetBody(i, s.part(sent+i))
		}
		for done := 0; done < n; {
			k, err := s.batch.Send(s.fd, done, n, 0)
			if err != nil {
				return sent + done, fmt.Errorf("sendmmsg: %w", err)
			}
			done += k
		}
		sent += n
	}
	return sent, nil
}
