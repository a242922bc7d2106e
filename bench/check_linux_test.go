// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/xdpath/xdpath/bench/internal/check"
)

// patient is a machine with one interface, which may be down.
type patient struct{ up bool }

func (patient) Machine() (check.Machine, error) {
	return check.Machine{Release: "6.18.1", Version: check.Version{6, 18, 1}, CPUs: 2, Online: 2, PageSize: 4096}, nil
}
func (patient) Names() ([]string, error) { return []string{"eth0"}, nil }
func (p patient) Interface(name string) (check.Interface, error) {
	switch name {
	case "eth0":
		return check.Interface{Name: name, Driver: "igc", Up: p.up, Carrier: p.up, MTU: 1500, RxQueues: 1, TxQueues: 1}, nil
	case "broken":
		return check.Interface{}, errors.New("it broke")
	}
	return check.Interface{}, fmt.Errorf("open %s: %w", name, check.ErrNoInterface)
}

// Exit statuses and where what is said goes to.
func TestCheckStatus(t *testing.T) {
	for _, tc := range []struct {
		args   []string
		up     bool
		status int
		out    string // that the output holds, of the two that which is not empty
		err    string
	}{
		{nil, false, exitOK, "eth0: igc", ""},
		{[]string{"eth0"}, true, exitOK, "usable", ""},
		{[]string{"eth0"}, false, exitBroken, "ip link set eth0 up", ""},
		{[]string{"eth0", "-json"}, false, exitBroken, `"worst": "problem"`, ""},
		{[]string{"-json", "eth0"}, true, exitOK, `"expected_mode"`, ""},
		{[]string{"-h"}, true, exitOK, "usage: bench check", ""},
		{[]string{"eth9"}, true, exitUsage, "", "no such interface"},
		{[]string{"broken"}, true, exitBroken, "", "it broke"},
		{[]string{""}, true, exitUsage, "", "without a name"},
		{[]string{"eth0", "eth1"}, true, exitUsage, "", "one interface at a time"},
		{[]string{"-wat"}, true, exitUsage, "", "-wat"},
		{[]string{"eth0", "-wat"}, true, exitUsage, "", "-wat"},
	} {
		var out, errs bytes.Buffer
		status := runCheck(tc.args, patient{tc.up}, &out, &errs)
		if status != tc.status || !strings.Contains(out.String(), tc.out) || !strings.Contains(errs.String(), tc.err) || (tc.err == "") != (errs.Len() == 0) {
			t.Errorf("%q: status %d\n%s%s", tc.args, status, out.String(), errs.String())
		}
		if tc.err == "" && strings.Contains(strings.Join(tc.args, " "), "-json") && !json.Valid(out.Bytes()) {
			t.Errorf("%q: no JSON:\n%s", tc.args, out.String())
		}
	}
}

// The real thing, whoever runs it.
func TestCheckHere(t *testing.T) {
	var out, errs bytes.Buffer
	if status := run([]string{"check"}, &out, &errs); status > exitBroken || errs.Len() != 0 || !strings.Contains(out.String(), "Linux ") {
		t.Errorf("status %d\n%s%s", status, out.String(), errs.String())
	}
}
