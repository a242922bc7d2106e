// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/testnet"
)

func openTestStore(t *testing.T, dir string) *store {
	t.Helper()
	s, err := createStore([]string{dir})
	must(t, err)
	t.Cleanup(func() { _ = s.close() })
	return s
}

// A folder that somebody else could write to is refused: what is in it would be
// written to an interface. The next folder is taken.
func TestFolders(t *testing.T) {
	testnet.Require(t) // to give a folder away
	base := t.TempDir()
	at := func(name string) string { return filepath.Join(base, name) }
	must(t, os.Mkdir(at("open"), 0o700))
	must(t, os.Chmod(at("open"), 0o722))
	must(t, os.Mkdir(at("target"), 0o700))
	must(t, os.Symlink(at("target"), at("link")))
	must(t, os.WriteFile(at("file"), nil, 0o600))
	bad := []string{at("missing/folder"), at("open"), at("link"), at("file")}
	if os.Geteuid() == 0 {
		must(t, os.Mkdir(at("foreign"), 0o700))
		must(t, os.Chown(at("foreign"), 65534, 65534))
		bad = append(bad, at("foreign"))
	}
	for _, dir := range bad {
		if s, err := createStore([]string{dir}); err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: got %v, %v", dir, s, err)
		}
	}
	if left, err := os.ReadDir(at("target")); err != nil || len(left) > 0 {
		t.Errorf("through the link: %v, %v", left, err)
	}
	s, err := createStore(append(bad, at("good")))
	must(t, err)
	if s.dir != at("good") {
		t.Errorf("took %s", s.dir)
	}
	must(t, s.close())
}

// A record appears whole, is replaced whole, and has owners while they hold it.
func TestStore(t *testing.T) {
	s := openTestStore(t, filepath.Join(t.TempDir(), "records"))
	const name = filePrefix + "x.json"
	if _, err := s.read(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing there: %v", err)
	}
	alive := func(step string, want bool) {
		t.Helper()
		if got, err := s.held(name); err != nil || got != want {
			t.Errorf("%s: held %t, %v", step, got, err)
		}
	}
	alive("nothing there", false)
	rec := record{Version: recordVersion, identity: identity{Boot: "b", Namespace: "c1", Index: 2, Name: "n", PID: 1}}
	must(t, s.write(name, rec))
	alive("written", false)
	one, err := s.hold(name)
	must(t, err)
	two, err := s.hold(name)
	must(t, err)
	alive("two owners", true)
	must(t, unlock(one))
	alive("one owner", true)
	rec.NAPI = 7
	must(t, s.write(name, rec))
	alive("replaced", false)
	must(t, unlock(two))
	three, err := s.hold(name)
	must(t, err)
	inherited, err := unix.Dup(int(three.Fd())) // as a child has it between fork and exec
	must(t, err)
	alive("a new owner", true)
	must(t, unlock(three))
	alive("its descriptor lives on", false)
	must(t, unix.Close(inherited))
	if got, err := s.read(name); err != nil || got != rec {
		t.Errorf("got %+v, %v", got, err)
	}
	must(t, os.WriteFile(filepath.Join(s.dir, "other"), nil, 0o600))
	if names, err := s.names(); err != nil || len(names) != 1 || names[0] != name {
		t.Errorf("got %q, %v", names, err)
	}
	must(t, s.remove(name))
	must(t, s.remove(name))
	alive("removed", false)
}

// While a store is open nobody else opens it, in this process neither.
func TestStoreExcludes(t *testing.T) {
	s := openTestStore(t, filepath.Join(t.TempDir(), "records"))
	f, err := s.root.OpenFile(lockName, os.O_RDWR, 0)
	must(t, err)
	if err := flock(f, unix.LOCK_EX); !errors.Is(err, unix.EWOULDBLOCK) {
		t.Errorf("locked twice: %v", err)
	}
	opened := make(chan error)
	go func() {
		other, err := openStore(s.dir)
		if err == nil {
			err = other.close()
		}
		opened <- err
	}()
	must(t, s.close())
	must(t, <-opened)
	must(t, f.Close())
}

func TestStartTime(t *testing.T) {
	words := "1 (a) b) (c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20"
	for text, want := range map[string]uint64{
		words: 4711,
		"":    0,
		"1 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18": 0,
		strings.Replace(words, "4711", "-1", 1):                0,
	} {
		got, err := parseStart([]byte(text))
		if got != want || (err != nil) != (want == 0) {
			t.Errorf("%q: got %d, %v", text, got, err)
		}
	}
	mine, err := startTime(os.Getpid())
	must(t, err)
	first, err := startTime(1)
	if err == nil && first > mine {
		t.Errorf("process 1 started at %d, after this one at %d", first, mine)
	}
	rec := record{identity: identity{PID: os.Getpid(), Start: mine}}
	if !strings.HasPrefix(rec.owner(), "process ") {
		t.Errorf("got %q", rec.owner())
	}
	rec.Start++ // an earlier process with this one's number
	if !strings.HasPrefix(rec.owner(), "another process ") {
		t.Errorf("got %q", rec.owner())
	}
}
