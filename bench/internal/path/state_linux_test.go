// SPDX-License-Identifier: MIT

package path

import (
	"errors"
	"fmt"
	"os"
	stdslices "slices"
	"strconv"
	"strings"
	"testing"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"

	"github.com/xdpath/xdpath/internal/testnet"
)

func itoa(n int) string { return strconv.Itoa(n) }

// state describes what a path could leave changed on the two interfaces.
func state(t *testing.T, pair *testnet.Pair) string {
	t.Helper()
	out := ""
	for _, end := range []testnet.End{pair.A, pair.B} {
		err := end.NS.Do(func() error {
			link, err := netlink.LinkByName(end.Name)
			if err != nil {
				return err
			}
			et, err := ethtool.NewEthtool()
			if err != nil {
				return err
			}
			defer et.Close()
			f, err := et.Features(end.Name)
			if err != nil {
				return err
			}
			x := link.Attrs().Xdp
			out += fmt.Sprintf("[segmentation %v, gro %v, program %v, mtu %d] ",
				f[offloadUDPSegmentation], f[offloadGRO], x != nil && x.Attached, link.Attrs().MTU)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// receiveBufferErrors reads what the whole namespace counts, from another place
// than the paths read.
func receiveBufferErrors(t *testing.T, end testnet.End) uint64 {
	t.Helper()
	return counted(t, end, "Udp:", "RcvbufErrors")
}

// counted reads a counter of a protocol in a namespace.
func counted(t *testing.T, end testnet.End, protocol, name string) uint64 {
	t.Helper()
	var n uint64
	err := end.NS.Do(func() error {
		text, err := os.ReadFile("/proc/thread-self/net/snmp")
		if err != nil {
			return err
		}
		var names []string
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			switch {
			case f[0] != protocol:
			case names == nil:
				names = f
			default:
				n, err = strconv.ParseUint(f[stdslices.Index(names, name)], 10, 64)
				return err
			}
		}
		return errors.New("no lines of " + protocol)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
