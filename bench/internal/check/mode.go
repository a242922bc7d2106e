// SPDX-License-Identifier: MIT

package check

import "fmt"

// Mode is how AF_XDP would carry frames on an interface.
type Mode int

const (
	Untold   Mode = iota // neither the kernel nor the table knows
	Generic              // after the kernel has built its own packet: two copies
	Native               // in the driver, copied once
	ZeroCopy             // the device writes into the program's memory
)

var modeNames = [...]string{Untold: "unknown", Generic: "generic", Native: "native, copying", ZeroCopy: "zero-copy"}

func (m Mode) String() string { return modeNames[m] }

// expected tells what mode an interface would give, and why.
func expected(v Version, i Interface) (mode Mode, why string) {
	d, listed := lookup(i.Driver)
	switch {
	case i.Features.Known:
		mode, why = announced(i), "the kernel tells so of "+i.driver()
		if i.mergedByHost() {
			mode, why = Generic, "virtio_net refuses native programs while the host merges packets (hardware GRO) and this side cannot switch it off"
			return mode, why
		}
	case listed && v.has(d.zeroCopy):
		mode, why = ZeroCopy, fmt.Sprintf("%s has it since Linux %v", d.names[0], d.zeroCopy)
	case listed && v.has(d.native):
		mode, why = Native, fmt.Sprintf("%s has native XDP since Linux %v", d.names[0], d.native)
	case listed:
		mode, why = Generic, d.names[0]+" has no XDP of its own in this kernel"
	default:
		return Untold, "this kernel does not tell (6.3 and later do), and " + i.driver() + " is not in the table"
	}
	switch {
	case !listed:
	case mode < ZeroCopy && d.zeroCopy == never && d.native != never:
		why += "; no kernel's " + d.names[0] + " has zero-copy"
	case mode < ZeroCopy && d.zeroCopy != never && v.Before(d.zeroCopy):
		why += fmt.Sprintf("; zero-copy came with Linux %v", d.zeroCopy)
	case mode < ZeroCopy && v.has(d.zeroCopy):
		why += fmt.Sprintf("; Linux %v and later have zero-copy, but this device or its host does not offer it", d.zeroCopy)
	}
	if listed && d.note != "" {
		why += "; " + d.note
	}
	return mode, why
}

// announced reads the driver's own features.
func announced(i Interface) Mode {
	switch {
	case i.Features.ZeroCopy:
		return ZeroCopy
	case i.Features.Basic && i.Features.Redirect:
		return Native
	}
	return Generic
}

// mergedByHost tells a virtio_net whose host does GRO and does not let it be switched
// off: no VIRTIO_NET_F_CTRL_GUEST_OFFLOADS (virtnet_xdp_set, drivers/net/virtio_net.c).
func (i Interface) mergedByHost() bool {
	gro := i.Offloads["rx-gro-hw"]
	return i.Driver == "virtio_net" && gro.On && gro.Fixed
}

// driver names the driver, or what stands for it.
func (i Interface) driver() string {
	switch {
	case i.Driver != "":
		return i.Driver
	case i.Loopback:
		return "the loopback interface"
	}
	return "this interface"
}

func (f *findings) mode(v Version, i Interface) {
	const topic = "mode"
	mode, why := expected(v, i)
	one := Finding{Topic: topic, Found: mode.String() + " to be expected", Means: why}
	if d, ok := lookup(i.Driver); ok {
		one.Source = d.source
	}
	switch mode {
	case Untold:
		one.State, one.Command = Note, "go run ./examples/hello -i "+i.Name+" # says what it got"
	case Generic:
		one.State = Note
		one.Means += ": frames are copied after the kernel has built a packet of them, little faster than a socket"
	}
	*f = append(*f, one)
}
