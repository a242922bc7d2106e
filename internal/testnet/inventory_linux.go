// SPDX-License-Identifier: MIT

package testnet

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"runtime/metrics"
	"strings"
)

// descriptors lists the open descriptors with what they are open on. A descriptor
// that was closed and opened on something else is another one.
func descriptors() (map[string]bool, error) {
	dir, err := os.Open("/proc/self/fd")
	if err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(-1)
	if err := errors.Join(err, dir.Close()); err != nil {
		return nil, err
	}
	fds := make(map[string]bool)
	for _, name := range names {
		target, err := os.Readlink("/proc/self/fd/" + name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // dir itself, or closed meanwhile by somebody else
		}
		if err != nil {
			return nil, err
		}
		fds[name+" "+target] = true
	}
	return fds, nil
}

// goroutines returns the stacks of the goroutines that tests may have started.
func goroutines() map[string]string {
	buf := make([]byte, 1<<16)
	n := runtime.Stack(buf, true)
	for n == len(buf) {
		buf = make([]byte, 2*len(buf))
		n = runtime.Stack(buf, true)
	}
	found := make(map[string]string)
	for _, stack := range strings.Split(string(buf[:n]), "\n\n") {
		if !ownGoroutine(stack) {
			continue
		}
		// goroutine 18 [chan receive]:
		id, _, _ := strings.Cut(stack, " [")
		found[id] = stack
	}
	return found
}

// ownGoroutine leaves out the goroutines that the standard library starts and
// keeps: those of the test runner, and the one that serves signals.
func ownGoroutine(stack string) bool {
	for _, theirs := range []string{"created by testing.", "testing.(*M).", "os/signal.loop", "runtime.ensureSigM"} {
		if strings.Contains(stack, theirs) {
			return false
		}
	}
	return true
}

// anonymousSlack is how much nameless memory may come and go unreported: the
// runtime's own tables grow, and its account of them is a little behind.
const anonymousSlack = 512 << 10

// mappings sums up /proc/self/maps. Named mappings (rings and other kernel
// objects, shared memory, files) are summed by name. Of the nameless private
// memory, what Go's runtime accounts for as its own is subtracted. Where C code
// runs too (the race detector, cgo), its thread stacks and arenas come and go, and
// the nameless part is not told.
func mappings() (named map[string]int64, anonymous int64, err error) {
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil, 0, err
	}
	named = make(map[string]int64)
	for line := range strings.Lines(string(text)) {
		size, private, name, err := mapping(line)
		switch {
		case err != nil:
			return nil, 0, err
		case name == "" && private:
			anonymous += size
		case name == "" || strings.HasPrefix(name, "["): // reserved; heap, stack, vdso
		default:
			named[name] += size
		}
	}
	for name := range named {
		if strings.Contains(name, "/libc") || strings.Contains(name, "/ld-") {
			return named, 0, nil
		}
	}
	return named, anonymous - goMemory(), nil
}

// mapping parses one line of proc_pid_maps(5):
//
//	7f0c00000000-7f0c00100000 rw-p 00000000 00:0a 1234   anon_inode:[xdp]
//
// private tells memory that can be written and is not shared.
func mapping(line string) (size int64, private bool, name string, err error) {
	var from, to, offset, inode uint64
	var perm, dev string
	line = strings.TrimSuffix(line, "\n")
	n, err := fmt.Sscanf(line, "%x-%x %s %x %s %d", &from, &to, &perm, &offset, &dev, &inode)
	if err != nil || n != 6 {
		return 0, false, "", fmt.Errorf("line %q of maps: %w", line, err)
	}
	// The name is the rest after five columns, and may hold spaces.
	rest := line
	for range 5 {
		_, rest, _ = strings.Cut(rest, " ")
		rest = strings.TrimLeft(rest, " ")
	}
	return int64(to - from), perm == "rw-p", rest, nil
}

// goMemory is all memory that the Go runtime has mapped for reading and writing.
func goMemory() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}
