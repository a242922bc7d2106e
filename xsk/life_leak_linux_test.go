// SPDX-License-Identifier: MIT

package xsk

import (
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/bpf"
	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/umem"
)

// Case 103: a thousand sockets opened and closed, and five hundred that fail to
// open in each way, leave no descriptor, mapping, goroutine, program or locked
// page. They are opened by a user who may lock little, so that some hundred areas
// that stay locked are the end of it.
func TestLifeLeaks(t *testing.T) {
	testnet.Leaks(t)
	const queues = 32
	pair := testnet.TestPair(t, testnet.Config{Queues: queues})
	as := nobody()
	as.caps = append(as.caps, unix.CAP_NET_ADMIN, unix.CAP_BPF)
	for _, part := range []string{"open", "fail"} {
		t.Run(part, func(t *testing.T) {
			startChild(t, pair.B.NS, as, part, pair.B.Name, strconv.Itoa(queues)).passes()
			if left := programs(t, pair.B); len(left) != 0 {
				t.Errorf("left attached: %v", left)
			}
		})
	}
}

// tiny is a socket whose area is 64 KiB.
func tiny(name string, queue int) Config {
	// On a machine whose network is being configured all the time the kernel
	// takes seconds to give up a queue.
	return Config{Interface: name, Queue: queue, RxSize: 16, TxSize: 16, BusyWait: childWait}
}

// smallLimit is how much memory the child may lock: 64 tiny areas.
const smallLimit = "4194304"

// playOpen opens and closes 1000 sockets, on all queues at once.
func playOpen(t *testing.T, args []string) {
	testnet.Leaks(t)
	limitMemory(t, smallLimit)
	queues, err := strconv.Atoi(args[1])
	if err != nil {
		t.Fatal(err)
	}
	p, err := bpf.Attach(bpf.Config{Interface: args[0]})
	if err != nil {
		t.Fatal(err)
	}
	const rounds = 1000
	var all sync.WaitGroup
	for q := range queues {
		all.Go(func() {
			for round := range (rounds + queues - 1) / queues {
				cfg := tiny(args[0], q)
				if round%4 != 0 {
					cfg.Mode = Copy // the attempt at zero-copy takes as long again
				}
				s, err := Open(cfg)
				if err != nil {
					t.Error(err)
					return
				}
				err = errors.Join(p.SetQueue(q, s.FD()), s.Close())
				if sn := s.Snapshot(); err != nil || sn.Free != sn.Total {
					t.Errorf("%v, %v", err, sn)
				}
			}
		})
	}
	all.Wait()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// failing opens in vain. Memory of earlier attempts may still count as locked,
// since they do not wait.
func failing(cfg Config, target error) error {
	for end := time.Now().Add(2 * time.Second); ; time.Sleep(time.Millisecond) {
		s, err := Open(cfg)
		if err == nil {
			return s.Close()
		}
		if !errors.Is(err, unix.ENOBUFS) || target == unix.ENOBUFS || time.Now().After(end) {
			return err
		}
	}
}

// playFail fails to open 500 times in each way.
func playFail(t *testing.T, args []string) {
	testnet.Leaks(t)
	limitMemory(t, smallLimit)
	name := args[0]
	busy, err := Open(tiny(name, 0))
	if err != nil {
		t.Fatal(err)
	}
	area, err := umem.New(umem.Config{Chunks: 64})
	if err != nil {
		t.Fatal(err)
	}
	sharing := tiny(name, 1)
	sharing.Area = area
	member, err := Open(sharing)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		cfg    Config
		change func(*Config)
		target error
	}{
		{"queue too high", tiny(name, 4000), nil, unix.EINVAL},
		{"busy", tiny(name, 0), nil, ErrQueueBusy},
		{"zero-copy", tiny(name, 2), func(c *Config) { c.Mode = ZeroCopy }, unix.EOPNOTSUPP},
		{"memory", tiny(name, 2), func(c *Config) { c.RxFrames = 2048 }, unix.ENOBUFS},
		{"no interface", tiny("nosuch", 0), nil, ErrNoInterface},
		{"ring size", tiny(name, 2), func(c *Config) { c.FillSize = 3 }, nil},
		{"chunk size", tiny(name, 2), func(c *Config) { c.ChunkSize = 3000 }, nil},
		{"shared, queue too high", sharing, func(c *Config) { c.Queue = 4000 }, unix.EINVAL},
		{"shared, queue's rings not shared", sharing, nil, unix.EINVAL},
		{"shared, busy", sharing, func(c *Config) { c.Queue = 0 }, ErrQueueBusy},
		{"shared, other mode", sharing, func(c *Config) { c.Queue, c.Mode = 2, ZeroCopy }, unix.EOPNOTSUPP},
		{"shared, too few frames", sharing, func(c *Config) { c.Queue, c.RxFrames = 2, 33 }, nil},
		{"shared, too few frames for sending", sharing, func(c *Config) { c.Queue, c.TxFrames = 2, 33 }, nil},
	} {
		c.cfg.BusyWait = -1
		if c.change != nil {
			c.change(&c.cfg)
		}
		for range 500 {
			err := failing(c.cfg, c.target)
			if err == nil || c.target != nil && !errors.Is(err, c.target) {
				t.Errorf("%s: %v", c.name, err)
				break
			}
		}
	}
	if rest, err := area.NewPool(32); err != nil {
		t.Error(err)
	} else if err := rest.Close(); err != nil {
		t.Error(err)
	}
	if err := errors.Join(member.Close(), area.Close(), busy.Close()); err != nil {
		t.Error(err)
	}
}
