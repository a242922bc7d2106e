// SPDX-License-Identifier: MIT

package check

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseConfig(t *testing.T) {
	got, err := parseConfig(strings.NewReader("#\n# CONFIG_VETH is not set\nCONFIG_XDP_SOCKETS=y\nCONFIG_NET_NS=m\nCONFIG_LOCALVERSION=\"-x\"\nnonsense\n"))
	if err != nil || len(got) != len(options) || got["CONFIG_XDP_SOCKETS"] != "y" || got["CONFIG_NET_NS"] != "m" || got["CONFIG_VETH"] != "n" {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestParseMemory(t *testing.T) {
	total, free, size := parseMemory("MemTotal: 1 kB\nHugePages_Total:       8\nHugePages_Free:        x\nHugePages_Free:        3\nHugepagesize:       2048 kB\n\nodd\n")
	if total != 8 || free != 3 || size != 2<<20 {
		t.Errorf("got %d, %d, %d", total, free, size)
	}
	if total, free, size = parseMemory(""); total != 0 || free != 0 || size != 0 {
		t.Errorf("nothing: got %d, %d, %d", total, free, size)
	}
}

func TestParseProtocols(t *testing.T) {
	const head = "protocol  size sockets  memory press maxhdr\n"
	for text, want := range map[string]int{
		head + "XDP       1088      3      -1   NI       0\nTCP  1 9\n": 3, head + "TCP 1 9\n": Unknown, "": Unknown, head + "XDP 1088 many\n": Unknown,
	} {
		if got := parseProtocols(text); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
}

func TestParseMaps(t *testing.T) {
	got, err := parseMaps(strings.NewReader(`55d0-55d1 r--p 00000000 08:01 123  /bin/sink
7f00-7f01 rw-s 100000000 00:08 4711                       socket:[4711]
7f02-7f03 rw-s 180000000 00:08 4711                       socket:[4711]
7f02-7f03 rw-s 180000000 00:08 4712                       socket:[4712]
7f04-7f05 rw-s 00000000 00:08 99                          socket:[99]
7f06-7f07 rw-s 100000000 08:01 98                         /a/file
7f08-7f09 rw-p 00000000 00:00 0
7f08-7f09 rw-p xyz 00:00 0 socket:[5]
`))
	if d := cmp.Diff([]uint64{4711, 4712}, got); d != "" || err != nil {
		t.Errorf("%s%v", d, err)
	}
}

func TestParseSocketLink(t *testing.T) {
	if n, ok := parseSocketLink("socket:[4711]"); n != 4711 || !ok {
		t.Errorf("got %d, %t", n, ok)
	}
	for _, target := range []string{"/dev/null", "socket:[x]", "anon_inode:[xdp]"} {
		if n, ok := parseSocketLink(target); ok {
			t.Errorf("%s: got %d", target, n)
		}
	}
}

const interruptsText = `            CPU0       CPU1
  37:          0          0  PCI-MSIX-0000:00:03.0   0-edge      virtio2-config
  38:          0      11371  PCI-MSIX-0000:00:03.0   1-edge      virtio2-input.0
  40:       7491          0  PCI-MSIX-0000:00:04.0   1-edge      eth1-rx-0
  41:       7491          0  GIC-0  74 Level     eth1
  42:       7491          0  GIC-0  75 Level     eth10
 NMI:          0          0   Non-maskable interrupts
 odd
`

func TestParseInterrupts(t *testing.T) {
	for name, tc := range map[string]struct {
		numbers   []int
		bus, name string
		want      []IRQ
	}{
		"bus":     {nil, "0000:00:03.0", "eth0", []IRQ{{Number: 37, Name: "virtio2-config"}, {Number: 38, Name: "virtio2-input.0"}}},
		"name":    {nil, "", "eth1", []IRQ{{Number: 40, Name: "eth1-rx-0"}, {Number: 41, Name: "eth1"}}},
		"told":    {[]int{42}, "platform", "eth7", []IRQ{{Number: 42, Name: "eth10"}}},
		"nothing": {nil, "", "veth0", nil},
	} {
		if d := cmp.Diff(tc.want, parseInterrupts(interruptsText, tc.numbers, tc.bus, tc.name)); d != "" {
			t.Errorf("%s:\n%s", name, d)
		}
	}
	if n := parseOnline(interruptsText); n != 2 {
		t.Errorf("%d processors", n)
	}
}

// diagAnswer is a struct xdp_diag_msg with attributes.
func diagAnswer(inode uint32, attrs ...[]byte) []byte {
	b := make([]byte, diagMessage)
	b[0] = 44 // AF_XDP
	binary.NativeEndian.PutUint32(b[4:], inode)
	for _, a := range attrs {
		b = append(b, a...)
	}
	return b
}

func diagAttr(typ uint16, words ...uint32) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(4+4*len(words)))
	b = binary.NativeEndian.AppendUint16(b, typ)
	for _, w := range words {
		b = binary.NativeEndian.AppendUint32(b, w)
	}
	return b
}

func TestParseDiag(t *testing.T) {
	// size (two words), id, pages, chunk size, headroom, ifindex, queue, flags, refs
	area := diagAttr(diagUMEM, 1<<20, 0, 1, 256, 2048, 0, 5, 3, flagZeroCopy, 1)
	for name, tc := range map[string]struct {
		message []byte
		want    diagSocket
		bad     bool
	}{
		"zero-copy": {diagAnswer(4711, diagAttr(2, 1000), diagAttr(diagInfo, 5, 3), area), diagSocket{4711, 5, 3, true}, false},
		"copy":      {diagAnswer(4711, diagAttr(diagInfo, 5, 3)), diagSocket{4711, 5, 3, false}, false},
		"unbound":   {diagAnswer(4711), diagSocket{inode: 4711}, false},
		"cut":       {diagAnswer(4711, diagAttr(diagInfo, 5, 3)[:8]), diagSocket{}, true},
		"short":     {make([]byte, 15), diagSocket{}, true},
		"endless":   {diagAnswer(1, make([]byte, 4)), diagSocket{}, true},
	} {
		got, err := parseDiag(tc.message)
		if tc.bad != errors.Is(err, errDiag) || !tc.bad && got != tc.want {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

// FuzzParse feeds everything that is read from the kernel with the same bytes.
func FuzzParse(f *testing.F) {
	f.Add(diagAnswer(4711, diagAttr(diagInfo, 5, 3)))
	f.Add([]byte(interruptsText))
	f.Add([]byte("7f00-7f01 rw-s 100000000 00:08 4711 socket:[4711]\nXDP 1088 3\nHugePages_Total: 8\n6.1.0-18"))
	f.Fuzz(func(t *testing.T, b []byte) {
		text := string(b)
		if s, err := parseDiag(b); err == nil && (s.ifindex < 0 || s.queue < 0) {
			t.Errorf("socket %+v", s)
		}
		if _, err := ParseVersion(text); err == nil && strings.TrimLeft(text, ".0123456789") == text {
			t.Errorf("a version of %q", text)
		}
		if n := parseProtocols(text); n < Unknown {
			t.Errorf("%d sockets", n)
		}
		for _, i := range parseInterrupts(text, []int{38}, "0000:00:03.0", "eth1") {
			if i.Name == "" {
				t.Errorf("interrupt %+v", i)
			}
		}
		_, _ = parseMaps(strings.NewReader(text))
		_, _ = parseConfig(strings.NewReader(text))
		_, _, _ = parseMemory(text)
		_, _ = parseSocketLink(text)
	})
}
