// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/testnet"
)

// without runs f on a thread that has given capabilities up, and throws the
// thread away.
func without(t *testing.T, caps []int, f func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked
		hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var data [2]unix.CapUserData
		err := unix.Capget(&hdr, &data[0])
		for _, c := range caps {
			data[c/32].Effective &^= 1 << (c % 32)
		}
		if err == nil {
			err = unix.Capset(&hdr, &data[0])
		}
		if err == nil {
			f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestRights(t *testing.T) {
	testnet.Require(t) // to have rights to give up
	tests := []struct {
		drop []int
		want []string // none: it may run
	}{
		{nil, nil},
		{[]int{unix.CAP_SYS_ADMIN}, []string{"CAP_SYS_ADMIN (to make network namespaces)"}},
		{[]int{unix.CAP_NET_ADMIN}, []string{"CAP_NET_ADMIN (to make a veth pair)"}},
		{[]int{unix.CAP_NET_ADMIN, unix.CAP_SYS_ADMIN}, []string{"CAP_SYS_ADMIN", " and CAP_NET_ADMIN"}},
		// Only some paths need these, and say so in their rows.
		{[]int{unix.CAP_NET_RAW, unix.CAP_BPF}, nil},
	}
	for _, tt := range tests {
		without(t, tt.drop, func() {
			err := checkRights()
			if (err == nil) != (tt.want == nil) {
				t.Errorf("without %v: %v", tt.drop, err)
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) || !strings.Contains(err.Error(), "sudo") {
					t.Errorf("without %v: %v, want %q in it", tt.drop, err, w)
				}
			}
		})
	}
}

// TestRowsWithoutRights runs with the rights to make the network, but not those
// that AF_XDP and BPF need: rows with reasons, and the others as ever.
func TestRowsWithoutRights(t *testing.T) {
	testnet.Require(t)
	for name, bounds := range map[string]int{"CAP_NET_RAW": unix.CAP_NET_RAW, "none": -1} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "out.json")
			cmd := program("-paths", "mmsg,asavie,xdp", "-sizes", "64", "-duration", "20ms", "-runs", "1", "-json", file)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			without(t, nil, func() {
				// The bounding set is what root gets at most when it starts a
				// program.
				if bounds >= 0 {
					if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(bounds), 0, 0, 0); err != nil {
						t.Error(err)
					}
				}
				if err := cmd.Run(); err != nil {
					t.Errorf("%v: %s", err, stderr.String())
				}
			})
			doc := read(t, file)
			if bounds < 0 {
				if len(doc.Results) != 3 {
					t.Errorf("skipped %+v", doc.Env.Skipped)
				}
				return
			}
			if len(doc.Results) != 1 || doc.Results[0].Path != "mmsg" || len(doc.Env.Skipped) != 2 {
				t.Fatalf("results %+v, skipped %+v", doc.Results, doc.Env.Skipped)
			}
			for _, s := range doc.Env.Skipped {
				if !strings.Contains(s.Reason, "operation not permitted") || s.Path == "xdp" && !strings.Contains(s.Reason, name) {
					t.Errorf("%s: %s", s.Path, s.Reason)
				}
			}
		})
	}
}
