// SPDX-License-Identifier: MIT

package check

import (
	"errors"
	"maps"
	"slices"
)

// fake is a source of made-up facts.
type fake struct {
	machine    Machine
	interfaces map[string]Interface
}

var errNone = errors.New("no such interface")

func (f fake) Machine() (Machine, error) { return f.machine, nil }
func (f fake) Names() ([]string, error)  { return slices.Sorted(maps.Keys(f.interfaces)), nil }
func (f fake) Interface(name string) (Interface, error) {
	i, ok := f.interfaces[name]
	if !ok {
		return Interface{}, errNone
	}
	return i, nil
}

// sound is a machine about which there is nothing to say.
func sound() Machine {
	config := make(map[string]string)
	for _, o := range options {
		config[o.name] = "y"
	}
	return Machine{
		Release: "6.18.3", Version: Version{6, 18, 3}, Arch: "aarch64", CPUs: 4, Online: 4, Config: config, ConfigFrom: "/proc/config.gz",
		Capabilities: []string{"CAP_BPF", "CAP_IPC_LOCK", "CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_SYS_ADMIN", "CAP_SYS_PTRACE"},
		Memlock:      8 << 20, PageSize: 4096, HugePages: 8, HugeFree: 8, HugePageSize: 2 << 20, JIT: 1, RmemMax: 16 << 20,
	}
}

// fine is an interface about which there is nothing to say.
func fine() Interface {
	return Interface{
		Name: "eth0", Driver: "igc", Bus: "0000:01:00.0", Up: true, Carrier: true, MTU: 1500,
		RxQueues: 1, TxQueues: 1, MaxRxQueues: 1, MaxTxQueues: 1, BoundKnown: true,
		Features: Features{Known: true, Basic: true, Redirect: true, NdoXmit: true, ZeroCopy: true, ZCMaxSegs: 1, RxTimestamp: true, RxHash: true, TxChecksum: true},
		Ring:     &Ring{Rx: 256, Tx: 256, MaxRx: 256, MaxTx: 256}, Coalesce: &Coalesce{},
		Offloads: map[string]Offload{"rx-vlan-hw-parse": {}, "rx-checksum": {On: true}},
		IRQs:     []IRQ{{Number: 40, Name: "eth0-rx-0", CPUs: "2"}, {Number: 41, Name: "eth0-tx-0", CPUs: "3"}},
	}
}
