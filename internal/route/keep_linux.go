// SPDX-License-Identifier: MIT

package route

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// maxSolicited bounds the neighbours that can be solicited within the time that has
// to pass between two requests about one.
const maxSolicited = 1 << 12

// keeper remembers which neighbours are in use, and which were asked for when.
type keeper struct {
	ticker *time.Ticker // runs while there are hops

	mu    sync.Mutex
	hops  map[Hop]*kept
	asked map[Hop]time.Time // those of the last interval, and some older ones
}

// kept is a neighbour in use.
type kept struct {
	users   int
	touched time.Time // when the kernel was last told that it is
}

func newKeeper() *keeper {
	k := &keeper{ticker: time.NewTicker(time.Hour), hops: make(map[Hop]*kept), asked: make(map[Hop]time.Time)}
	k.ticker.Stop()
	return k
}

// due notes that a neighbour is asked for now, and tells whether it may be: not if
// it was less than the interval ago. The error is EAGAIN if there were too many.
func (k *keeper) due(h Hop, now time.Time, interval time.Duration) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if last, ok := k.asked[h]; ok && now.Sub(last) < interval {
		return false, nil
	}
	if len(k.asked) >= maxSolicited {
		for other, last := range k.asked {
			if now.Sub(last) >= interval {
				delete(k.asked, other)
			}
		}
	}
	if len(k.asked) >= maxSolicited {
		return false, fmt.Errorf("%d addresses within %v: %w", maxSolicited, interval, unix.EAGAIN)
	}
	k.asked[h] = now
	return true, nil
}

// Solicit makes the kernel find out the address of a neighbour, by ARP or neighbour
// discovery, unless it has one that is permanent. It does not wait: the answer shows
// as a change of generation. A second call for the same neighbour within a second
// does nothing. The errors are ErrNotPermitted without CAP_NET_ADMIN, EINVAL for a
// Hop that cannot be a neighbour on an interface of Config, and EAGAIN if thousands
// of neighbours were solicited within a second.
func (t *Table) Solicit(h Hop) error {
	if err := t.solicit(h); err != nil {
		return fmt.Errorf("route: solicit %v on interface %d: %w", h.Addr, h.Ifindex, err)
	}
	return nil
}

func (t *Table) solicit(h Hop) error {
	if !t.mirror.validHop(h) {
		return fmt.Errorf("not a neighbour: %w", unix.EINVAL)
	}
	if t.mirror.neighbour(h).fixed() {
		return nil
	}
	due, err := t.keep.due(h, time.Now(), t.timing.solicit)
	if err == nil && !due && t.denied.Load() {
		err = ErrNotPermitted // as a moment ago
	}
	if err != nil || !due {
		return err
	}
	return t.touch(h)
}

// touch tells the kernel that a neighbour is being used (NTF_USE), as a datagram of
// its own would: it resolves an unknown one and confirms a stale one.
func (t *Table) touch(h Hop) error {
	n, err := t.lookUp(h)
	if err != nil {
		return err
	}
	if n.fixed() {
		return nil // the kernel would make a permanent entry an ordinary one (5.16)
	}
	flags := uint16(unix.NLM_F_ACK | unix.NLM_F_CREATE)
	if n.state == unix.NUD_NONE {
		flags |= unix.NLM_F_EXCL // and not one made meanwhile
	}
	body := putAddr(neighbourHeader(h, unix.NTF_USE), unix.NDA_DST, h.Addr)
	t.solicited.Add(1)
	err = t.slow.do(unix.RTM_NEWNEIGH, flags, body, func([]byte) error { return nil })
	denied := errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES)
	t.denied.Store(denied)
	switch {
	case denied:
		return ErrNotPermitted
	case errors.Is(err, unix.EEXIST):
		return nil
	case err != nil:
		return err
	}
	t.mirror.touched(h)
	if n.state == unix.NUD_NONE {
		// An entry that needs no resolution is there now, and was not announced.
		_, err = t.lookUp(h)
	}
	return err
}

// Keep declares a neighbour as in use until Forget is called as often. Frames that
// bypass the kernel do not show it that an entry is being used, so it would go stale
// and at last be dropped. A neighbour that is kept is confirmed when it is stale,
// and every half minute; one that is missing is solicited each second. The first
// request is made at once. Of its errors only ErrNotPermitted, EINVAL for a Hop that
// cannot be a neighbour, and net.ErrClosed are returned, and then nothing is kept.
func (t *Table) Keep(h Hop) error {
	if t.keep.again(h) {
		return nil
	}
	err := t.solicit(h)
	if err != nil && (t.stopped() || errors.Is(err, ErrNotPermitted) || errors.Is(err, unix.EINVAL)) {
		return fmt.Errorf("route: keep %v on interface %d: %w", h.Addr, h.Ifindex, err)
	}
	t.keep.add(h, t.timing.tick)
	return nil
}

// again counts one more user of a hop that is kept.
func (k *keeper) again(h Hop) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.hops[h]
	if e == nil {
		return false
	}
	e.users++
	return true
}

// add adds a user of a hop that has just been touched.
func (k *keeper) add(h Hop, tick time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.hops) == 0 {
		k.ticker.Reset(tick)
	}
	if k.hops[h] == nil {
		k.hops[h] = &kept{touched: time.Now()}
	}
	k.hops[h].users++
}

// Forget takes back one Keep. Without one it does nothing.
func (t *Table) Forget(h Hop) {
	k := t.keep
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.hops[h]
	if e == nil {
		return
	}
	if e.users--; e.users > 0 {
		return
	}
	delete(k.hops, h)
	if len(k.hops) == 0 {
		k.ticker.Stop()
	}
}

// freshen touches those of the kept neighbours that need it.
func (t *Table) freshen() {
	for _, h := range t.tired(time.Now()) {
		if t.stopped() {
			return
		}
		// A request that was refused is made again at the next tick. Rights that are
		// gone do not come back, but it does no harm to ask.
		_ = t.solicit(h)
	}
}

// tired lists the kept neighbours that are missing, stale or long not confirmed.
func (t *Table) tired(now time.Time) []Hop {
	k := t.keep
	k.mu.Lock()
	defer k.mu.Unlock()
	var list []Hop
	for h, e := range k.hops {
		n := t.mirror.neighbour(h)
		if n.fixed() || n.usable() && !n.stale() && now.Sub(e.touched) < t.timing.fresh {
			continue
		}
		e.touched = now
		list = append(list, h)
	}
	return list
}
