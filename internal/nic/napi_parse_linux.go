// SPDX-License-Identifier: MIT

package nic

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// napiState is a parsed answer to NETDEV_CMD_NAPI_GET.
type napiState struct {
	id    uint32
	index int  // of the interface
	irq   int  // 0 if not told
	known bool // the kernel tells the values, Linux 6.13
	knobs knobs
}

// parseNAPI reads one, alone or of a list. A number of 0 is none of a NAPI: the kernel
// numbers them from above the CPUs' (MIN_NAPI_ID).
func parseNAPI(b []byte) (napiState, error) {
	var s napiState
	var interrupts, timeout bool
	err := walkGeneric(b, func(typ uint16, v []byte) (err error) {
		switch typ {
		case netdevNAPIID:
			s.id, err = u32(v)
		case netdevNAPIIfindex:
			err = setInt(&s.index, v)
		case netdevNAPIIRQ:
			err = setInt(&s.irq, v)
		case netdevNAPIInterrupts:
			interrupts = true
			s.knobs.Interrupts, err = u32(v)
		case netdevNAPITimeout:
			timeout = true
			s.knobs.Timeout, err = uintValue(v)
		}
		return err
	})
	if err == nil && (s.id == 0 || s.knobs.Interrupts > 1<<31-1) {
		err = fmt.Errorf("number %d, %d interrupts: %w", s.id, s.knobs.Interrupts, unix.EBADMSG)
	}
	if err != nil {
		return napiState{}, fmt.Errorf("NAPI: %w", err)
	}
	s.known = interrupts && timeout
	return s, nil
}

// parseQueueNAPI reads an answer to NETDEV_CMD_QUEUE_GET, of which the NAPI's number
// is left out where the driver has not told it to the kernel (netif_queue_set_napi).
func parseQueueNAPI(b []byte) (id uint32, err error) {
	err = walkGeneric(b, func(typ uint16, v []byte) (err error) {
		if typ == netdevQueueNAPI {
			id, err = u32(v)
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("queue: %w", err)
	}
	return id, nil
}

// uintValue reads an integer that the kernel sends as short as it can.
func uintValue(v []byte) (uint64, error) {
	if len(v) >= 8 {
		return u64(v)
	}
	n, err := u32(v)
	return uint64(n), err
}
