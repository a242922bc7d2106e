// SPDX-License-Identifier: MIT

package path

import (
	"errors"
	"fmt"

	"github.com/xdpath/xdpath/bench/internal/camera"
)

// A gsoCamera makes one call a bundle, which the kernel cuts into datagrams.
type gsoCamera struct {
	*socketImage
	sender *gsoSender // of the same socket: it asks for bundles, and switches the offload
	pieces [][]byte
}

func openGSOCamera(cfg Config) (*gsoCamera, error) {
	batch := max(1, min(cfg.Batch, gsoSegments, gsoBytes/cfg.Size))
	s, err := openSocketImage(cfg, batch)
	if err != nil {
		return nil, err
	}
	s.info.Bundle, s.info.Mode = batch, gsoDevice
	c := &gsoCamera{socketImage: s, sender: &gsoSender{mmsgSender: &mmsgSender{udpSocket: s.udpSocket}, size: cfg.Size}}
	if err := c.sender.setUp(cfg, gsoSegmented); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Send implements camera.Sender. Where the kernel refuses bundles each datagram goes
// by itself.
func (s *gsoCamera) Send(label camera.Label) (int, error) {
	sent, all := 0, s.shape.Packets()
	for sent < all {
		n := min(len(s.heads), all-sent)
		if s.sender.plain {
			n = 1
		}
		s.pieces = s.pieces[:0]
		for i := range n {
			label(sent+i, s.heads[i])
			s.pieces = append(s.pieces, s.heads[i], s.part(sent+i))
		}
		err := s.writev(s.pieces)
		switch {
		case err == nil:
			sent += n
		case s.sender.plain:
			return sent, fmt.Errorf("send: %w", err)
		default:
			if err := s.sender.refuse(err); err != nil {
				return sent, err
			}
		}
	}
	return sent, nil
}

// Close closes the socket and gives the interface its offload back.
func (s *gsoCamera) Close() error { return s.sender.Close() }
