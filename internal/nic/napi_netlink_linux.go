// SPDX-License-Identifier: MIT

package nic

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Of family "netdev" too, since Linux 6.8; values of a NAPI and the command to set
// them since 6.13.
const (
	netdevCmdQueueGet = 10
	netdevCmdNAPIGet  = 11
	netdevCmdNAPISet  = 14

	netdevQueueID      = 1 // u32
	netdevQueueIfindex = 2
	netdevQueueType    = 3 // u32, queueRx
	netdevQueueNAPI    = 4 // u32, absent where the driver does not tell
	netdevQueueXSK     = 7 // an empty nest where an AF_XDP socket is bound; Linux 6.15

	queueRx = 0

	netdevNAPIIfindex    = 1
	netdevNAPIID         = 2 // u32
	netdevNAPIIRQ        = 3 // u32, absent where the driver does not tell
	netdevNAPIInterrupts = 5 // s32, never negative
	netdevNAPITimeout    = 6 // uint: of 4 or 8 bytes, as the value needs
)

// errNoNAPI says that there is no such NAPI, or not at the moment: a NAPI comes and
// goes when an interface is set up and down, and on veth with the XDP program.
var errNoNAPI = errors.New("no such NAPI on this interface")

// target is what is set at once: a NAPI, or with napi 0 the interface.
type target struct {
	napi   uint32
	queues []int
}

func (t target) String() string {
	if t.napi == 0 {
		return "interface"
	}
	return fmt.Sprintf("NAPI %d", t.napi)
}

// netlinkKnobs sets the values of each NAPI by netlink: of the queues that are asked
// for, where the driver tells, and of no others. It needs neither files nor mounts.
type netlinkKnobs struct {
	ask    *requester
	family uint16
	index  int
}

// targets finds the NAPIs that serve some receive queues, all of them for none. Where
// the driver does not tell which serves which, it is all of the interface.
func (k netlinkKnobs) targets(queues []int) ([]target, error) {
	if len(queues) == 0 {
		return k.all()
	}
	ids := make([]uint32, len(queues))
	for i, q := range queues {
		id, err := k.napiOf(q)
		if err != nil {
			return nil, fmt.Errorf("queue %d: find its NAPI: %w", q, err)
		}
		if id == 0 {
			return k.all()
		}
		ids[i] = id
	}
	return group(queues, ids), nil
}

// group makes targets of queues and the NAPIs that serve them, in the order of the
// NAPIs' numbers, each once.
func group(queues []int, ids []uint32) []target {
	served := make(map[uint32][]int)
	for i, id := range ids {
		served[id] = append(served[id], queues[i])
	}
	var found []target
	for _, id := range slices.Sorted(maps.Keys(served)) {
		found = append(found, target{napi: id, queues: served[id]})
	}
	return found
}

// napiOf asks for the NAPI of a receive queue; 0 if the driver does not tell.
func (k netlinkKnobs) napiOf(queue int) (uint32, error) {
	answer, err := k.ask.generic(k.family, netdevCmdQueueGet, netdevVersion,
		nl.NewRtAttr(netdevQueueID, nl.Uint32Attr(uint32(queue))),
		nl.NewRtAttr(netdevQueueIfindex, nl.Uint32Attr(uint32(k.index))),
		nl.NewRtAttr(netdevQueueType, nl.Uint32Attr(queueRx)))
	switch {
	case errors.Is(err, unix.ENODEV):
		return 0, ErrNoInterface
	case errors.Is(err, unix.ENOENT): // not that there is no such queue, see below
		return 0, fmt.Errorf("the interface is down; set it up first: %w", unix.ENETDOWN)
	case errors.Is(err, unix.EINVAL):
		return 0, fmt.Errorf("the interface has no such active receive queue: %w", err)
	case err != nil:
		return 0, err
	}
	return parseQueueNAPI(answer)
}

// all lists the NAPIs of the interface, those of transmit queues among them. The
// kernel lists none while the interface is down.
func (k netlinkKnobs) all() ([]target, error) {
	answers, err := k.ask.dumpGeneric(k.family, netdevCmdNAPIGet, netdevVersion,
		nl.NewRtAttr(netdevNAPIIfindex, nl.Uint32Attr(uint32(k.index))))
	if errors.Is(err, unix.ENODEV) {
		return nil, ErrNoInterface
	}
	if err != nil {
		return nil, fmt.Errorf("list its NAPIs: %w", err)
	}
	var found []target
	for _, answer := range answers {
		state, err := parseNAPI(answer)
		if err != nil {
			return nil, err
		}
		if state.index == k.index {
			found = append(found, target{napi: state.id})
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("it has none: set the interface up, and attach the XDP program in native mode first (veth has no NAPI without): %w", errNoNAPI)
	}
	slices.SortFunc(found, func(a, b target) int { return cmp.Compare(a.napi, b.napi) })
	return found, nil
}

// get reads the values of a NAPI of this interface.
func (k netlinkKnobs) get(napi uint32) (knobs, error) {
	answer, err := k.ask.generic(k.family, netdevCmdNAPIGet, netdevVersion,
		nl.NewRtAttr(netdevNAPIID, nl.Uint32Attr(napi)))
	if errors.Is(err, unix.ENOENT) {
		return knobs{}, errNoNAPI
	}
	if err != nil {
		return knobs{}, fmt.Errorf("ask for its values: %w", err)
	}
	state, err := parseNAPI(answer)
	switch {
	case err != nil:
		return knobs{}, err
	case state.index != k.index:
		return knobs{}, errNoNAPI // the number is another interface's now
	case !state.known:
		return knobs{}, fmt.Errorf("the kernel does not tell its values: %w", errors.ErrUnsupported)
	}
	return state.knobs, nil
}

// set writes the values of a NAPI, which take effect with its next poll. A driver may
// keep them for the time after the interface has been down.
func (k netlinkKnobs) set(napi uint32, v knobs) error {
	timeout := nl.Uint64Attr(v.Timeout)
	if v.Timeout == uint64(uint32(v.Timeout)) {
		timeout = nl.Uint32Attr(uint32(v.Timeout))
	}
	head := rawBody{netdevCmdNAPISet, netdevVersion, 0, 0}
	// The kernel answers nothing but the acknowledgement.
	_, err := k.ask.do(unix.NETLINK_GENERIC, k.family, unix.NLM_F_ACK, head,
		nl.NewRtAttr(netdevNAPIID, nl.Uint32Attr(napi)),
		nl.NewRtAttr(netdevNAPIInterrupts, nl.Uint32Attr(v.Interrupts)),
		nl.NewRtAttr(netdevNAPITimeout, timeout))
	switch {
	case errors.Is(err, unix.ENOENT):
		return errNoNAPI
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("set its values (needs CAP_NET_ADMIN, in the first user namespace): %w", err)
	case err != nil:
		return fmt.Errorf("set its values: %w", err)
	}
	return nil
}
