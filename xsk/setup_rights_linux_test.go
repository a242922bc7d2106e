// SPDX-License-Identifier: MIT

package xsk

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/umem"
)

// refusals are the errors of a child without rights; empty for none.
type refusals struct{ Socket, Program string }

// Case 12: each capability that is missing is named with the step that lacks it,
// and nothing is left attached or bound.
func TestSetupCapabilities(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{})
	const raw, admin, prog = unix.CAP_NET_RAW, unix.CAP_NET_ADMIN, unix.CAP_BPF
	for _, c := range []struct {
		name            string
		caps            []uintptr
		socket, program []string // what the errors must name; nil: no error
	}{
		{"all", []uintptr{raw, admin, prog}, nil, nil},
		{"no CAP_NET_RAW", []uintptr{admin, prog}, []string{"socket", "CAP_NET_RAW", pair.B.Name}, nil},
		{"no CAP_NET_ADMIN", []uintptr{raw, prog}, nil, []string{"CAP_NET_ADMIN"}},
		{"no CAP_BPF", []uintptr{raw, admin}, nil, []string{"CAP_BPF"}},
		{"none", nil, []string{"socket", "CAP_NET_RAW", pair.B.Name}, []string{"CAP_NET_ADMIN", "CAP_BPF"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			child := startChild(t, pair.B.NS, user{id: 65534, caps: c.caps}, "rights", pair.B.Name)
			var got refusals
			child.hear(&got)
			child.passes()
			for _, e := range []struct {
				text string
				want []string
			}{{got.Socket, c.socket}, {got.Program, c.program}} {
				if (e.text == "") != (e.want == nil) {
					t.Errorf("%q, want %q in it", e.text, e.want)
				}
				for _, w := range e.want {
					if !strings.Contains(e.text, w) {
						t.Errorf("%q does not name %q", e.text, w)
					}
				}
			}
			if left := programs(t, pair.B); len(left) != 0 {
				t.Errorf("left attached: %v", left)
			}
			s, err := tryIn(pair.B.NS, Config{Interface: pair.B.Name})
			if err != nil {
				t.Fatal("left bound:", err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// playRights opens socket and program, and says what was refused.
func playRights(t *testing.T, args []string) {
	testnet.Leaks(t)
	var r refusals
	// Small enough for the usual limit of locked memory.
	s, err := Open(Config{Interface: args[0], RxSize: 64, TxSize: 64})
	if err != nil {
		r.Socket = err.Error()
		if !errors.Is(err, unix.EPERM) {
			t.Errorf("%q is not EPERM", err)
		}
	}
	p, err := bpf.Attach(bpf.Config{Interface: args[0]})
	if err != nil {
		r.Program = err.Error()
		if !errors.Is(err, unix.EPERM) {
			t.Errorf("%q is not EPERM", err)
		}
	}
	if p != nil {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	if s != nil {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	say(t, r)
}

// Case 115, in part: busy polling that is not permitted is gone without, and said.
func TestSetupBusyPoll(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{})
	for _, caps := range [][]int{{unix.CAP_NET_RAW}, {unix.CAP_NET_RAW, unix.CAP_NET_ADMIN}} {
		err := pair.B.NS.Do(func() error {
			if err := keepOnly(append(caps, unix.CAP_IPC_LOCK)...); err != nil {
				return err
			}
			s, err := Open(Config{Interface: pair.B.Name, BusyPoll: true})
			if err != nil {
				return err
			}
			info := s.Info()
			if allowed := len(caps) > 1; info.BusyPoll != allowed || allowed != (len(info.Notes) == 0) {
				t.Errorf("%v: %+v", caps, info)
			} else if !allowed && !strings.Contains(info.Notes[0], "CAP_NET_ADMIN") {
				t.Errorf("%q", info.Notes)
			}
			return s.Close()
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Case 11: without CAP_SYS_RESOURCE, under a hard limit that suffices, all works,
// and no limit of the process is touched.
func TestSetupLimits(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{})
	as := nobody()
	as.caps = append(as.caps, unix.CAP_NET_ADMIN, unix.CAP_BPF)
	child := startChild(t, pair.B.NS, as, "limits", pair.B.Name)
	var ready string
	child.hear(&ready)
	raw, tp := openRaw(t, pair.A), template(t, pair.A, pair.B)
	for i := range 100 {
		if err := raw.Send(datagram(&tp, uint64(i), 64)); err != nil {
			t.Fatal(err)
		}
	}
	child.passes()
}

func playLimits(t *testing.T, args []string) {
	testnet.Leaks(t)
	limitMemory(t, "8388608")
	before := limits(t)
	s, err := Open(areaOf(args[0], mib))
	if err != nil {
		t.Fatal(err)
	}
	p, err := bpf.Attach(bpf.Config{Interface: args[0]})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(p.SetQueue(0, s.FD()), p.Allow(anyPort))
	if err != nil {
		t.Fatal(err)
	}
	say(t, "ready")
	collect(t, s, 100)
	if after := limits(t); after != before {
		t.Errorf("limits changed from %v to %v", before, after)
	}
	if err := errors.Join(p.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	if after := limits(t); after != before {
		t.Errorf("limits changed from %v to %v", before, after)
	}
}

func limits(t *testing.T) (list [16]unix.Rlimit) {
	t.Helper()
	for i := range list {
		if err := unix.Getrlimit(i, &list[i]); err != nil {
			t.Fatal(err)
		}
	}
	return list
}

// A socket that was opened serves a thread without any capability: only opening
// takes rights.
func TestSetupRightsGivenUp(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{})
	s := openIn(t, pair.B.NS, Config{Interface: pair.B.Name})
	redirect(t, pair.B, bpf.Config{}, s)
	raw := openRaw(t, pair.A)
	back := template(t, pair.B, pair.A)
	err := pair.B.NS.Do(func() error {
		if err := keepOnly(); err != nil {
			return err
		}
		delivers(t, raw, pair.A, pair.B, s, 0, 64)
		frames := make([]umem.Frame, 1)
		if n, err := s.Reserve(frames); n != 1 || err != nil {
			t.Errorf("reserve: %d, %v", n, err)
		}
		frames[0] = write(t, s, frames[0], datagram(&back, 7, 64))
		sendFrames(t, s, frames)
		_, err := s.Stats()
		return errors.Join(err, s.Drain(within(t, childWait)))
	})
	if err != nil {
		t.Fatal(err)
	}
}
