// SPDX-License-Identifier: MIT

package worker

import (
	"fmt"

	"github.com/vishvananda/netlink"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/cpu"
)

// ReadGauges is the Meter of this machine.
func ReadGauges(p control.Prepare) (Gauges, error) {
	link, err := netlink.LinkByName(p.Interface)
	if err != nil {
		return Gauges{}, fmt.Errorf("read counters of %s: %w", p.Interface, err)
	}
	st := link.Attrs().Statistics
	if st == nil {
		return Gauges{}, fmt.Errorf("read counters of %s: the kernel gave none", p.Interface)
	}
	g := Gauges{RXDropped: st.RxDropped, TXDropped: st.TxDropped}
	if g.Downs, err = carrierDowns(link.Attrs().Index); err != nil {
		return Gauges{}, err
	}
	if g.Unresolved, g.Failed, err = neighbourLoss(); err != nil {
		return Gauges{}, err
	}
	if g.Machine, err = cpu.Machine(); err != nil {
		return Gauges{}, err
	}
	g.User, g.System, err = cpu.Process()
	return g, err
}
