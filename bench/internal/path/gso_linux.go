// SPDX-License-Identifier: MIT

package path

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Most that one call with UDP_SEGMENT may carry. Kernels allow 64 segments,
// newer ones 128, and no more payload than an IPv4 packet holds.
const (
	gsoSegments = 64
	gsoBytes    = 65507
)

// Modes of the gso path.
const (
	gsoSegmented = "segmented" // in software, before the link
	gsoDevice    = "offloaded" // by the device
	gsoRefused   = "GSO off"   // plain sends instead
	gsoWhole     = "whole"     // not at all: a veth hands bundles on as they are
)

// gsoPath sends bundles of datagrams in one call (UDP_SEGMENT) and takes
// bundles in one call (UDP_GRO).
//
// A veth by itself hands a bundle over as it is, as one packet that no wire
// could carry. So the sender switches the segmentation offload of a veth off
// as long as it is open: then the kernel cuts the bundle before the link, and
// datagrams of their own cross it, as on all other paths.
func gsoPath() Path {
	return Path{
		Name: "gso",
		Sender: func(cfg Config) (Sender, error) {
			return openGSOSender(cfg, gsoSegmented)
		},
		Receiver: func(cfg Config) (Receiver, error) {
			return openGROReceiver(cfg, groBuffer)
		},
		Camera: func(cfg Config) (Camera, error) { return openGSOCamera(cfg) },
	}
}

// wholeGSOPath is gso with the segmentation offload of the sending veth as a veth has
// it: nothing is ever cut, so that the link carries less packets than any wire would.
func wholeGSOPath() Path {
	return Path{
		Name: "gso-veth", Extra: []Kind{Stream},
		Sender:   func(cfg Config) (Sender, error) { return openGSOSender(cfg, gsoWhole) },
		Receiver: func(cfg Config) (Receiver, error) { return openGROReceiver(cfg, groBuffer) },
	}
}

type gsoSender struct {
	*mmsgSender
	size    int
	write   func(fd int, p []byte) (int, error)
	plain   bool // bundles were refused: sendmmsg serves instead
	offload *offload
}

// openGSOSender opens a sender whose bundles shall cross a veth in that way.
func openGSOSender(cfg Config, mode string) (*gsoSender, error) {
	cfg.Batch = min(cfg.Batch, gsoSegments, gsoBytes/cfg.Size)
	u, err := openUDP(cfg)
	if err != nil {
		return nil, err
	}
	u.info.Batch, u.info.Bundle, u.info.Mode = cfg.Batch, cfg.Batch, gsoDevice
	s := &gsoSender{mmsgSender: newMmsgSender(u, cfg), size: cfg.Size, write: unix.Write}
	if err := s.setUp(cfg, mode); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *gsoSender) setUp(cfg Config, mode string) error {
	if err := unix.SetsockoptInt(s.fd, unix.SOL_UDP, unix.UDP_SEGMENT, cfg.Size); err != nil {
		return s.refuse(err)
	}
	veth, err := isVeth(cfg.Interface)
	if err == nil && !veth && mode == gsoWhole {
		err = fmt.Errorf("%s is no veth: it sends datagrams one by one, as path gso does", cfg.Interface)
	}
	if err != nil || !veth {
		return err
	}
	if cfg.Keep {
		err = s.keep(cfg.Interface)
		if err == nil && mode == gsoWhole && s.info.Mode != mode {
			err = fmt.Errorf("%s of %s is off: it sends datagrams one by one, as path gso does", offloadUDPSegmentation, cfg.Interface)
		}
		return err
	}
	s.offload, err = switchOffload(cfg.Interface, offloadUDPSegmentation, mode == gsoWhole)
	if err != nil {
		return err
	}
	s.info.Mode = mode
	return nil
}

// keep leaves a veth as it is, and says what that means.
func (s *gsoSender) keep(iface string) error {
	on, err := offloadOn(iface, offloadUDPSegmentation)
	if err != nil {
		return err
	}
	s.info.Mode = gsoSegmented
	if on {
		s.info.Mode = gsoWhole
		s.info.Notes = append(s.info.Notes, fmt.Sprintf("%s is a veth, whose settings the bench leaves as they are: bundles cross it as single packets that no wire could carry; ethtool -K %s %s off has them cut before", iface, iface, offloadUDPSegmentation))
	}
	return nil
}

// refuse gives bundles up for good. The kernel answers EIO or EINVAL where the
// device cannot finish the checksums of segments, ENOPROTOOPT where it is too
// old: none of these is a reason to fail, all are worth a note.
func (s *gsoSender) refuse(cause error) error {
	if !errors.Is(cause, unix.EIO) && !errors.Is(cause, unix.EINVAL) && !errors.Is(cause, unix.ENOPROTOOPT) {
		return fmt.Errorf("send bundle of datagrams of %d bytes: %w", s.size, cause)
	}
	s.plain = true
	s.info.Mode = gsoRefused
	s.info.Notes = append(s.info.Notes, fmt.Sprintf("the kernel refuses UDP_SEGMENT (%v): sent by sendmmsg instead", cause))
	// Best effort: a kernel that refused the option has nothing to undo.
	_ = unix.SetsockoptInt(s.fd, unix.SOL_UDP, unix.UDP_SEGMENT, 0)
	return nil
}

// Send hands the bundle over in one call. The kernel takes it whole or not at
// all.
func (s *gsoSender) Send(n int) (int, error) {
	for !s.plain && n > 0 {
		_, err := s.write(s.fd, s.block[:n*s.size])
		switch {
		case err == nil:
			return n, nil
		case errors.Is(err, unix.EINTR):
		default:
			if err := s.refuse(err); err != nil {
				return 0, err
			}
		}
	}
	return s.mmsgSender.Send(n)
}

// Close closes the socket and gives the interface its offload back.
func (s *gsoSender) Close() error {
	err := errors.Join(s.mmsgSender.Close(), s.offload.restore())
	s.offload = nil
	return err
}
