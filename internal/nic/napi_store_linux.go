// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// store is a folder of records that is locked: one process at a time reads, decides
// and changes. It is open for the few milliseconds that this takes.
//
//	/run/xdpath/lock                     exclusive while a store is open
//	/run/xdpath/napi-c1-4-8193.json      one record; its owners hold a shared lock on it
//
// The locks are flock's, which end with the process, whatever ends it. A record that
// nobody holds was left by a crash. Written is by rename, always.
type store struct {
	dir  string
	root *os.Root
	lock *os.File
}

const (
	lockName = "lock"
	// lockWait bounds the wait for another process, which changes settings
	// meanwhile; lockPoll is the pause between two tries, for flock has no time limit.
	lockWait = 10 * time.Second
	lockPoll = time.Millisecond
)

// recordDirs are the folders that records may be in, best first. /run is emptied by
// a boot, as the settings are. Each user has a folder of his own in the other one.
func recordDirs() []string {
	return []string{"/run/xdpath", filepath.Join(os.TempDir(), fmt.Sprintf("xdpath-%d", os.Geteuid()))}
}

// createStore opens the first of the folders that can be had, and makes it if needed.
func createStore(dirs []string) (*store, error) {
	var errs []error
	for _, dir := range dirs {
		err := os.Mkdir(dir, 0o700)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			errs = append(errs, err)
			continue
		}
		s, err := openStore(dir)
		if err == nil {
			return s, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("no folder for the record of the old setting: %w", errors.Join(errs...))
}

// openStore opens a folder that exists, and waits for its lock.
func openStore(dir string) (*store, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	s := &store{dir: dir, root: root}
	if err := ownFolder(dir, root); err != nil {
		return nil, errors.Join(err, s.close())
	}
	if s.lock, err = root.OpenFile(lockName, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, errors.Join(err, s.close())
	}
	for deadline := time.Now().Add(lockWait); ; time.Sleep(lockPoll) {
		err := flock(s.lock, unix.LOCK_EX)
		if err == nil {
			return s, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Now().After(deadline) {
			err = fmt.Errorf("lock %s (another process is in it; see fuser): %w", filepath.Join(dir, lockName), err)
			return nil, errors.Join(err, s.close())
		}
	}
}

// ownFolder refuses a folder that somebody else may write to: its records decide
// what is written to an interface.
func ownFolder(dir string, root *os.Root) error {
	named, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	opened, err := root.Stat(".")
	if err != nil {
		return err
	}
	st, ok := opened.Sys().(*syscall.Stat_t)
	if !ok || !os.SameFile(named, opened) || int(st.Uid) != os.Geteuid() || opened.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("folder %s is a link, or others may write to it; remove it: %w", dir, fs.ErrPermission)
	}
	return nil
}

// flock tries once. The lock belongs to the open file, so that two of one process
// exclude each other too.
func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB); err != unix.EINTR {
			return err
		}
	}
}

// unlock gives up a lock by name: a descriptor that a child process inherited in the
// moment between fork and exec would keep it if the file was only closed.
func unlock(f *os.File) error {
	return errors.Join(flock(f, unix.LOCK_UN), f.Close())
}

func (s *store) close() error {
	var err error
	if s.lock != nil {
		err = unlock(s.lock)
	}
	return errors.Join(err, s.root.Close())
}

// names lists the records.
func (s *store) names() ([]string, error) {
	entries, err := fs.ReadDir(s.root.FS(), ".")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() && strings.HasPrefix(e.Name(), filePrefix) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// read reads a record. One that is not there is fs.ErrNotExist, and one that is no
// record errGarbage.
func (s *store) read(name string) (record, error) {
	f, err := s.root.Open(name)
	if err != nil {
		return record{}, err
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, maxRecord+1))
	if err != nil {
		return record{}, err
	}
	return decodeRecord(b)
}

// write puts a record in its place, at once and whole. It needs no sync: what a
// power failure would lose is the setting too.
func (s *store) write(name string, r record) error {
	b, err := r.encode()
	if err != nil {
		return err
	}
	part := lockName + ".new" // one at a time, and not listed as a record
	if err := s.root.WriteFile(part, b, 0o600); err != nil {
		return err
	}
	return s.root.Rename(part, name)
}

// remove removes a record; one that is gone is as good.
func (s *store) remove(name string) error {
	if err := s.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// hold makes the caller one of the owners of a record, until unlock or its death.
func (s *store) hold(name string) (*os.File, error) {
	f, err := s.root.Open(name)
	if err != nil {
		return nil, err
	}
	if err := flock(f, unix.LOCK_SH); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// held tells whether a record has a living owner.
func (s *store) held(name string) (bool, error) {
	f, err := s.root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = flock(f, unix.LOCK_EX)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, f.Close()
	}
	return false, errors.Join(err, unlock(f))
}
