// SPDX-License-Identifier: MIT

package worker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// carrierDowns asks the kernel how often an interface has lost its carrier. Kernels
// before 4.16 do not tell, which is 0.
func carrierDowns(ifindex int) (uint64, error) {
	req := nl.NewNetlinkRequest(unix.RTM_GETLINK, 0)
	msg := nl.NewIfInfomsg(unix.AF_UNSPEC)
	msg.Index = int32(ifindex)
	req.AddData(msg)
	answers, err := req.Execute(unix.NETLINK_ROUTE, 0)
	if err != nil {
		return 0, fmt.Errorf("read carrier changes: %w", err)
	}
	for _, a := range answers {
		if len(a) < unix.SizeofIfInfomsg {
			continue
		}
		attrs, err := nl.ParseRouteAttr(a[unix.SizeofIfInfomsg:])
		if err != nil {
			return 0, fmt.Errorf("read carrier changes: %w", err)
		}
		for _, at := range attrs {
			if at.Attr.Type == unix.IFLA_CARRIER_DOWN_COUNT && len(at.Value) >= 4 {
				return uint64(binary.NativeEndian.Uint32(at.Value)), nil
			}
		}
	}
	return 0, nil
}

// neighbourLoss reads what the kernel gave up because a neighbour did not answer:
// packets that there was no room to keep, and neighbours. It counts for the whole
// machine, and only the machine's first network namespace shows it: in others this is
// 0.
func neighbourLoss() (packets, neighbours uint64, err error) {
	text, err := os.ReadFile("/proc/net/stat/arp_cache")
	if errors.Is(err, fs.ErrNotExist) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, fmt.Errorf("read neighbour statistics: %w", err)
	}
	packets, neighbours = parseNeighbours(string(text))
	return packets, neighbours, nil
}

// parseNeighbours adds up two columns over the processors, of which each has a line
// of hexadecimal numbers. A kernel that lacks a column counts nothing there.
func parseNeighbours(text string) (packets, neighbours uint64) {
	var head []string
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if head == nil {
			head = f
			continue
		}
		packets += column(head, f, "unresolved_discards")
		neighbours += column(head, f, "res_failed")
	}
	return packets, neighbours
}

func column(head, fields []string, name string) uint64 {
	i := slices.Index(head, name)
	if i < 0 || i >= len(fields) {
		return 0
	}
	n, _ := strconv.ParseUint(fields[i], 16, 64) // 0 if it is no number
	return n
}
