// SPDX-License-Identifier: MIT

package check

import (
	"fmt"
)

// Report is everything that was found.
type Report struct {
	Machine    MachineReport     `json:"machine"`
	Interfaces []InterfaceReport `json:"interfaces"`
	// Brief reports tell of all interfaces, and only what is wrong with them.
	Brief bool `json:"brief"`
	// Worst is the worst state that counts: of the machine and, unless the report is
	// brief, of the interface. That one interface of many is down is no problem.
	Worst State `json:"worst"`
}

// MachineReport is the facts of the machine and what is to be said of them.
type MachineReport struct {
	Facts    Machine   `json:"facts"`
	Findings []Finding `json:"findings"`
}

// InterfaceReport is the same of an interface.
type InterfaceReport struct {
	Facts    Interface `json:"facts"`
	Expected string    `json:"expected_mode"`
	Findings []Finding `json:"findings"`
}

// Examine looks at the machine and at one interface, or at all for no name. The error
// of an interface that is not there is nic.ErrNoInterface.
func Examine(s Source, name string) (Report, error) {
	m, err := s.Machine()
	if err != nil {
		return Report{}, err
	}
	r := Report{Brief: name == "", Machine: MachineReport{Facts: m, Findings: examineMachine(m)}}
	r.Worst = findings(r.Machine.Findings).worst()
	names := []string{name}
	if r.Brief {
		if names, err = s.Names(); err != nil {
			return Report{}, err
		}
	}
	for _, n := range names {
		i, err := s.Interface(n)
		if err != nil && r.Brief {
			continue // it went while we looked
		}
		if err != nil {
			return Report{}, fmt.Errorf("check %s: %w", n, err)
		}
		mode, _ := expected(m.Version, i)
		one := InterfaceReport{Facts: i, Expected: mode.String(), Findings: examineInterface(m, i)}
		r.Interfaces = append(r.Interfaces, one)
		if !r.Brief {
			r.Worst = max(r.Worst, findings(one.Findings).worst())
		}
	}
	return r, nil
}
