// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// workshop is an open store with the interface that is worked on. While it is open,
// no other process changes a setting whose record is in the folder.
type workshop struct {
	nic   *NIC
	store *store
	who   identity
}

// close has nothing to lose: what was written is in its place, and the lock ends with
// the descriptor.
func (w *workshop) close() { _ = w.store.close() }

// deferOne sets the values of one target and makes this process an owner of them.
// The order holds against a crash at any point: record, lock, change.
func (w *workshop) deferOne(access knobAccess, t target, v knobs) (held, Setting, error) {
	h := held{name: w.who.file(t.napi)}
	rec, joined, err := w.living(h.name, v)
	if err == nil && !joined {
		rec, err = w.record(access, t, v)
	}
	if err != nil {
		return held{}, Setting{}, err
	}
	h.rec = rec
	if h.file, err = w.store.hold(h.name); err != nil {
		return held{}, Setting{}, fmt.Errorf("hold its record: %w", err)
	}
	// Set even if joined: somebody else may have changed it meanwhile.
	if err := access.set(t.napi, v); err != nil {
		_, undo := w.restoreAll([]held{h})
		return held{}, Setting{}, errors.Join(err, undo)
	}
	return h, Setting{NAPI: int(t.napi), Queues: t.queues, Old: rec.Old.deferral(), New: v.deferral(), Joined: joined}, nil
}

// living returns the record of a target that somebody holds with the same values.
func (w *workshop) living(name string, v knobs) (rec record, ok bool, err error) {
	alive, err := w.store.held(name)
	if err != nil || !alive {
		return record{}, false, err
	}
	rec, err = w.store.read(name)
	if err != nil {
		return record{}, false, fmt.Errorf("it is deferred by another process, whose record %s cannot be read: %w", filepath.Join(w.store.dir, name), err)
	}
	if !rec.sameInterface(w.who) {
		return record{}, false, nil // its interface is gone, which the owner has not noticed
	}
	if rec.New != v {
		return record{}, false, fmt.Errorf("%s has deferred it with %v: ask for the same, or end that first: %w", rec.owner(), rec.New.deferral(), unix.EBUSY)
	}
	return rec, true, nil
}

// record reads what stands in a target and writes it down.
func (w *workshop) record(access knobAccess, t target, v knobs) (record, error) {
	old, err := access.get(t.napi)
	if err != nil {
		return record{}, err
	}
	rec := record{Version: recordVersion, identity: w.who, NAPI: t.napi, Old: old, New: v}
	if err := w.store.write(w.who.file(t.napi), rec); err != nil {
		return record{}, fmt.Errorf("write its record: %w", err)
	}
	return rec, nil
}

// restoreAll gives up settings and returns what is still held because of an error.
// An interface that is down ends the holding too: it may be up under another owner.
func (w *workshop) restoreAll(all []held) (left []held, err error) {
	var errs []error
	for _, h := range all {
		err := w.restoreOne(h)
		if err == nil {
			continue
		}
		errs = append(errs, fmt.Errorf("%v: %w", target{napi: h.rec.NAPI}, err))
		if errors.Is(err, unix.ENETDOWN) {
			continue
		}
		if h.file, err = w.store.hold(h.name); err == nil {
			left = append(left, h)
		}
	}
	return left, errors.Join(errs...)
}

// restoreOne gives up the lock, and as the last owner puts the old values back.
func (w *workshop) restoreOne(h held) error {
	if err := unlock(h.file); err != nil {
		return err
	}
	others, err := w.store.held(h.name)
	if err != nil || others {
		return err
	}
	if h.rec.sameInterface(w.who) {
		if err := w.putBack(h.rec); err != nil {
			return err
		}
	}
	return w.store.remove(h.name)
}

// putBack writes the old values, unless they are gone with what had them.
func (w *workshop) putBack(rec record) error {
	access := w.nic.accessTo(rec.NAPI)
	// Read first: what is not ours any more is not written, and a record whose change
	// never came to be needs no right to write.
	now, err := access.get(rec.NAPI)
	if err == nil {
		if old := rec.back(now); old != now {
			err = access.set(rec.NAPI, old)
		}
	}
	switch {
	case errors.Is(err, ErrNoInterface):
		return nil
	case errors.Is(err, errNoNAPI):
		return w.mayComeBack()
	}
	return err
}

// mayComeBack tells whether a NAPI that is not there may be there again: drivers with
// a kept configuration take it down with the interface, and bring it back with its
// number and values.
func (w *workshop) mayComeBack() error {
	l, err := w.nic.ask.link(w.nic.index, "")
	if errors.Is(err, ErrNoInterface) {
		return nil
	}
	if err == nil && !l.Up {
		err = fmt.Errorf("the interface is down; the next start when it is up restores: %w", unix.ENETDOWN)
	}
	return err
}

// restoreStale puts back what records without a living owner tell, and removes
// records that mean nothing: of another boot, namespace or interface, and garbage.
func (w *workshop) restoreStale() error {
	names, err := w.store.names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := w.restoreFile(name); err != nil {
			return fmt.Errorf("restore what %s tells: %w", filepath.Join(w.store.dir, name), err)
		}
	}
	return nil
}

// restoreFile decides about one record. A record of another interface is that
// interface's business, and garbage under its name too.
func (w *workshop) restoreFile(name string) error {
	rec, err := w.store.read(name)
	garbage := errors.Is(err, errGarbage)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil && !garbage:
		return err
	case !strings.HasPrefix(name, w.who.prefix()):
		if !garbage && rec.Boot != w.who.Boot {
			return w.store.remove(name)
		}
		return nil // another interface's
	}
	alive, err := w.store.held(name)
	if err != nil || alive {
		return err
	}
	if !garbage && rec.sameInterface(w.who) && rec.file(rec.NAPI) == name {
		err := w.putBack(rec)
		if errors.Is(err, unix.ENETDOWN) {
			return nil // later
		}
		if err != nil {
			return err
		}
	}
	return w.store.remove(name)
}
