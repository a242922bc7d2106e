// SPDX-License-Identifier: MIT

package check

// Machine is what was seen of the machine and of this process's rights.
type Machine struct {
	Release string  `json:"release"` // of the kernel, as uname tells
	Version Version `json:"version"`
	Arch    string  `json:"arch"`
	CPUs    int     `json:"cpus"`   // that this process may use
	Online  int     `json:"online"` // of the machine

	// Config has the values ("y", "m", "n") of the options that matter, and is nil
	// where the kernel's configuration cannot be read. ConfigFrom is the file.
	Config     map[string]string `json:"config"`
	ConfigFrom string            `json:"config_from,omitempty"`

	Capabilities []string `json:"capabilities"` // effective, of those that matter
	Memlock      uint64   `json:"memlock"`      // limit of locked memory in bytes, Unlimited for none

	PageSize     int   `json:"page_size"`
	HugePages    int   `json:"huge_pages"` // of the default size, all there are
	HugeFree     int   `json:"huge_free"`
	HugePageSize int64 `json:"huge_page_size"` // in bytes, 0 without any

	JIT     int `json:"bpf_jit"`  // net.core.bpf_jit_enable; Unknown if it cannot be read
	RmemMax int `json:"rmem_max"` // net.core.rmem_max in bytes; Unknown likewise

	// XSKs is the number of AF_XDP sockets in this network namespace, Unknown if the
	// kernel does not tell. Owners are the processes that could be found to have one.
	XSKs   int     `json:"xsk_sockets"`
	Owners []Owner `json:"xsk_owners"`

	Blind []string `json:"blind"` // what could not be looked at, and why
}

// Unknown is a number that could not be read, Unlimited a limit that is none.
const (
	Unknown   = -1
	Unlimited = ^uint64(0)
)

// Owner is a process that has AF_XDP sockets.
type Owner struct {
	PID  int    `json:"pid"`
	Name string `json:"name"`
}

// Interface is what was seen of one interface.
type Interface struct {
	Name     string `json:"name"`
	Kind     string `json:"kind,omitempty"` // "veth", "bond"...; empty for hardware
	Driver   string `json:"driver"`
	Release  string `json:"driver_version,omitempty"`
	Firmware string `json:"firmware,omitempty"`
	Bus      string `json:"bus,omitempty"`
	Loopback bool   `json:"loopback,omitempty"`
	Lower    string `json:"lower,omitempty"` // name of the interface under this one
	Up       bool   `json:"up"`
	Carrier  bool   `json:"carrier"`
	MTU      int    `json:"mtu"`

	RxQueues    int `json:"rx_queues"`
	TxQueues    int `json:"tx_queues"`
	MaxRxQueues int `json:"max_rx_queues"`
	MaxTxQueues int `json:"max_tx_queues"`

	Features Features  `json:"xdp_features"`
	Programs []Program `json:"programs"`

	// Bound are the receive queues with an AF_XDP socket; it means something if
	// BoundKnown. Sockets are those sockets, where the kernel lists them.
	Bound      []int    `json:"bound_queues"`
	BoundKnown bool     `json:"bound_known"`
	Sockets    []Socket `json:"sockets"`

	NAPIs []NAPI `json:"napis"`
	IRQs  []IRQ  `json:"irqs"`

	Ring     *Ring              `json:"ring"`     // nil where the driver does not tell
	Coalesce *Coalesce          `json:"coalesce"` // likewise
	Offloads map[string]Offload `json:"offloads"` // by the kernel's name; nil if not told

	Blind []string `json:"blind"`
}

// Features is what the driver tells of XDP, as in package nic, whose struct converts
// to this one.
type Features struct {
	Known        bool `json:"known"`
	Basic        bool `json:"basic"`
	Redirect     bool `json:"redirect"`
	NdoXmit      bool `json:"ndo_xmit"`
	ZeroCopy     bool `json:"zero_copy"`
	RxSG         bool `json:"rx_sg"`
	TxSG         bool `json:"tx_sg"`
	ZCMaxSegs    int  `json:"zc_max_segs"`
	RxTimestamp  bool `json:"rx_timestamp"`
	RxHash       bool `json:"rx_hash"`
	RxVLANTag    bool `json:"rx_vlan_tag"`
	TxTimestamp  bool `json:"tx_timestamp"`
	TxChecksum   bool `json:"tx_checksum"`
	TxLaunchTime bool `json:"tx_launch_time"`
}

// Program is an attached XDP program. Link is the BPF link that holds it, 0 for none
// or if that cannot be told.
type Program struct {
	ID   uint32 `json:"id"`
	Mode string `json:"mode"`
	Name string `json:"name,omitempty"`
	Link uint32 `json:"link,omitempty"`
}

// Socket is an AF_XDP socket of somebody.
type Socket struct {
	Queue    int     `json:"queue"`
	ZeroCopy bool    `json:"zero_copy"`
	Owners   []Owner `json:"owners"` // processes that hold it, as far as they can be seen
}

// NAPI is one of the kernel's pollers: how often its interrupt stays off, for how long.
type NAPI struct {
	ID         int   `json:"id"`
	Interrupts int   `json:"defer_hard_irqs"`
	Timeout    int64 `json:"gro_flush_timeout_ns"`
}

// IRQ is an interrupt of the interface and the CPUs it may be served by.
type IRQ struct {
	Number int    `json:"number"`
	Name   string `json:"name"`
	CPUs   string `json:"cpus"` // a list as in "0-3,8"; empty if it cannot be read
}

// Ring is the sizes of the device's own rings, present and possible.
type Ring struct {
	Rx    int `json:"rx"`
	Tx    int `json:"tx"`
	MaxRx int `json:"max_rx"`
	MaxTx int `json:"max_tx"`
}

// Offload is one switch of a device.
type Offload struct {
	On    bool `json:"on"`
	Fixed bool `json:"fixed"` // the driver does not let it be changed
}

// Coalesce is how the device collects packets before it interrupts.
type Coalesce struct {
	RxUsecs    int  `json:"rx_usecs"`
	RxFrames   int  `json:"rx_frames"`
	TxUsecs    int  `json:"tx_usecs"`
	TxFrames   int  `json:"tx_frames"`
	AdaptiveRx bool `json:"adaptive_rx"`
}

// Source is where facts come from.
type Source interface {
	Machine() (Machine, error)
	Names() ([]string, error)                 // of all interfaces here
	Interface(name string) (Interface, error) // ErrNoInterface
}
