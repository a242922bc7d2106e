// SPDX-License-Identifier: MIT

package bpf

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/testnet"
)

// programsOn lists what is on the end's interface, seen from inside its namespace.
func programsOn(end *testnet.End) ([]found, error) {
	d, err := openDevice(Config{Ifindex: end.Index})
	if err != nil {
		return nil, err
	}
	defer d.close()
	return d.programs()
}

func nothingOn(end *testnet.End) error {
	list, err := programsOn(end)
	if err != nil {
		return err
	}
	if len(list) != 0 {
		return fmt.Errorf("still on %s: %v", end.Name, list)
	}
	return nil
}

// openIn attaches to end B with or without a link; the caller closes.
func openIn(cfg Config, useLink bool) (*Program, error) {
	cfg = cfg.withDefaults()
	d, err := openDevice(cfg)
	if err != nil {
		return nil, err
	}
	p, err := attach(cfg, d, useLink)
	if err != nil {
		d.close()
	}
	return p, err
}

// Case 15: native and generic in turn, by link and by netlink. Close is quick and
// leaves nothing on the interface.
func TestCloseDetaches(t *testing.T) {
	testnet.Leaks(t)
	pairIn(t, testnet.Config{}, func(pair *testnet.Pair) error {
		for round := range 80 {
			mode, useLink := Native, round%4 < 2
			if round%2 == 1 {
				mode = Generic
			}
			p, err := openIn(Config{Interface: pair.B.Name, Mode: mode}, useLink)
			if err != nil {
				return err
			}
			list, err := programsOn(&pair.B)
			if err != nil || len(list) != 1 || list[0] != (found{p.Info().ProgramID, mode.String()}) {
				t.Errorf("round %d: on the interface: %v, %v; info %+v", round, list, err, p.Info())
			}
			if on, err := p.Attached(); !on || err != nil {
				t.Errorf("round %d: attached: %v, %v", round, on, err)
			}
			start := time.Now()
			if err := p.Close(); err != nil {
				t.Errorf("round %d: %v", round, err)
			}
			if d := time.Since(start); d > time.Second {
				t.Errorf("round %d: Close took %v", round, d)
			}
			if err := nothingOn(&pair.B); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
		}
		return nil
	})
}

// What Attach obtains, by mode, and what it says about it.
func TestAttachInfo(t *testing.T) {
	testnet.Leaks(t)
	for _, c := range []struct {
		cfg    Config
		mode   Mode
		frags  bool
		trace  string
		netlnk bool
	}{
		{Config{}, Native, true, "native frags: ok", false},
		{Config{NoFrags: true}, Native, false, "native: ok", false},
		{Config{Mode: Native}, Native, true, "native frags: ok", false},
		{Config{Mode: Generic}, Generic, true, "generic frags: ok", false},
		{Config{Mode: Generic, NoFrags: true, Queues: 3}, Generic, false, "generic: ok", false},
		{Config{Mode: Native}, Native, true, "native frags: ok", true},
	} {
		pairIn(t, testnet.Config{}, func(pair *testnet.Pair) error {
			c.cfg.Ifindex = pair.B.Index
			p, err := openIn(c.cfg, !c.netlnk)
			if err != nil {
				return err
			}
			info := p.Info()
			if info.Mode != c.mode || info.Frags != c.frags || info.Interface != pair.B.Name || info.Ifindex != pair.B.Index ||
				(info.LinkID == 0) != c.netlnk || info.ProgramID == 0 || info.Queues != c.cfg.withDefaults().Queues {
				t.Errorf("%+v: info %+v", c.cfg, info)
			}
			if got := trace(info.Attempts); got != c.trace {
				t.Errorf("%+v: trace %q, want %q", c.cfg, got, c.trace)
			}
			return p.Close()
		})
	}
}

func trace(list []Attempt) string {
	var s []string
	for _, a := range list {
		s = append(s, a.String())
	}
	return strings.Join(s, "; ")
}

// Cases 7 and 23: a device without native XDP. Best falls back and says why, Native
// names the driver and the way out.
func TestNoNativeMode(t *testing.T) {
	testnet.Leaks(t)
	pairIn(t, testnet.Config{}, func(pair *testnet.Pair) error {
		mv, err := pair.B.AddMacvlan(mustPrefix("10.9.0.3/24"))
		if err != nil {
			return err
		}
		p, err := Attach(Config{Interface: mv.Name})
		if err != nil {
			return err
		}
		want := "native frags: operation not supported; native: operation not supported; generic frags: ok"
		if got := trace(p.Info().Attempts); p.Info().Mode != Generic || got != want {
			t.Errorf("mode %v, trace %q, want %q", p.Info().Mode, got, want)
		}
		if err := p.Close(); err != nil {
			return err
		}
		_, err = Attach(Config{Interface: mv.Name, Mode: Native})
		if !errors.Is(err, unix.EOPNOTSUPP) {
			return fmt.Errorf("native on macvlan: %w", err)
		}
		for _, word := range []string{mv.Name, "macvlan", "generic"} {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%q does not name %q", err, word)
			}
		}
		t.Log(err)
		return nothingOn(&mv)
	})
}

// Case 16: the MTU of the veth peer decides what a program without frags may do.
func TestMTU(t *testing.T) {
	testnet.Leaks(t)
	// Page size less XDP headroom, skb_shared_info and Ethernet header; 3506 for 4 KiB pages.
	limit := vethLimit(t)
	for _, c := range []struct {
		name   string
		mtu    int
		cfg    Config
		mode   Mode
		frags  bool
		refuse error
	}{
		{"at the limit", limit, Config{Mode: Native, NoFrags: true}, Native, false, nil},
		{"above", limit + 1, Config{Mode: Native, NoFrags: true}, 0, false, unix.ERANGE},
		{"far above", 9000, Config{Mode: Native, NoFrags: true}, 0, false, unix.ERANGE},
		{"frags", 9000, Config{Mode: Native}, Native, true, nil},
		{"generic", 9000, Config{Mode: Generic, NoFrags: true}, Generic, false, nil},
		{"best", 9000, Config{}, Native, true, nil},
		{"best without frags", 9000, Config{NoFrags: true}, Generic, false, nil},
	} {
		for _, useLink := range []bool{true, false} {
			pairIn(t, testnet.Config{MTU: c.mtu}, func(pair *testnet.Pair) error {
				c.cfg.Interface = pair.B.Name
				p, err := openIn(c.cfg, useLink)
				if c.refuse != nil {
					checkRefusal(t, err, c.refuse, fmt.Sprint(c.mtu), fmt.Sprint(limit), "peer", "frags", "generic")
					return nothingOn(&pair.B)
				}
				if err != nil {
					return fmt.Errorf("%s: %w", c.name, err)
				}
				if i := p.Info(); i.Mode != c.mode || i.Frags != c.frags {
					t.Errorf("%s: got %v, frags %v", c.name, i.Mode, i.Frags)
				}
				return p.Close()
			})
		}
	}
}

// vethLimit is the largest MTU for a native program without frags: the one veth
// computes for this machine (veth_xdp_set), with 320 bytes for skb_shared_info.
func vethLimit(t *testing.T) int {
	t.Helper()
	return unix.Getpagesize() - 256 - 320 - 14
}

func checkRefusal(t *testing.T, err, is error, words ...string) {
	t.Helper()
	if !errors.Is(err, is) {
		t.Errorf("got %v, want %v", err, is)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not name %q", err, word)
		}
	}
}

// What Attach refuses before it does anything, and interfaces that are not there.
func TestAttachRefuses(t *testing.T) {
	testnet.Leaks(t)
	for _, c := range []struct {
		cfg   Config
		is    error
		words []string
	}{
		{Config{}, nil, []string{"Ifindex or Interface"}},
		{Config{Ifindex: -1}, nil, []string{"-1"}},
		{Config{Interface: "abcdefghijklmnop"}, nil, []string{"abcdefghijklmnop", "15"}},
		{Config{Interface: "lo", Mode: 7}, nil, []string{"Mode 7"}},
		{Config{Interface: "lo", Queues: -1}, nil, []string{"Queues -1"}},
		{Config{Interface: "lo", Queues: 1 << 20}, nil, []string{"Queues 1048576"}},
		{Config{Interface: "nosuch"}, unix.ENODEV, []string{"nosuch"}},
		{Config{Ifindex: 1 << 20}, unix.ENODEV, []string{"1048576"}},
		{Config{Interface: "lo", Ifindex: 77}, unix.EINVAL, []string{"lo", "77"}},
	} {
		p, err := Attach(c.cfg)
		if err == nil {
			t.Errorf("%+v: accepted", c.cfg)
			_ = p.Close()
			continue
		}
		if c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%+v: %v, want %v", c.cfg, err, c.is)
		}
		for _, word := range c.words {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%+v: %q does not name %q", c.cfg, err, word)
			}
		}
	}
}

// After Close every method says net.ErrClosed, and Close itself nothing.
func TestAfterClose(t *testing.T) {
	testnet.Leaks(t)
	pairIn(t, testnet.Config{}, func(pair *testnet.Pair) error {
		p, err := Attach(Config{Interface: pair.B.Name})
		if err != nil {
			return err
		}
		if err := errors.Join(p.Close(), p.Close()); err != nil {
			return err
		}
		f := filters()[0]
		_, attached := p.Attached()
		_, counters := p.Counters()
		_, fds := p.FDs()
		for name, err := range map[string]error{
			"Allow": p.Allow(f), "Deny": p.Deny(f), "SetQueue": p.SetQueue(0, 0), "ClearQueue": p.ClearQueue(0),
			"SetMAC": p.SetMAC(pair.B.MAC), "Attached": attached, "Counters": counters, "FDs": fds,
		} {
			if !errors.Is(err, net.ErrClosed) {
				t.Errorf("%s after Close: %v", name, err)
			}
		}
		if p.Info().ProgramID == 0 {
			t.Error("Info is lost")
		}
		return nil
	})
}
