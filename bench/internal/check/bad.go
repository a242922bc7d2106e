// SPDX-License-Identifier: MIT

package check

import (
	"fmt"
	"strings"
)

// bad is a defect of some kernels, or of a driver in some kernels.
type bad struct {
	driver string  // empty: whatever the driver
	only   string  // name of the one interface it is about, empty for all
	from   Version // the first kernel that has it
	until  Version // the first mainline kernel that has it not; never: none known yet
	stable string  // older kernels that were mended too, for people to read
	state  State
	what   string
	means  string
	mend   string
	source string
}

// bads are those that AF_XDP users ran into, each with where it is told of. A release
// of a distribution may be mended under an older number: they are never more than
// warnings.
var bads = []bad{
	{
		from: Version{6, 9}, until: Version{6, 10}, state: Note,
		what:   "a program may send the packets of several queues to one socket, without a lock between them",
		means:  "rings are corrupted by programs that do; xdpath's does not",
		mend:   "run Linux 6.10 or later, or keep each queue to its own socket",
		source: "kernel commit 7fcf26b315bb; github.com/isovalent/ebpf-docs/issues/164",
	},
	{
		from: Version{6, 17}, until: Version{6, 18}, stable: "later 6.17", state: Warning,
		what:   "sending in copy mode may corrupt the kernel's memory",
		means:  "early releases of 6.17 can panic under load",
		mend:   "install the newest 6.17, or 6.18",
		source: "kernel commit 0ebc27a4c67d (in 6.18-rc8)",
	},
	{
		only: "lo", from: Version{6, 3}, state: Warning,
		what:   "programs for packets of several buffers on lo may crash the kernel",
		means:  "a packet that is cloned after them (raw sockets do) has its memory misaligned",
		mend:   "leave lo to the kernel; use a veth pair",
		source: "github.com/netbirdio/netbird/issues/7331",
	},
	{
		driver: "ice", from: Version{5, 5}, state: Warning,
		what:   "zero-copy is reported to corrupt the kernel's memory",
		means:  "panics under load, on kernels up to 7.0 at least",
		mend:   "look for a mended kernel, or open the socket in copy mode",
		source: "github.com/firedancer-io/firedancer/pull/11245; github.com/intel/ethernet-linux-ice/issues/59",
	},
	{
		driver: "rvu_nicpf", from: Version{6, 15}, until: Version{6, 19}, stable: "updates since January 2026", state: Note,
		what:   "zero-copy is there but not announced, so that the kernel refuses it",
		means:  "sockets get copy mode",
		mend:   "run a newer kernel",
		source: "kernel commits of January 2026 to otx2",
	},
	{
		driver: "st_gmac", from: Version{5, 13}, state: Warning,
		what:   "a zero-copy queue whose fill ring ran empty stays still",
		means:  "a receiver that stalled once receives nothing more until it polls the socket, or the link is reset",
		mend:   "never let the fill ring run empty: release frames at once, poll with a timeout",
		source: "github.com/analogdevicesinc/linux/issues/3517",
	},
	{
		driver: "virtio_net", from: Version{6, 11}, until: Version{6, 13}, state: Note,
		what:   "zero-copy receives only",
		means:  "a socket that sends in zero-copy mode sends nothing",
		mend:   "run Linux 6.13 or later, or send in copy mode",
		source: "docs.ebpf.io, table of XDP drivers; kernel commits to virtio_net of 6.13",
	},
	{
		driver: "ena", from: Version{5, 6}, state: Note,
		what:   "the vendor's own driver reset the device under zero-copy until its 2.7.4, and was slower with it than without",
		means:  "measure both modes before you rely on one",
		mend:   "go run ./bench",
		source: "github.com/amzn/amzn-drivers/issues/221",
	},
}

// badsOf are the defects of a kernel that concern a driver and an interface; those of
// all drivers for an empty one.
func badsOf(v Version, driver, name string) (found findings) {
	for _, b := range bads {
		general := b.driver == "" && b.only == ""
		if general != (driver == "" && name == "") || b.driver != "" && b.driver != driver || b.only != "" && b.only != name {
			continue
		}
		if v.Before(b.from) || v.has(b.until) {
			continue
		}
		found = append(found, Finding{Topic: "known bad", State: b.state, Found: b.what + " (" + b.span() + ")", Means: b.means, Advice: b.mend, Source: b.source})
	}
	if len(found) == 0 {
		found.ok("known bad", "nothing in the table of this kernel%s", of(driver))
	}
	return found
}

func of(driver string) string {
	if driver == "" {
		return ""
	}
	return " with " + driver
}

// span says of which kernels it is.
func (b bad) span() string {
	s := []string{fmt.Sprintf("Linux %v on", b.from)}
	if b.until != never {
		s[0] = fmt.Sprintf("Linux %v to before %v", b.from, b.until)
	}
	if b.stable != "" {
		s = append(s, "not "+b.stable)
	}
	return strings.Join(s, ", ")
}
