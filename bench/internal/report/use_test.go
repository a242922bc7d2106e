// SPDX-License-Identifier: MIT

package report

import (
	"bytes"
	"testing"
)

// TestUseColumns shows the figures of the median run, which belong together.
func TestUseColumns(t *testing.T) {
	run := func(rate float64, u Use) Result {
		return Result{Path: "mmsg", Size: 64, RXPPS: rate, CPUUtil: 50, Use: &u}
	}
	row := Row{Key: Key{Path: "mmsg", Size: 64}, Runs: []Result{
		run(1, Use{User: 1, BufferAsked: 8, BufferGot: 4}),
		run(2, Use{User: 20, System: 10, SoftIRQ: 15, IRQ: 2, Steal: 3, TXProcess: 98.7, RXProcess: 50, PerDatagram: 1.2345, BufferAsked: 3407872, BufferGot: 212992}),
		run(3, Use{User: 40}),
	}}
	none := Row{Key: Key{Path: "xdp", Size: 64}, Runs: []Result{run(1, Use{SoftIRQ: 50})}}
	var got bytes.Buffer
	if err := WriteTable(&got, UseColumns(), []Row{row, none}, nil); err != nil {
		t.Fatal(err)
	}
	const want = `size  path   CPU  user  system  softirq  irq  steal    sender  receiver       demand   buffer  buffer
byte           %     %       %        %    %      %  % of one  % of one  µs/datagram    asked     got

  64  mmsg  50.0  20.0    10.0     15.0  2.0    3.0        99        50        1.234  3407872  212992
  64  xdp   50.0   0.0     0.0     50.0  0.0    0.0         0         0        0.000        -       -

`
	if got.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", got.String(), want)
	}
	row.Runs[1].Use = nil
	if row.HasUse() || (Row{}).HasUse() || !none.HasUse() {
		t.Error("rows of older documents have no use")
	}
}
