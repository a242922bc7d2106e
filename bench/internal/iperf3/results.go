// SPDX-License-Identifier: MIT

package iperf3

import (
	"fmt"
)

// Results is what each side tells the other when the test is over.
type Results struct {
	CPUTotal    float64        `json:"cpu_util_total"` // of this process, in percent of one processor
	CPUUser     float64        `json:"cpu_util_user"`
	CPUSystem   float64        `json:"cpu_util_system"`
	Retransmits float64        `json:"sender_has_retransmits"`
	Streams     []StreamResult `json:"streams"`
}

// StreamResult is the results of one stream. A sender has sent Packets; a receiver
// has received Bytes, and Errors of Packets are lost. What is omitted is within.
type StreamResult struct {
	ID             float64 `json:"id"`
	Bytes          float64 `json:"bytes"`
	Retransmits    float64 `json:"retransmits"`
	Jitter         float64 `json:"jitter"` // in seconds
	Errors         float64 `json:"errors"`
	OmittedErrors  float64 `json:"omitted_errors"`
	Packets        float64 `json:"packets"`
	OmittedPackets float64 `json:"omitted_packets"`
	StartTime      float64 `json:"start_time"`
	EndTime        float64 `json:"end_time"`
}

// streamID is how iperf 3 numbers its streams: 1, 3, 4, 5.
func streamID(n int) int {
	if n == 0 {
		return 1
	}
	return n + 2
}

// validate checks the results of another for the streams that there are.
func (r Results) validate(streams int) error {
	if len(r.Streams) != streams {
		return fmt.Errorf("results of %d streams, want %d", len(r.Streams), streams)
	}
	for n, s := range r.Streams {
		if s.ID != float64(streamID(n)) {
			return fmt.Errorf("results of stream %v, want %d", s.ID, streamID(n))
		}
	}
	return nil
}
