// SPDX-License-Identifier: MIT

package bpf

// Counters tells what became of the frames that the interface received since
// Attach: one field per reason, in frames, summed over all CPUs. All but
// Redirected went to the kernel. The first reason that applies is counted, in
// the order of the headers: tags, destination MAC, IP, UDP, filter, queue, metadata.
type Counters struct {
	Redirected uint64 // handed to the AF_XDP socket of the queue
	NoSocket   uint64 // for this endpoint, but the queue has no socket
	NoFilter   uint64 // UDP to this interface, but no filter for address, port and VLAN
	OtherMAC   uint64 // destination MAC is neither ours nor that of the multicast group
	Broadcast  uint64 // to the broadcast MAC or IP address
	NotUDP     uint64 // another protocol: ARP, TCP, ICMP and so on
	Options    uint64 // IPv4 with options
	Extension  uint64 // IPv6 with an extension header
	Fragment   uint64 // a fragment of an IP datagram
	VLAN       uint64 // two tags, or a service tag
	Malformed  uint64 // headers cut short (or not in the first buffer), or lengths that contradict each other
	NoRoom     uint64 // for this endpoint, but the driver has no room for metadata in front of the frame
}

// Passed is the number of frames that went to the kernel.
func (c Counters) Passed() uint64 {
	return c.NoSocket + c.NoFilter + c.OtherMAC + c.Broadcast + c.NotUDP + c.Options +
		c.Extension + c.Fragment + c.VLAN + c.Malformed + c.NoRoom
}

// fields lists the counters in the order of enum reason in decide.h.
func (c *Counters) fields() []*uint64 {
	return []*uint64{&c.Redirected, &c.NoSocket, &c.NoFilter, &c.OtherMAC, &c.Broadcast, &c.NotUDP,
		&c.Options, &c.Extension, &c.Fragment, &c.VLAN, &c.Malformed, &c.NoRoom}
}
