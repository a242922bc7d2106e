// SPDX-License-Identifier: MIT

package iperf3

import (
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// Bounds of what is accepted as parameters.
const (
	MaxStreams = 128
	MinSize    = WideHeaderSize
	MaxSize    = 65507 // what UDP over IPv4 can carry
	MaxRate    = 1e12  // bits a second
	MaxTime    = 24 * time.Hour
)

// Params is what the client wants, as it stands on the wire. What other options there
// are is neither sent nor looked at.
type Params struct {
	UDP           Bool    `json:"udp,omitempty"`
	TCP           Bool    `json:"tcp,omitempty"`
	SCTP          Bool    `json:"sctp,omitempty"`
	Omit          float64 `json:"omit"` // seconds at the start that do not count
	Time          float64 `json:"time"` // seconds; 0 if there is another end
	Num           float64 `json:"num"`  // bytes after which the client ends, 0 for no such end
	BlockCount    float64 `json:"blockcount"`
	Parallel      float64 `json:"parallel"`
	Reverse       Bool    `json:"reverse,omitempty"` // the server sends
	Bidirectional Bool    `json:"bidirectional,omitempty"`
	Len           float64 `json:"len"`                    // payload of a datagram in bytes
	Bandwidth     float64 `json:"bandwidth,omitempty"`    // of each stream in payload bits a second, 0 for no limit
	PacingTimer   float64 `json:"pacing_timer,omitempty"` // microseconds in which datagrams may leave together
	Window        float64 `json:"window,omitempty"`       // bytes of socket buffer, 0 for the system's choice
	Wide          Bool    `json:"udp_counters_64bit,omitempty"`
	Version       string  `json:"client_version,omitempty"`
}

// Bool is true or false in JSON; iperf 3 writes 1 for some of them.
type Bool bool

// UnmarshalJSON takes a number too.
func (b *Bool) UnmarshalJSON(text []byte) error {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	switch v := v.(type) {
	case bool:
		*b = Bool(v)
	case float64:
		*b = v != 0
	case nil:
	default:
		return fmt.Errorf("%s is neither true nor false", text)
	}
	return nil
}

// A refusal is why parameters are not accepted, with the number that iperf 3 has for
// it, which is all that its user gets to see.
type refusal struct {
	number int32
	reason string
}

func (r *refusal) Error() string { return r.reason }

// validate checks everything that is used later.
func (p Params) validate(longest time.Duration) error {
	refuse := func(number int32, format string, args ...any) error {
		return &refusal{number, fmt.Sprintf(format, args...)}
	}
	switch {
	case !bool(p.UDP) || bool(p.TCP) || bool(p.SCTP):
		return refuse(errorUnimplemented, "not UDP (iperf3 -u)")
	case bool(p.Bidirectional):
		return refuse(errorUnimplemented, "both ways at once (iperf3 --bidir) is not implemented")
	case !whole(p.Parallel, 1, MaxStreams):
		return refuse(errorStreams, "%v streams: must be 1 to %d", p.Parallel, MaxStreams)
	case !whole(p.Len, MinSize, MaxSize):
		return refuse(errorSize, "%v bytes a datagram: must be %d to %d", p.Len, MinSize, MaxSize)
	case !(p.Time >= 0 && p.Omit >= 0 && p.Time+p.Omit <= longest.Seconds()):
		return refuse(errorDuration, "%v s, and %v s omitted: at most %v together", p.Time, p.Omit, longest)
	case !(p.Bandwidth >= 0 && p.Bandwidth <= MaxRate):
		return refuse(errorParameters, "%v bits a second: must be 0 to %v", p.Bandwidth, float64(MaxRate))
	case !(p.PacingTimer >= 0 && p.PacingTimer <= 1e6) || !(p.Window >= 0 && p.Window <= math.MaxInt32):
		return refuse(errorParameters, "%v µs of pacing timer, %v bytes of window", p.PacingTimer, p.Window)
	case !(p.Num >= 0 && p.Num < math.MaxInt64) || !(p.BlockCount >= 0 && p.BlockCount < math.MaxInt64):
		return refuse(errorParameters, "%v bytes or %v datagrams to send", p.Num, p.BlockCount)
	}
	return nil
}

// whole tells whether v is a whole number within bounds.
func whole(v float64, least, most int) bool {
	return v >= float64(least) && v <= float64(most) && v == math.Trunc(v)
}

// duration is the length of the test with what is omitted, the longest if another
// end was asked for.
func (p Params) duration(longest time.Duration) time.Duration {
	if p.Time == 0 {
		return longest
	}
	return seconds(p.Time + p.Omit)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
