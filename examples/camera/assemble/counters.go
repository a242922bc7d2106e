// SPDX-License-Identifier: MIT

package assemble

import (
	"fmt"
	"strings"
)

// Counters are of a stream since it began. Up to IgnoredBytes they are what Aravis
// prints, under the same names.
type Counters struct {
	CompletedBuffers   uint64
	Failures           uint64 // images that lack something
	Underruns          uint64 // images for which no buffer was free
	Timeouts           uint64 // failures that were given up after silence
	Aborted            uint64 // images that Abort ended
	MissingFrames      uint64 // images of which no packet came, by the ids
	SizeMismatchErrors uint64 // packets or images that are longer or shorter than they should be
	ReceivedPackets    uint64
	MissingPackets     uint64 // of the failures
	ErrorPackets       uint64 // by which the camera says what it cannot do
	IgnoredPackets     uint64 // that belong to no image in flight
	ResendRequests     uint64 // packets that were asked for
	ResentPackets      uint64 // of these, the ones that came
	ResendRatioReached uint64
	ResendDisabled     uint64 // images whose packets the camera no longer has
	DuplicatedPackets  uint64
	TransferredBytes   uint64 // UDP payload
	IgnoredBytes       uint64

	// ConflictingPackets are duplicates with other contents than the first had.
	ConflictingPackets uint64
	// LatePackets are ignored ones of an image that is closed.
	LatePackets uint64
	// RefusedPackets are ignored ones of an image that had no buffer.
	RefusedPackets uint64
	// MalformedPackets are ignored ones that are no GVSP packets.
	MalformedPackets uint64
}

// Count is a counter with its name.
type Count struct {
	Name  string `json:"name"`
	Value uint64 `json:"value"`
}

// List is all counters, in the order in which Aravis prints them.
func (c Counters) List() []Count {
	return []Count{
		{"n_completed_buffers", c.CompletedBuffers},
		{"n_failures", c.Failures},
		{"n_underruns", c.Underruns},
		{"n_timeouts", c.Timeouts},
		{"n_aborted", c.Aborted},
		{"n_missing_frames", c.MissingFrames},
		{"n_size_mismatch_errors", c.SizeMismatchErrors},
		{"n_received_packets", c.ReceivedPackets},
		{"n_missing_packets", c.MissingPackets},
		{"n_error_packets", c.ErrorPackets},
		{"n_ignored_packets", c.IgnoredPackets},
		{"n_resend_requests", c.ResendRequests},
		{"n_resent_packets", c.ResentPackets},
		{"n_resend_ratio_reached", c.ResendRatioReached},
		{"n_resend_disabled", c.ResendDisabled},
		{"n_duplicated_packets", c.DuplicatedPackets},
		{"n_transferred_bytes", c.TransferredBytes},
		{"n_ignored_bytes", c.IgnoredBytes},
		{"n_conflicting_packets", c.ConflictingPackets},
		{"n_late_packets", c.LatePackets},
		{"n_refused_packets", c.RefusedPackets},
		{"n_malformed_packets", c.MalformedPackets},
	}
}

// String is a line for each counter, as arv-camera-test has them.
func (c Counters) String() string {
	var b strings.Builder
	for _, n := range c.List() {
		fmt.Fprintf(&b, "%-22s = %d\n", n.Name, n.Value)
	}
	return b.String()
}

// Loss is where packets were lost, those that were sent again included.
type Loss struct {
	Wire     uint64 `json:"wire"`     // ids that never came, by no fault of this machine
	Ring     uint64 `json:"ring"`     // the kernel had no room for them: rings, or a socket's buffer
	Consumer uint64 `json:"consumer"` // they came while all buffers were with the consumer
}

// Loss tells where packets were lost, given how many the kernel dropped on this
// machine. Packets of images that are missing wholly are in none: their number is
// not known.
func (c Counters) Loss(ring uint64) Loss {
	gone := c.MissingPackets + c.ResentPackets
	return Loss{Wire: gone - min(gone, ring), Ring: ring, Consumer: c.RefusedPackets}
}

func (l Loss) String() string {
	return fmt.Sprintf("lost on the wire %d, ring %d, consumer %d", l.Wire, l.Ring, l.Consumer)
}
