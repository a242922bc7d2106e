// SPDX-License-Identifier: MIT

package bpf

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/xdpath/xdpath/bpf/internal/model"
	"github.com/xdpath/xdpath/bpf/internal/vm"
)

// The objects of both byte orders, each run as on a machine of that order.
var objects = []struct {
	file     string
	object   []byte
	order    binary.ByteOrder
	programs []string
}{
	{"xdp_bpfel.o", plainLittle, binary.LittleEndian, plainObject().programs},
	{"xdp_bpfeb.o", plainBig, binary.BigEndian, plainObject().programs},
	{"xdp_meta_bpfel.o", metaLittle, binary.LittleEndian, metaObject().programs},
	{"xdp_meta_bpfeb.o", metaBig, binary.BigEndian, metaObject().programs},
}

// The committed objects are what build.sh makes of the source.
func TestObjectsMatchSource(t *testing.T) {
	if _, err := exec.LookPath("clang-14"); err != nil {
		t.Skip("clang-14 is not installed (Debian package clang-14); the committed objects are not compared")
	}
	dir := t.TempDir()
	out, err := exec.Command("sh", "build.sh", dir).CombinedOutput()
	if err != nil && strings.Contains(string(out), "is not clang version") {
		t.Skip(string(out))
	}
	if err != nil {
		t.Fatalf("build.sh: %v\n%s", err, out)
	}
	for _, o := range objects {
		built, err := os.ReadFile(filepath.Join(dir, o.file))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(built, o.object) {
			t.Errorf("%s is not what build.sh makes: run go generate ./bpf", o.file)
		}
	}
}

// Nothing of the machine it was built on, and no BTF.
func TestObjectsAreBare(t *testing.T) {
	for _, o := range objects {
		f, err := elf.NewFile(bytes.NewReader(o.object))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range f.Sections {
			if strings.HasPrefix(s.Name, ".BTF") || strings.HasPrefix(s.Name, ".debug") || s.Name == ".comment" {
				t.Errorf("%s has a section %s", o.file, s.Name)
			}
		}
		names, err := f.Section(".strtab").Data()
		if err != nil || bytes.ContainsRune(names, '/') {
			t.Errorf("%s names a path: %q, %v", o.file, names, err)
		}
	}
}

// machine loads a program of an object, with the tables of the decision tests.
func machine(t testing.TB, object []byte, order binary.ByteOrder, program string) *vm.Machine {
	t.Helper()
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(object))
	if err != nil {
		t.Fatal(err)
	}
	if spec.ByteOrder != order {
		t.Fatalf("object is %v", spec.ByteOrder)
	}
	m := &vm.Machine{Order: order, Filters: map[string]bool{}, Sockets: map[int]bool{0: true}}
	m.Load(spec.Programs[program].Instructions)
	m.Own = [][]byte{make([]byte, 8), make([]byte, 8)}
	copy(m.Own[ownMAC], target.MAC[:])
	for range model.Reasons {
		m.Counters = append(m.Counters, make([]byte, 8))
	}
	for _, f := range filters() {
		for _, key := range f.keys() {
			m.Filters[string(key[:])] = true
		}
	}
	return m
}

// Both objects decide as the model does, on any machine and without root.
func TestObjectsDecide(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for _, o := range objects {
		for _, program := range o.programs {
			t.Run(o.file+" "+program, func(t *testing.T) {
				m := machine(t, o.object, o.order, program)
				expected := modelOf(filters(), 0)
				r := rand.New(rand.NewPCG(seed, 0))
				check := func(frame []byte, queue int) {
					t.Helper()
					want := expected.Decide(frame, queue)
					before := o.order.Uint64(m.Counters[want])
					verdict, err := m.Run(frame, queue)
					if err != nil {
						t.Fatalf("%v\n%x", err, frame)
					}
					if (verdict == xdpRedirect) != (want == model.Redirected) || verdict != xdpRedirect && verdict != xdpPass {
						t.Fatalf("verdict %d, the model says %v\n%x", verdict, want, frame)
					}
					if o.order.Uint64(m.Counters[want]) != before+1 {
						t.Fatalf("counter %v did not count\n%x", want, frame)
					}
				}
				for _, c := range target.Cases() {
					frame := c.Frame.Bytes()
					for n := range len(frame) + 1 { // also what no Ethernet card delivers
						check(frame[:n], n%2)
					}
				}
				for range 5000 {
					check(target.Random(r), r.IntN(2))
				}
			})
		}
	}
}

// FuzzObjects holds the objects of both byte orders against the model.
func FuzzObjects(f *testing.F) {
	for _, c := range target.Cases() {
		f.Add(c.Frame.Bytes())
	}
	expected := modelOf(filters(), 0)
	f.Fuzz(func(t *testing.T, frame []byte) {
		want := expected.Decide(frame, 0)
		for _, o := range objects {
			m := machine(t, o.object, o.order, o.programs[0])
			verdict, err := m.Run(frame, 0)
			if err != nil {
				t.Fatal(err)
			}
			if (verdict == xdpRedirect) != (want == model.Redirected) || o.order.Uint64(m.Counters[want]) != 1 {
				t.Errorf("%s: verdict %d, the model says %v", o.file, verdict, want)
			}
		}
	})
}
