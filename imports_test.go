// SPDX-License-Identifier: MIT

package xdpath

import (
	"slices"
	"strings"
	"testing"
)

const module = "github.com/xdpath/xdpath"

// layers says which folders of ours a folder may import. The longest name that a
// package's folder begins with counts; a folder may import itself.
//
//	examples, bench --> udp --> xsk --> umem
//	                     |       +----> internal/ring, internal/wait
//	                     +----> bpf
//	                     +----> internal/...
//
// What umem, xsk and bpf do not import is the point: they know nothing of UDP
// endpoints, and xsk and bpf nothing of each other.
var layers = map[string][]string{
	".":    {},
	"umem": {},
	"bpf":  {},
	"xsk":  {"umem", "internal/ring", "internal/wait"},
	"udp":  {"xsk", "umem", "bpf", "internal"},

	"internal":         {"internal"},
	"internal/ring":    {},
	"internal/wait":    {},
	"internal/packet":  {},
	"internal/nic":     {},
	"internal/testnet": {},

	".ci": {},
	// Examples can be copied out of here: no internal package.
	"examples": {"udp", "xsk", "umem", "bpf"},
	"bench":    {"udp", "xsk", "umem", "bpf", "internal"},
}

// foreign says which modules of others the folders may import beside the standard
// library: what an application gets that embeds them.
var foreign = map[string][]string{
	".":               {},
	"umem":            {"golang.org/x/sys"},
	"xsk":             {"golang.org/x/sys"},
	"bpf":             {"golang.org/x/sys", "github.com/cilium/ebpf", "github.com/vishvananda/netlink"},
	"udp":             {"golang.org/x/sys"},
	"internal":        {"golang.org/x/sys", "github.com/cilium/ebpf", "github.com/vishvananda/netlink", "github.com/vishvananda/netns", "github.com/safchain/ethtool"},
	"internal/packet": {},
	"internal/ring":   {},
	"internal/wait":   {"golang.org/x/sys"},
	"examples":        {},
	// It makes a private network, and compares with sendmmsg and recvmmsg.
	"examples/camera/frames": {"golang.org/x/net", "github.com/vishvananda/netlink", "github.com/vishvananda/netns"},
	".ci":                    {},
	"bench": {
		"golang.org/x/sys", "golang.org/x/net", "golang.org/x/perf", "github.com/cilium/ebpf", "github.com/vishvananda/netlink", "github.com/safchain/ethtool",
		"github.com/HdrHistogram/hdrhistogram-go", "github.com/asavie/xdp",
	},
	// Modules of their own: one is wireguard-go, the other compares checksums with
	// those of others.
	"examples/wireguard":      {"golang.zx2c4.com/wireguard"},
	"internal/packet/compare": {"golang.org/x/sys", "gvisor.dev/gvisor", "golang.zx2c4.com/wireguard"},
}

// within tells whether a folder or import path is another one or beneath it.
func within(name, folder string) bool {
	return folder == "." || name == folder || strings.HasPrefix(name, folder+"/")
}

// rule finds what a table says about a folder.
func rule(t *testing.T, table map[string][]string, dir string) (folder string, allowed []string) {
	t.Helper()
	for f := range table {
		if (f == dir || f != "." && within(dir, f)) && len(f) > len(folder) {
			folder = f
		}
	}
	if folder == "" {
		t.Fatalf("package %s: no rule says what it may import; the tables of this test have one for each", dir)
	}
	return folder, table[folder]
}

func TestImportDirection(t *testing.T) {
	for _, s := range sources(t) {
		if s.isTest() {
			continue
		}
		folder, allowed := rule(t, layers, s.dir())
		_, others := rule(t, foreign, s.dir())
		for _, imp := range s.imports() {
			own, isOurs := strings.CutPrefix(imp, module+"/")
			in := func(f string) bool { return within(own, f) }
			switch {
			case isOurs && own == "internal/testnet" && !within(s.dir(), "bench"):
				t.Errorf("%s: imports %s, which is for tests and bench", s.name, own)
			case isOurs && folder != "." && in(folder):
			case isOurs && !slices.ContainsFunc(allowed, in):
				t.Errorf("%s: %s must not import %s", s.name, folder, own)
			case isOurs || !strings.Contains(strings.SplitN(imp, "/", 2)[0], "."):
			case !slices.ContainsFunc(others, func(m string) bool { return within(imp, m) }):
				t.Errorf("%s: %s must not import %s", s.name, folder, imp)
			}
			if imp == "testing" {
				t.Errorf("%s: imports testing outside a test", s.name)
			}
		}
	}
}

// Memory that is not Go's is cast to Go's types in one file, options are passed to
// the kernel in another. Beside them, the vectors of sendmmsg and recvmmsg, which
// golang.org/x/sys has no call for: of the bench's sockets and of the kernel lane.
// Everything else is as safe as Go is.
func TestUnsafe(t *testing.T) {
	want := []string{
		"bench/internal/sys/blocks_linux.go",
		"bench/internal/sys/mmsg_linux.go",
		"internal/lane/mmsg_linux.go",
		"internal/ring/map.go",
		"xsk/sockopt_linux.go",
	}
	var got []string
	for _, s := range sources(t) {
		nested := within(s.dir(), "internal/packet/compare")
		if !s.isTest() && !nested && slices.Contains(s.imports(), "unsafe") {
			got = append(got, s.name)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("files that import unsafe:\ngot  %q\nwant %q", got, want)
	}
}
