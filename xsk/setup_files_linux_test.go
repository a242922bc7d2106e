// SPDX-License-Identifier: MIT

package xsk

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/testnet"
)

// A process that is out of descriptors is told so at whatever step it happens,
// and loses none.
func TestSetupDescriptors(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{})
	startChild(t, pair.B.NS, user{}, "files", pair.B.Name).passes()
}

func playFiles(t *testing.T, args []string) {
	testnet.Leaks(t)
	lim := unix.Rlimit{Cur: 64, Max: 64}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
		t.Fatal(err)
	}
	var files []*os.File
	for {
		f, err := os.Open(os.DevNull)
		if err != nil {
			break
		}
		files = append(files, f)
	}
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	opened := false
	for spare := 0; !opened; spare++ {
		s, err := Open(Config{Interface: args[0]})
		if opened = err == nil; opened {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if spare == 0 {
				t.Error("opened without a descriptor")
			}
		} else {
			refused(t, err, unix.EMFILE, args[0])
			if errors.Is(err, ErrNoInterface) {
				t.Errorf("%d to spare: %q speaks of a missing interface", spare, err)
			}
		}
		last := len(files) - 1
		files[last].Close()
		files = files[:last]
	}
}

// What tells a driver that takes nothing yet from an interface that is gone.
func TestHasIndex(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	fd := -1
	if err := pair.A.NS.Do(func() error { fd = asker(); return nil }); err != nil || fd < 0 {
		t.Fatal(fd, err)
	}
	defer unix.Close(fd)
	if !hasIndex(fd, pair.A.Index) {
		t.Error("an interface that is there is not")
	}
	if err := pair.A.Delete(); err != nil {
		t.Fatal(err)
	}
	if hasIndex(fd, pair.A.Index) {
		t.Error("a deleted interface is there")
	}
	if !hasIndex(-1, 1) {
		t.Error("gone without being asked for")
	}
}
