// SPDX-License-Identifier: MIT

package check

import (
	"fmt"
	"net"
	"slices"

	"github.com/cilium/ebpf/link"
	"github.com/safchain/ethtool"

	"github.com/xdpath/xdpath/internal/nic"
)

// ErrNoInterface says that there is no such interface here.
var ErrNoInterface = nic.ErrNoInterface

// Interface looks at one interface.
func (System) Interface(name string) (Interface, error) {
	n, err := nic.Open(name)
	if err != nil {
		return Interface{}, err
	}
	defer func() { _ = n.Close() }()
	l, err := n.Link()
	if err != nil {
		return Interface{}, err
	}
	i := Interface{
		Name: l.Name, Kind: l.Kind, Driver: l.Driver, Up: l.Up, Carrier: l.Carrier, MTU: l.MTU,
		RxQueues: l.RxQueues, TxQueues: l.TxQueues, MaxRxQueues: l.MaxRxQueues, MaxTxQueues: l.MaxTxQueues,
		Features: Features(l.XDP), Programs: []Program{}, Bound: []int{},
	}
	if ifi, err := net.InterfaceByIndex(l.Index); err == nil {
		i.Loopback = ifi.Flags&net.FlagLoopback != 0
	}
	if lower, err := net.InterfaceByIndex(l.Parent); err == nil && l.Parent > 0 && !l.ParentOutside {
		i.Lower = lower.Name
	}
	i.lookAtPrograms(l)
	i.lookAtQueues(n)
	i.lookAtSockets(l.Index)
	i.lookAtDevice()
	i.lookAtInterrupts()
	return i, nil
}

// lookAtPrograms finds the links that hold the attached programs.
func (i *Interface) lookAtPrograms(l nic.Link) {
	for _, p := range l.Programs {
		i.Programs = append(i.Programs, Program{ID: p.ID, Mode: p.Mode, Name: p.Name})
		if p.Name == "" {
			i.Blind = append(i.Blind, fmt.Sprintf("name of program %d: needs CAP_SYS_ADMIN", p.ID))
		}
	}
	if len(i.Programs) == 0 {
		return
	}
	var links link.Iterator
	defer links.Close()
	for links.Next() {
		info, err := links.Link.Info()
		if err != nil || info.XDP() == nil || int(info.XDP().Ifindex) != l.Index {
			continue
		}
		for n := range i.Programs {
			if i.Programs[n].ID == uint32(info.Program) {
				i.Programs[n].Link = uint32(info.ID)
			}
		}
	}
}

// lookAtQueues finds the queues that are taken, and the pollers.
func (i *Interface) lookAtQueues(n *nic.NIC) {
	if napis, err := n.NAPIs(); err == nil {
		for _, one := range napis {
			i.NAPIs = append(i.NAPIs, NAPI{ID: one.ID, Interrupts: one.Deferral.Interrupts, Timeout: one.Deferral.Timeout.Nanoseconds()})
			if one.IRQ > 0 {
				i.IRQs = append(i.IRQs, IRQ{Number: one.IRQ})
			}
		}
	}
	queues, err := n.Queues()
	if err != nil {
		return
	}
	for _, q := range queues {
		if q.Rx && q.XSK {
			i.Bound = append(i.Bound, q.ID)
		}
	}
	// An interface that is down has no queues to tell of. A socket on a queue is told
	// since Linux 6.15, which the kernel's own version says best.
	i.BoundKnown = len(queues) > 0 && running().has(tellsBound)
}

// tellsBound is the first kernel that tells which queues have a socket.
var tellsBound = Version{6, 15}

// lookAtSockets lists the sockets, by the kernel's list or by who has mapped one.
func (i *Interface) lookAtSockets(index int) {
	i.Sockets = []Socket{}
	all, ok := listSockets()
	for _, s := range all {
		if s.ifindex != index {
			continue
		}
		i.Sockets = append(i.Sockets, Socket{Queue: s.queue, ZeroCopy: s.zeroCopy, Owners: holding(s.inode)})
		if !slices.Contains(i.Bound, s.queue) {
			i.Bound = append(i.Bound, s.queue)
		}
	}
	i.BoundKnown = i.BoundKnown || ok
	slices.Sort(i.Bound)
}

// lookAtDevice asks the driver.
func (i *Interface) lookAtDevice() {
	e, err := ethtool.NewEthtool()
	if err != nil {
		i.Blind = append(i.Blind, "ethtool: "+err.Error())
		return
	}
	defer e.Close()
	see := func(what string, err error) bool {
		if err != nil && !absent(err) {
			i.Blind = append(i.Blind, what+": "+err.Error())
		}
		return err == nil
	}
	if d, err := e.DriverInfo(i.Name); see("driver", err) {
		i.Release, i.Firmware, i.Bus = d.Version, d.FwVersion, d.BusInfo
	}
	if r, err := e.GetRing(i.Name); see("device rings", err) {
		i.Ring = &Ring{Rx: int(r.RxPending), Tx: int(r.TxPending), MaxRx: int(r.RxMaxPending), MaxTx: int(r.TxMaxPending)}
	}
	if c, err := e.GetCoalesce(i.Name); see("coalescing", err) {
		i.Coalesce = &Coalesce{RxUsecs: int(c.RxCoalesceUsecs), RxFrames: int(c.RxMaxCoalescedFrames),
			TxUsecs: int(c.TxCoalesceUsecs), TxFrames: int(c.TxMaxCoalescedFrames), AdaptiveRx: c.UseAdaptiveRxCoalesce != 0}
	}
	if states, err := e.FeaturesWithState(i.Name); see("offloads", err) {
		i.Offloads = make(map[string]Offload, len(states))
		for name, s := range states {
			i.Offloads[name] = Offload{On: s.Active, Fixed: !s.Available || s.NeverChanged}
		}
	}
}

// lookAtInterrupts finds the interface's interrupts, by its pollers, its bus address
// or its name, and the processors they may go to.
func (i *Interface) lookAtInterrupts() {
	var told []int
	for _, q := range i.IRQs {
		told = append(told, q.Number)
	}
	i.IRQs = parseInterrupts(text("/proc/interrupts"), told, i.Bus, i.Name)
	for n := range i.IRQs {
		i.IRQs[n].CPUs = line(fmt.Sprintf("/proc/irq/%d/smp_affinity_list", i.IRQs[n].Number))
	}
}
