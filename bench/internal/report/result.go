// SPDX-License-Identifier: MIT

package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/cpu"
	"github.com/xdpath/xdpath/bench/internal/loss"
)

// A Document is what -json writes.
type Document struct {
	Env     Env      `json:"env"`
	Results []Result `json:"results"`
	Summary []Group  `json:"summary"` // of the rows that have results
}

// A Result is one measured run of one path. Rates are over Seconds; counts are
// datagrams, or round trips: sent are the requests then, received the answers that
// came in time, and the sizes are those of one way. Sent = Received + Lost, and
// Lost is the sum over Loss.
type Result struct {
	Test          string     `json:"test"`
	Path          string     `json:"path"`
	Mode          string     `json:"mode"`
	Size          int        `json:"size"`  // payload bytes
	Param         string     `json:"param"` // what else sets the run apart from others: "mtu=8000"
	MTU           int        `json:"mtu"`
	Batch         int        `json:"batch"` // datagrams a call
	Run           int        `json:"run"`   // from 1
	TXPPS         float64    `json:"tx_pps"`
	RXPPS         float64    `json:"rx_pps"`
	GoodputBPS    float64    `json:"goodput_bps"` // payload bits a second received
	Sent          uint64     `json:"sent"`
	Received      uint64     `json:"received"`
	Lost          uint64     `json:"lost"`
	Duplicated    uint64     `json:"duplicated"`
	Reordered     uint64     `json:"reordered"`
	Loss          loss.Split `json:"loss"`
	CPUUtil       float64    `json:"cpu_util_pct"` // of all processors, 100 is all busy
	ServiceDemand float64    `json:"service_demand_us_per_kb"`
	Seconds       float64    `json:"seconds"` // from the first datagram to the last, at the slower end

	// Offered is the rate at which the sender was to send, in datagrams a second; 0 is as
	// fast as it could.
	Offered float64 `json:"offered_pps,omitempty"`

	// What either end has for itself, as netperf tells it of a stream: bytes in which
	// datagrams wait, the time in which it sent or received, the processors of its
	// machine, and their time for each KB that it sent or received. All 0 for round
	// trips.
	TXRoom    int     `json:"tx_room_bytes"`
	RXRoom    int     `json:"rx_room_bytes"`
	TXSeconds float64 `json:"tx_seconds"`
	RXSeconds float64 `json:"rx_seconds"`
	TXCPUUtil float64 `json:"tx_cpu_util_pct"`
	RXCPUUtil float64 `json:"rx_cpu_util_pct"`
	TXDemand  float64 `json:"tx_service_demand_us_per_kb"`
	RXDemand  float64 `json:"rx_service_demand_us_per_kb"`

	// Ways are those of datagrams that went both ways at once: from the sender, and back
	// to it.
	Ways *[2]Way `json:"ways,omitempty"`

	// Images that a camera sent, and those that came whole; 0 for other tests.
	ImagesSent     uint64 `json:"images_sent"`
	ImagesComplete uint64 `json:"images_complete"`

	Latency *Latency `json:"latency_us,omitempty"`
	Use     *Use     `json:"use,omitempty"`
}

// A Way is what went one way.
type Way struct {
	Sent     uint64  `json:"sent"`
	Received uint64  `json:"received"`
	Lost     uint64  `json:"lost"`
	RXPPS    float64 `json:"rx_pps"`
}

// A Latency is the distribution of the round trips of one run, in microseconds to
// three digits: those that stand at so many percent, in the order of their length.
type Latency struct {
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p99.9"`
	Max  float64 `json:"max"`
	// Percentiles are more of the distribution, as far as so many trips can tell.
	Percentiles []Percentile `json:"percentiles,omitempty"`
}

// Stream tells whether the run's datagrams went one way. It may have latencies all the
// same, of round trips that followed.
func (r Result) Stream() bool { return r.TXSeconds > 0 }

// LostPercent is the share of the sent datagrams that was lost.
func (r Result) LostPercent() float64 {
	if r.Sent == 0 {
		return 0
	}
	return 100 * float64(r.Lost) / float64(r.Sent)
}

// A Side is what one worker said about a run.
type Side struct {
	Facts  control.Facts
	Totals control.Totals
}

// A Count takes from what both sides said what was sent and received in which time,
// and what else its test has to tell.
type Count func(p control.Prepare, tx, rx Side) (Result, error)

// Compute makes a result of what both sides said about one window. The caller
// fills in the number of the run. It fails where the totals cannot be: then no
// figure of the run is worth anything.
func Compute(p control.Prepare, tx, rx Side, count Count) (Result, error) {
	r, err := count(p, tx, rx)
	switch {
	case err != nil:
		return Result{}, err
	case r.Received > r.Sent:
		return Result{}, fmt.Errorf("received %d datagrams of %d sent", r.Received, r.Sent)
	case r.Seconds <= 0:
		return Result{}, fmt.Errorf("a run of %v s", r.Seconds)
	}
	r.Test, r.Path, r.Size, r.Param, r.MTU = p.Test, p.Path, p.Size, p.Param, p.MTU
	r.Mode, r.Batch = mode(tx.Totals.Info.Mode, rx.Totals.Info.Mode), tx.Totals.Info.Batch
	r.Lost = r.Sent - r.Received
	r.Loss = loss.Attribute(r.Lost, append(tx.Totals.Lost[:len(tx.Totals.Lost):len(tx.Totals.Lost)], rx.Totals.Lost...))
	r.TXPPS, r.RXPPS = float64(r.Sent)/r.Seconds, float64(r.Received)/r.Seconds
	r.GoodputBPS = 8 * float64(r.Received) * float64(r.Size) / r.Seconds
	used := machines(tx, rx)
	r.CPUUtil = used.Utilization()
	r.ServiceDemand = cpu.ServiceDemand(r.CPUUtil, used.CPUs, r.GoodputBPS/8)
	r.Use = use(r, tx, rx)
	return r, nil
}

// OneWay is the Count of datagrams that all go from the sender to the receiver. The
// time is that of whichever end took longer.
func OneWay(p control.Prepare, tx, rx Side) (Result, error) {
	t, got := tx.Totals, rx.Totals
	r := Result{
		Sent: t.Sent, Received: got.Tally.Received, Duplicated: got.Tally.Duplicated, Reordered: got.Tally.Reordered,
		Seconds: max(t.Elapsed, got.Elapsed).Seconds(), Size: p.Size,
	}
	r.ends(tx, rx)
	return r, nil
}

// ends fills in what either end has for itself. On one machine both have all of it.
func (r *Result) ends(tx, rx Side) {
	r.TXRoom, r.RXRoom = tx.Totals.Info.SendRoom, rx.Totals.Info.ReceiveRoom
	r.TXSeconds, r.RXSeconds = tx.Totals.Elapsed.Seconds(), rx.Totals.Elapsed.Seconds()
	sent, got := tx.Totals.Machine, rx.Totals.Machine
	if tx.Facts.Machine == rx.Facts.Machine {
		got = sent
	}
	r.TXCPUUtil, r.RXCPUUtil = sent.Utilization(), got.Utilization()
	r.TXDemand = cpu.ServiceDemand(r.TXCPUUtil, sent.CPUs, BytesPerSecond(r.Sent, r.Size, r.TXSeconds))
	r.RXDemand = cpu.ServiceDemand(r.RXCPUUtil, got.CPUs, BytesPerSecond(r.Received, r.Size, r.RXSeconds))
}

// BytesPerSecond is the rate of n datagrams of size bytes in some seconds, 0 in none.
func BytesPerSecond(n uint64, size int, seconds float64) float64 {
	if seconds <= 0 {
		return 0
	}
	return float64(n) * float64(size) / seconds
}

// machines is the time of all processors that the run could use. Two workers
// on one machine both read all of it: the sender's reading covers just the
// time in which it sent.
func machines(tx, rx Side) cpu.Times {
	if tx.Facts.Machine == rx.Facts.Machine {
		return tx.Totals.Machine
	}
	return tx.Totals.Machine.Plus(rx.Totals.Machine)
}

// mode names how the data moved. The receiver of an AF_XDP path has an XDP
// program and tells its mode, too, in front of what both ends have: the sender
// is named only if it differs in that.
func mode(tx, rx string) string {
	switch {
	case tx == rx, rx == "-":
		return tx
	case tx == "-", strings.HasSuffix(rx, " "+tx):
		return rx
	default:
		return tx + "/" + rx
	}
}

// Env is what a reader needs to know about how the results came about.
type Env struct {
	Tool       string        `json:"tool"`
	Command    []string      `json:"command"`
	Time       time.Time     `json:"time"`
	Kernel     string        `json:"kernel"`
	Arch       string        `json:"arch"`
	Go         string        `json:"go"`
	CPUModel   string        `json:"cpu_model"`
	CPUs       int           `json:"cpus"`
	Link       string        `json:"link"`
	Duration   float64       `json:"duration_s"`
	Warmup     float64       `json:"warmup_s"`
	Rows       []Key         `json:"rows"`            // of the table, in their order
	BusyBefore float64       `json:"busy_before_pct"` // of the machine, by other things
	Peer       string        `json:"peer,omitempty"`  // control port of the other machine, if there is one
	PeerBusy   float64       `json:"peer_busy_before_pct,omitempty"`
	Sender     control.Facts `json:"sender"`
	Receiver   control.Facts `json:"receiver"`
	Skipped    []Skip        `json:"skipped"` // what did not run, and why
	Buffers    []Buffer      `json:"socket_buffers"`
	ProcessCPU []ProcessCPU  `json:"process_cpu"`
	Notes      []string      `json:"notes"`
}

// A Key tells the rows of a table apart.
type Key struct {
	Path  string `json:"path"`
	Size  int    `json:"size"`
	Param string `json:"param,omitempty"`
}

// String names the row in a sentence.
func (k Key) String() string {
	s := fmt.Sprintf("%s, %d bytes", k.Path, k.Size)
	if k.Param != "" {
		s += ", " + k.Param
	}
	return s
}

// Key is that of the row which the run belongs to.
func (r Result) Key() Key { return Key{Path: r.Path, Size: r.Size, Param: r.Param} }

// A Skip is a path that could not run, in all runs or in one.
type Skip struct {
	Key
	Run    int    `json:"run"`
	Reason string `json:"reason"`
}

// A Buffer is what a socket path asked for and got to receive into, in bytes.
type Buffer struct {
	Key
	Asked int `json:"asked"`
	Got   int `json:"got"`
}

// ProcessCPU is what the two processes alone used in one run, in percent of
// one processor. The rest of the machine's time went into soft interrupts and
// into whatever else ran on it.
type ProcessCPU struct {
	Key
	Run      int     `json:"run"`
	Sender   float64 `json:"sender_pct"`
	Receiver float64 `json:"receiver_pct"`
}
