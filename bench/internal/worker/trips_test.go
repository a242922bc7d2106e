// SPDX-License-Identifier: MIT

package worker

import (
	"errors"
	"testing"
	"time"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/path"
	"github.com/xdpath/xdpath/bench/internal/pathtest"
	"github.com/xdpath/xdpath/bench/internal/rr"
)

// serveLine starts the two workers of a line and opens it.
func serveLine(t *testing.T, l *pathtest.Line) (client, server *rig) {
	t.Helper()
	open := func(p control.Prepare) (path.End, error) {
		if p.Role == control.RoleSender {
			return l.Client(), nil
		}
		return l.Server(), nil
	}
	client, server = serveEnds(t, open), serveEnds(t, open)
	for r, role := range map[*rig]control.Role{client: control.RoleSender, server: control.RoleReceiver} {
		r.must(hello(), control.TypeHello)
		p := prepare(role, "line")
		p.Prepare.Test = rr.Name
		r.must(p, control.TypeReady)
	}
	return client, server
}

// TestTripsWindow loses datagrams both ways: each side tells of those that did not
// come to it, and what its own interface dropped either way.
func TestTripsWindow(t *testing.T) {
	l := pathtest.NewLine(64)
	l.Requests.Drop, l.Answers.Spoil, l.Answers.Late, l.Answers.By = 20, 30, 41, rr.Timeout+20*time.Millisecond
	client, server := serveLine(t, l)
	server.must(start(9, 100*time.Millisecond), control.TypeOK)
	client.must(start(9, 500*time.Millisecond), control.TypeOK)
	asked := client.must(totals, control.TypeTotals).Totals
	server.must(stop, control.TypeOK)
	answered := server.must(totals, control.TypeTotals).Totals
	if asked.Run != 9 || answered.Run != 9 || asked.Elapsed < 500*time.Millisecond || asked.Latency.Count == 0 || asked.Latency.P50 <= 0 {
		t.Errorf("client %+v, server %+v", asked, answered)
	}
	lost := asked.Sent - asked.Latency.Count
	ways := map[string][2]uint64{
		"dropped":  {answered.Lost.Get(loss.Socket), asked.Sent / 20},
		"spoiled":  {asked.Lost.Get(loss.Corrupt), asked.Tally.Corrupt},
		"late":     {asked.Lost.Get(loss.Late), asked.Tally.Received - asked.Latency.Count},
		"in all":   {answered.Lost.Get(loss.Socket) + asked.Lost.Get(loss.Corrupt) + asked.Lost.Get(loss.Late), lost},
		"answered": {answered.Sent, answered.Tally.Received},
		"gauges":   {asked.Lost.Get(loss.DeviceTX) + answered.Lost.Get(loss.DeviceTX), 6},
		"gauges 2": {asked.Lost.Get(loss.DeviceRX) + answered.Lost.Get(loss.DeviceRX), 10},
	}
	for what, n := range ways {
		if n[0] != n[1] || n[0] == 0 {
			t.Errorf("%s: %d, want %d, client %+v, server %+v", what, n[0], n[1], asked, answered)
		}
	}
}

// TestTripsFail: an error of the path is told by the side that had it.
func TestTripsFail(t *testing.T) {
	l := pathtest.NewLine(64)
	client, server := serveLine(t, l)
	for what, f := range map[*rig]*pathtest.Faults{client: &l.Requests, server: &l.Answers} {
		l.Set(func(*pathtest.Line) { f.Err = errors.New("cable cut") })
		server.must(start(1, time.Minute), control.TypeOK)
		client.must(start(1, 20*time.Millisecond), control.TypeOK)
		what.refused(totals, "cable cut")
		server.must(stop, control.TypeOK)
		_, _ = client.ask(totals)
		l.Set(func(*pathtest.Line) { f.Err = nil })
	}
	server.must(start(2, time.Minute), control.TypeOK)
	client.must(start(2, 20*time.Millisecond), control.TypeOK)
	if got := client.must(totals, control.TypeTotals).Totals; got.Latency.Count == 0 {
		t.Errorf("%+v", got)
	}
	server.must(stop, control.TypeOK)
}
