// SPDX-License-Identifier: MIT

package nic

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/testnet"
)

// A process that was killed leaves its values, and a record from which the next start
// puts back what was there before: by asking for it, or by deferring anew.
func TestRestoreAfterKill(t *testing.T) {
	for _, way := range setters {
		t.Run(way.name, func(t *testing.T) {
			testnet.Leaks(t)
			p, n := napiPair(t, 2)
			way.apply(n)
			put(t, n, before)
			for _, again := range []bool{false, true} {
				c := startNAPIChild(t, &p.B, nil, n.records[0], way.name)
				wantText(t, "child", c.do("defer", 9)+"|", "|")
				nine := Deferral{Interrupts: 9}.withDefaults().knobs()
				stands(t, "by the child", n, nine)
				must(t, n.RestoreNAPI())
				stands(t, "the child lives", n, nine)
				c.kill()
				stands(t, "the child is dead", n, nine)
				if again {
					d := deferred(t, n, Deferral{Interrupts: 9})
					if s := d.Info()[0]; s.Joined || s.Old.knobs() != before {
						t.Errorf("got %+v", s)
					}
					must(t, d.Restore())
				} else {
					must(t, n.RestoreNAPI())
				}
				stands(t, "the next start", n, before)
				checkFiles(t, n, 0)
			}
		})
	}
}

// Of two processes with the same values the last one restores, however the first
// one ends; one that wants other values is refused and changes nothing.
func TestSecondProcess(t *testing.T) {
	for _, end := range []string{"restore", "kill"} {
		t.Run(end, func(t *testing.T) {
			testnet.Leaks(t)
			p, n := napiPair(t, 2)
			put(t, n, before)
			c := startNAPIChild(t, &p.B, nil, n.records[0], "netlink")
			if text := c.do("defer", 9); text != "" {
				t.Fatal(text)
			}
			nine := Deferral{Interrupts: 9}.withDefaults().knobs()
			_, err := n.DeferNAPI(nil, Deferral{Interrupts: 5})
			wantError(t, "other values", err, unix.EBUSY, fmt.Sprintf("process %d", c.cmd.Process.Pid), "9 interrupts", "NAPI ", p.B.Name)
			stands(t, "refused", n, nine)
			d := deferred(t, n, Deferral{Interrupts: 9})
			if s := d.Info()[0]; !s.Joined || s.Old.knobs() != before || s.New.Interrupts != 9 {
				t.Errorf("got %+v", s)
			}
			if end == "kill" {
				c.kill()
			} else if text := c.do("restore"); text != "" {
				t.Error(text)
			}
			stands(t, "one has ended", n, nine)
			_, err = n.DeferNAPI(nil, Deferral{Interrupts: 5})
			wantError(t, "other values", err, unix.EBUSY)
			must(t, d.Restore())
			stands(t, "both have ended", n, before)
			checkFiles(t, n, 0)
		})
	}
}

// Without the right to set it, it is refused, and nothing is left; the right to
// set it is enough.
func TestDeferRights(t *testing.T) {
	for _, tc := range []struct {
		name, way string
		caps      []uintptr
		words     []string
	}{
		{"none", "netlink", nil, []string{"CAP_NET_ADMIN", "NAPI"}},
		{"CAP_NET_ADMIN", "netlink", []uintptr{unix.CAP_NET_ADMIN}, nil},
		{"none", "sysfs", nil, []string{"CAP_NET_ADMIN"}},
		{"CAP_NET_ADMIN", "sysfs", []uintptr{unix.CAP_NET_ADMIN}, []string{"CAP_SYS_ADMIN", "Linux 6.13"}},
	} {
		t.Run(tc.way+" "+tc.name, func(t *testing.T) {
			p, n := napiPair(t, 2)
			temp := openFolder(t)
			// The default folders: the first is root's, or cannot be made.
			c := startNAPIChild(t, &p.B, nobody(tc.caps...), "", tc.way, "TMPDIR="+temp)
			text := c.do("defer", 9)
			n.records = []string{filepath.Join(temp, "xdpath-65534")}
			if tc.words != nil {
				wantText(t, "refused", text, append(tc.words, p.B.Name)...)
				stands(t, "refused", n, knobs{})
			} else {
				if text != "" {
					t.Fatal(text)
				}
				stands(t, "deferred", n, knobs{9, 50_000})
				if len(files(t, n)) != 2 {
					t.Errorf("records %q", files(t, n))
				}
				if text := c.do("restore"); text != "" {
					t.Error(text)
				}
				stands(t, "restored", n, knobs{})
			}
			if left := files(t, n); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

// Records that mean nothing are removed and change nothing: a living interface has
// the values of each of them.
func TestMeaninglessRecords(t *testing.T) {
	_, n := napiPair(t, 1)
	who, err := n.identity()
	must(t, err)
	var napi uint32
	for napi = range standing(t, n) {
	}
	put(t, n, before)
	rec := record{Version: recordVersion, identity: who, NAPI: napi, Old: knobs{1, 1}, New: before}
	good, err := rec.encode()
	must(t, err)
	alter := func(f func(*record)) []byte {
		r := rec
		f(&r)
		b, err := json.Marshal(r)
		must(t, err)
		return b
	}
	for _, tc := range []struct {
		name string
		text []byte
		want knobs
	}{
		{"meaningful", good, knobs{1, 1}},
		{"renamed", alter(func(r *record) { r.Name = "other" }), knobs{1, 1}},
		{"other MAC", alter(func(r *record) { r.MAC = "02:00:00:00:00:01" }), knobs{1, 1}},
		{"other values since", alter(func(r *record) { r.New = knobs{3, 3} }), before},
		{"other boot", alter(func(r *record) { r.Boot = "another" }), before},
		{"other namespace", alter(func(r *record) { r.Namespace = "c0" }), before},
		{"index used again", alter(func(r *record) { r.Name, r.MAC = "other", "02:00:00:00:00:01" }), before},
		{"other index", alter(func(r *record) { r.Index = 1 << 20 }), before},
		{"other NAPI", alter(func(r *record) { r.NAPI = 1 << 30 }), before},
		{"other version", alter(func(r *record) { r.Version = 2 }), before},
		{"empty", nil, before},
		{"cut", good[:len(good)/2], before},
		{"garbage", []byte("\x00\xff{}[]"), before},
		{"long", make([]byte, 1<<20), before},
	} {
		put(t, n, before)
		must(t, os.MkdirAll(n.records[0], 0o700))
		must(t, os.WriteFile(filepath.Join(n.records[0], who.file(napi)), tc.text, 0o600))
		must(t, n.RestoreNAPI())
		stands(t, tc.name, n, tc.want)
		if left := files(t, n); len(left) > 0 {
			t.Errorf("%s: left behind %q", tc.name, left)
		}
	}
}

// The file's name counts too: a record of one NAPI in another one's file is none.
func TestMisplacedRecord(t *testing.T) {
	_, n := napiPair(t, 1)
	put(t, n, before)
	who, err := n.identity()
	must(t, err)
	for napi := range standing(t, n) {
		s, err := createStore(n.records)
		must(t, err)
		must(t, s.write(who.file(napi+1), record{Version: recordVersion, identity: who, NAPI: napi, New: before}))
		must(t, s.close())
	}
	must(t, n.RestoreNAPI())
	stands(t, "misplaced", n, before)
	checkFiles(t, n, 0)
}

// An owner that has not noticed that its interface is gone, and another one has come
// with the same index, neither hinders nor is joined, and spoils nothing when it ends.
func TestOwnerOfAnInterfaceThatIsGone(t *testing.T) {
	testnet.Leaks(t)
	_, n := napiPair(t, 1)
	put(t, n, before)
	who, err := n.identity()
	must(t, err)
	s, err := createStore(n.records)
	must(t, err)
	w := &workshop{nic: n, store: s, who: who}
	var old held
	for napi := range standing(t, n) {
		old = held{name: who.file(napi), rec: record{Version: recordVersion, identity: who, NAPI: napi, Old: knobs{1, 1}, New: usual.knobs()}}
		old.rec.Name, old.rec.MAC = "other", "02:00:00:00:00:01"
	}
	must(t, s.write(old.name, old.rec))
	old.file, err = s.hold(old.name)
	must(t, err)
	w.close()

	d := deferred(t, n, Deferral{})
	if info := d.Info()[0]; info.Joined || info.Old.knobs() != before {
		t.Errorf("got %+v", info)
	}
	w.store, err = createStore(n.records)
	must(t, err)
	_, err = w.restoreAll([]held{old})
	must(t, err)
	w.close()
	stands(t, "the old owner has ended", n, usual.knobs())
	must(t, d.Restore())
	stands(t, "restored", n, before)

	put(t, n, usual.knobs()) // by an administrator
	w.store, err = createStore(n.records)
	must(t, err)
	must(t, w.store.write(old.name, old.rec))
	old.file, err = w.store.hold(old.name)
	must(t, err)
	_, err = w.restoreAll([]held{old})
	must(t, err)
	w.close()
	stands(t, "an old owner alone has ended", n, usual.knobs())
	checkFiles(t, n, 0)
}

// Records of other interfaces are left alone, but for those of another boot.
func TestRecordsOfOthers(t *testing.T) {
	_, n := napiPair(t, 1)
	must(t, os.MkdirAll(n.records[0], 0o700))
	who, err := n.identity()
	must(t, err)
	write := func(f func(*identity)) string {
		rec := record{Version: recordVersion, identity: who, NAPI: 9000}
		f(&rec.identity)
		b, err := rec.encode()
		must(t, err)
		name := filepath.Join(n.records[0], rec.file(9000))
		must(t, os.WriteFile(name, b, 0o600))
		return name
	}
	stays := []string{
		write(func(id *identity) { id.Index += 1000 }),
		write(func(id *identity) { id.Namespace = "c99999999" }),
	}
	goes := write(func(id *identity) { id.Index, id.Boot = 3000, "another" })
	must(t, deferred(t, n, Deferral{}).Restore())
	for _, name := range stays {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(goes); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a record of another boot: %v", err)
	}
}

// watchedAccess calls a function before each change.
type watchedAccess struct {
	knobAccess
	look func(napi uint32) error
}

func (a watchedAccess) set(napi uint32, v knobs) error {
	if err := a.look(napi); err != nil {
		return err
	}
	return a.knobAccess.set(napi, v)
}

// A crash may come at any time: when something is changed, the record of what was
// there is in its place and has an owner. A change that fails leaves no record.
func TestRecordComesFirst(t *testing.T) {
	_, n := napiPair(t, 1)
	put(t, n, before)
	who, err := n.identity()
	must(t, err)
	s, err := createStore(n.records)
	must(t, err)
	w := &workshop{nic: n, store: s, who: who}
	defer w.close()
	targets, err := n.access().targets(nil)
	must(t, err)
	var failure error
	access := watchedAccess{n.access(), func(napi uint32) error {
		rec, err := s.read(who.file(napi))
		if err != nil || rec.Old != before || rec.New != usual.knobs() || rec.PID != os.Getpid() {
			t.Errorf("record %+v, %v", rec, err)
		}
		if held, err := s.held(who.file(napi)); err != nil || !held {
			t.Errorf("held %t, %v", held, err)
		}
		return failure
	}}
	h, _, err := w.deferOne(access, targets[0], usual.knobs())
	must(t, err)
	left, err := w.restoreAll([]held{h})
	if err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	failure = unix.EPERM
	if _, _, err := w.deferOne(access, targets[0], usual.knobs()); !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
	stands(t, "at the end", n, before)
	checkFiles(t, n, 0)
}
