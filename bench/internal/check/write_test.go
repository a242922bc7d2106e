// SPDX-License-Identifier: MIT

package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// sick is a machine and interfaces with something of every kind.
func sick() fake {
	m := sound()
	m.Release, m.Version = "6.17.2-arm64", Version{6, 17, 2}
	m.Config["CONFIG_XDP_SOCKETS_DIAG"] = "n"
	m.Capabilities, m.Memlock = []string{"CAP_NET_RAW"}, 64<<10
	m.XSKs, m.Owners = 1, []Owner{{4711, "sink"}}
	m.Blind = []string{"processes that may not be looked into (3): they may have AF_XDP sockets that are not listed here"}
	a := fine()
	a.Name, a.Driver, a.RxQueues, a.Bound = "eth0", "st_gmac", 4, []int{1}
	a.Programs = []Program{{ID: 42, Mode: "native", Name: "balancer", Link: 5}}
	a.Offloads["rx-vlan-hw-parse"] = Offload{On: true}
	a.Coalesce = &Coalesce{RxUsecs: 50, RxFrames: 25}
	a.IRQs[0].CPUs = "0-3"
	b := fine()
	b.Name, b.Driver, b.Up, b.Carrier = "eth1", "macb", false, false
	b.Features, b.Offloads = Features{Known: true}, nil
	return fake{machine: m, interfaces: map[string]Interface{"eth0": a, "eth1": b}}
}

// The report reads well at 80 columns: looked at by people, held by these files.
func TestGolden(t *testing.T) {
	for file, name := range map[string]string{"interface.txt": "eth0", "brief.txt": ""} {
		r, err := Examine(sick(), name)
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if err := r.WriteText(&got); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(got.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > Width && strings.Contains(strings.TrimSpace(line)[1:], " ") {
				t.Errorf("%s: %d columns: %s", file, n, line)
			}
		}
		golden := filepath.Join("testdata", file)
		if *update {
			if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), got.String()); d != "" {
			t.Errorf("%s (-update writes it):\n%s", file, d)
		}
	}
}

// What goes out as JSON is what comes in again.
func TestJSON(t *testing.T) {
	for _, name := range []string{"eth0", ""} {
		r, err := Examine(sick(), name)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := r.WriteJSON(&b); err != nil {
			t.Fatal(err)
		}
		var back Report
		dec := json.NewDecoder(&b)
		dec.DisallowUnknownFields()
		if err := dec.Decode(&back); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(r, back); d != "" {
			t.Errorf("%q:\n%s", name, d)
		}
	}
	if s := State(9).String(); s != "State(9)" {
		t.Errorf("no state: %s", s)
	}
	var s State
	if err := s.UnmarshalText([]byte("terrible")); err == nil {
		t.Errorf("a state that there is not: %v", s)
	}
}

// What counts for the exit status: the machine, and the interface that was asked about.
func TestWorst(t *testing.T) {
	good, bad := fine(), fine()
	good.Name, bad.Name, bad.Up = "good", "bad", false
	f := fake{machine: sound(), interfaces: map[string]Interface{"good": good, "bad": bad}}
	for name, want := range map[string]struct {
		state State
		says  string
	}{
		"good": {OK, "this machine and good: fit"},
		"bad":  {Problem, "this machine and bad: a problem"},
		"":     {OK, "this machine: fit"},
	} {
		r, err := Examine(f, name)
		if err != nil || r.Worst != want.state || !strings.HasPrefix(r.verdict(), want.says) {
			t.Errorf("%q: %v, %q, %v", name, r.Worst, r.verdict(), err)
		}
	}
	if _, err := Examine(f, "none"); !errors.Is(err, errNone) {
		t.Errorf("no such interface: %v", err)
	}
}
