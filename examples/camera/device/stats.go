// SPDX-License-Identifier: MIT

package device

import (
	"fmt"
	"sync/atomic"
)

// Stats count what the camera has done since it was opened.
type Stats struct {
	Images  uint64 // sent
	Skipped uint64 // not sent at all: the one before took too long, or all places were in use
	Failed  uint64 // not sent whole
	Packets uint64 // of images, those sent again not counted

	Suppressed, Duplicated, Reordered uint64 // see Faults

	ResendRequests   uint64 // that came
	ResendOverflow   uint64 // of these, not looked at: too many at once
	Resent           uint64 // packets
	ResendEarly      uint64 // packets asked for that were yet to be sent
	ResendBeyond     uint64 // packets asked for beyond what an image allows
	ResendImpossible uint64 // requests for images that are gone, or never were

	Tests uint64 // test packets

	Commands, Malformed, Refused uint64 // of the control protocol
	Heartbeats                   uint64 // that were missing, so that control was released
}

type counters struct {
	images, skipped, failed, packets                      atomic.Uint64
	suppressed, duplicated, reordered                     atomic.Uint64
	requests, overflow, resent, early, beyond, impossible atomic.Uint64
	tests                                                 atomic.Uint64
	commands, malformed, refused, heartbeats              atomic.Uint64
}

// Stats are the counters as they are now.
func (d *Device) Stats() Stats {
	n := &d.counts
	return Stats{
		Images: n.images.Load(), Skipped: n.skipped.Load(), Failed: n.failed.Load(), Packets: n.packets.Load(),
		Suppressed: n.suppressed.Load(), Duplicated: n.duplicated.Load(), Reordered: n.reordered.Load(),
		ResendRequests: n.requests.Load(), ResendOverflow: n.overflow.Load(), Resent: n.resent.Load(),
		ResendEarly: n.early.Load(), ResendBeyond: n.beyond.Load(), ResendImpossible: n.impossible.Load(),
		Tests: n.tests.Load(), Commands: n.commands.Load(), Malformed: n.malformed.Load(), Refused: n.refused.Load(),
		Heartbeats: n.heartbeats.Load(),
	}
}

func (s Stats) String() string {
	return fmt.Sprintf("%d images, %d skipped, %d failed; %d packets, %d suppressed, %d duplicated, %d reordered; %d requests to resend (%d too many), %d packets resent; %d commands, %d malformed, %d refused",
		s.Images, s.Skipped, s.Failed, s.Packets, s.Suppressed, s.Duplicated, s.Reordered,
		s.ResendRequests, s.ResendOverflow, s.Resent, s.Commands, s.Malformed, s.Refused)
}
