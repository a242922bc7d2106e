// SPDX-License-Identifier: MIT

package check

import "fmt"

// State is how bad a finding is.
type State int

const (
	OK      State = iota // as it should be
	Note                 // good to know
	Warning              // works, but not as well as it could, or not for everything
	Problem              // does not work until it is mended
)

var stateNames = [...]string{OK: "ok", Note: "note", Warning: "warning", Problem: "problem"}

func (s State) String() string {
	if s < 0 || int(s) >= len(stateNames) {
		return fmt.Sprintf("State(%d)", int(s))
	}
	return stateNames[s]
}

// MarshalText makes it a word in JSON.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the word.
func (s *State) UnmarshalText(text []byte) error {
	for i, name := range stateNames {
		if name == string(text) {
			*s = State(i)
			return nil
		}
	}
	return fmt.Errorf("check: no state %q", text)
}

// Finding is one thing that was looked at.
type Finding struct {
	Topic   string `json:"topic"`
	State   State  `json:"state"`
	Found   string `json:"found"`             // what is there
	Means   string `json:"means,omitempty"`   // what comes of it
	Command string `json:"command,omitempty"` // what changes it, for a shell
	Advice  string `json:"advice,omitempty"`  // what to do where no command helps
	Source  string `json:"source,omitempty"`  // where this is known from, if not from the machine itself
}

// findings collects what the examination of one thing finds.
type findings []Finding

func (f *findings) add(topic string, state State, found, means, command string) {
	*f = append(*f, Finding{Topic: topic, State: state, Found: found, Means: means, Command: command})
}

// advise is add for what no command mends.
func (f *findings) advise(topic string, state State, found, means, advice string) {
	*f = append(*f, Finding{Topic: topic, State: state, Found: found, Means: means, Advice: advice})
}

func (f *findings) ok(topic, format string, args ...any) {
	f.add(topic, OK, fmt.Sprintf(format, args...), "", "")
}

// worst is the state of the worst one, OK for none.
func (f findings) worst() State {
	w := OK
	for _, one := range f {
		w = max(w, one.State)
	}
	return w
}
