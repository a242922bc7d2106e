// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/xdpath/xdpath/examples/internal/program"
	"github.com/xdpath/xdpath/internal/nic"
	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/udp"
)

func TestMain(m *testing.M) {
	if program.IsExample() {
		main()
		return
	}
	os.Exit(m.Run())
}

// A stock iperf 2 is told of no loss, by its own report, at 50 Mb/s.
func TestIperfSends(t *testing.T) {
	program.Installed(t, "iperf", "iperf")
	pair := testnet.TestPair(t, testnet.Config{Queues: 2, IPv6: true})
	for _, c := range []struct {
		name    string
		to      netip.Addr
		args    string
		atLeast int // datagrams of each sender
		senders int
	}{
		{"IPv4", pair.B.IP4, "-b 50m -t 2", 5000, 1},
		{"IPv6", pair.B.IP6, "-b 50m -t 1 -l 1450 -V", 2000, 1},
		{"two senders", pair.B.IP4, "-b 25m -t 1 -P 2", 1000, 2},
		{"smallest", pair.B.IP4, "-b 2000pps -t 1 -l 16", 1000, 1},
		{"in fragments", pair.B.IP4, "-b 50m -t 1 -l 8000", 400, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := program.Example(t, pair.B.NS.Start, "-i", pair.B.Name, "-port", "5001")
			t.Log(s.Line("listening"))
			args := append([]string{"-u", "-c", c.to.String(), "-p", "5001"}, strings.Fields(c.args)...)
			theirs, err := program.Other(t, pair.A.NS.Start, "iperf", args...).Wait()
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(theirs, "WARN") {
				t.Errorf("iperf warns:\n%s", theirs)
			}
			reports := noLoss(t, theirs, c.senders)
			ours := s.Interrupt()
			for id, r := range reports {
				if r.datagrams < c.atLeast {
					t.Errorf("iperf's sender %d sent %d datagrams", id, r.datagrams)
				}
			}
			for _, r := range noLoss(t, ours, c.senders) {
				t.Log(r.line)
				if !sameCount(reports, r.datagrams) {
					t.Errorf("not in iperf's report: %s", r.line)
				}
			}
			checkTotal(t, ours, reports)
			detached(t, pair.B)
		})
	}
}

// result is the last line that a program printed of one sender.
type result struct {
	line      string
	datagrams int
}

// noLoss reads the lines that have a loss in them, as iperf's and ours have, and
// returns the last of each sender.
func noLoss(t *testing.T, out string, senders int) map[int]result {
	t.Helper()
	last := map[int]result{}
	for _, line := range strings.Split(out, "\n") {
		_, counts, ok := strings.Cut(line, " ms ")
		if !ok {
			continue
		}
		var id, lost, of int
		if _, err := fmt.Sscanf(line, "[%d]", &id); err != nil {
			t.Errorf("%v in %q", err, line)
		}
		if _, err := fmt.Sscanf(counts, "%d/%d", &lost, &of); err != nil {
			t.Errorf("%v in %q", err, line)
		}
		if lost != 0 {
			t.Errorf("loss: %s", line)
		}
		last[id] = result{line, of}
	}
	if len(last) != senders {
		t.Errorf("reports on %d senders, want %d:\n%s", len(last), senders, out)
	}
	return last
}

func sameCount(results map[int]result, datagrams int) bool {
	for _, r := range results {
		if r.datagrams == datagrams {
			return true
		}
	}
	return false
}

// checkTotal tells that sink received at least what was sent, by whatever lane, and
// that nothing was lost on the way through it.
func checkTotal(t *testing.T, out string, sent map[int]result) {
	t.Helper()
	_, total, _ := strings.Cut(out, "total: ")
	var fast, kernel, all int
	fmt.Sscanf(total, "received %d fast, %d kernel;", &fast, &kernel) // 0 if it is not there
	for _, r := range sent {
		all += r.datagrams
	}
	if fast+kernel < all || !strings.Contains(total, "lost: ring 0, socket 0, bad checksum 0, malformed 0, other source 0;") {
		t.Errorf("%d were sent, total: %s", all, total)
	}
	t.Log(strings.TrimSpace(total))
}

// detached tells that no XDP program is left on an end.
func detached(t *testing.T, end testnet.End) {
	t.Helper()
	err := end.NS.Do(func() error {
		n, err := nic.Open(end.Name)
		if err != nil {
			return err
		}
		defer n.Close()
		l, err := n.Link()
		if err == nil && len(l.Programs) > 0 {
			err = fmt.Errorf("programs are left: %v", l.Programs)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestSinkRefuses(t *testing.T) {
	testnet.Require(t)
	testnet.Leaks(t)
	cfg, err := config("none", 5001, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := sink(context.Background(), cfg, 0, new(bytes.Buffer)); !errors.Is(err, udp.ErrNoInterface) {
		t.Errorf("no such interface: %v", err)
	}
}
