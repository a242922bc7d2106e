// SPDX-License-Identifier: MIT

package bpf

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/testnet"
)

const allFields = HasTimestamp | HasHash | HasVLAN

// What Attach obtains with metadata on veth, by mode, and what it says about it.
func TestMetadataAttach(t *testing.T) {
	testnet.Leaks(t)
	const over = "numerical result out of range"
	for _, c := range []struct {
		name    string
		cfg     Config
		mtu     int
		netlink bool
		mode    Mode
		fields  Fields
		trace   string
	}{
		{"off", Config{}, 0, false, Native, 0, "native frags: ok"},
		{"auto", Config{Metadata: MetadataAuto}, 0, false, Native, allFields, "native frags with metadata: ok"},
		{"auto, by netlink", Config{Metadata: MetadataAuto}, 0, true, Native, allFields, "native frags with metadata: ok"},
		{"require", Config{Metadata: MetadataRequire, Mode: Native}, 0, false, Native, allFields, "native frags with metadata: ok"},
		{"no frags", Config{Metadata: MetadataRequire, NoFrags: true}, 0, false, Native, allFields, "native with metadata: ok"},
		{"jumbo", Config{Metadata: MetadataRequire}, 9000, false, Native, allFields, "native frags with metadata: ok"},
		{"jumbo, no frags", Config{Metadata: MetadataAuto, NoFrags: true}, 9000, false, Generic, 0,
			"native with metadata: " + over + "; native: " + over + "; generic: ok"},
		{"generic", Config{Metadata: MetadataAuto, Mode: Generic}, 0, false, Generic, 0,
			"metadata: generic mode has none: operation not supported; generic frags: ok"},
	} {
		pairIn(t, testnet.Config{MTU: c.mtu}, func(pair *testnet.Pair) error {
			c.cfg.Interface = pair.B.Name
			p, err := openIn(c.cfg, !c.netlink)
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				return nil
			}
			info := p.Info()
			if info.Mode != c.mode || info.Metadata != c.fields || (p.stamp.Load() == 0) != (c.fields == 0) {
				t.Errorf("%s: %+v", c.name, info)
			}
			if got := trace(info.Attempts); got != c.trace {
				t.Errorf("%s: trace %q, want %q", c.name, got, c.trace)
			}
			if s, err := p.maps.stamp(); uint64(s) != p.stamp.Load() || err != nil {
				t.Errorf("%s: table has stamp %#x, %v; program %#x", c.name, s, err, p.stamp.Load())
			}
			return errors.Join(p.Close(), nothingOn(&pair.B))
		})
	}
}

// A driver without metadata: auto goes without and says why, require fails with it.
func TestMetadataNoDriver(t *testing.T) {
	testnet.Leaks(t)
	pairIn(t, testnet.Config{}, func(pair *testnet.Pair) error {
		mv, err := pair.B.AddMacvlan(mustPrefix("10.9.0.3/24"))
		if err != nil {
			return err
		}
		for name, kind := range map[string]string{mv.Name: "macvlan", "lo": "device"} {
			p, err := Attach(Config{Interface: name, Metadata: MetadataAuto})
			if err != nil {
				return err
			}
			want := "metadata: the driver (" + kind + ") has none: operation not supported; "
			if got := trace(p.Info().Attempts); p.Info().Metadata != 0 || !strings.HasPrefix(got, want) {
				t.Errorf("%s: %v, trace %q, want %q...", name, p.Info().Metadata, got, want)
			}
			if err := p.Close(); err != nil {
				return err
			}
			_, err = Attach(Config{Interface: name, Metadata: MetadataRequire})
			checkRefusal(t, err, unix.EOPNOTSUPP, name, kind, "required", "MetadataAuto")
		}
		return nothingOn(&mv)
	})
}

// What is required and refused by the device names the numbers, as without metadata.
func TestMetadataRequiredOverMTU(t *testing.T) {
	testnet.Leaks(t)
	pairIn(t, testnet.Config{MTU: 9000}, func(pair *testnet.Pair) error {
		_, err := Attach(Config{Interface: pair.B.Name, Metadata: MetadataRequire, NoFrags: true})
		checkRefusal(t, err, unix.ERANGE, "with metadata", "9000", "peer", "frags")
		if err != nil && strings.Contains(err.Error(), "generic:") {
			t.Errorf("%v: tried without metadata", err)
		}
		return nothingOn(&pair.B)
	})
}

// writeBTF makes a file as a kernel that has only these functions shows it.
func writeBTF(t *testing.T, names ...string) string {
	t.Helper()
	builder, err := btf.NewBuilder(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	number := &btf.Int{Name: "int", Size: 4, Encoding: btf.Signed}
	for _, name := range append([]string{"another_function"}, names...) {
		fn := &btf.Func{Name: name, Type: &btf.FuncProto{Return: number}, Linkage: btf.StaticFunc}
		if _, err := builder.Add(fn); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := builder.Marshal(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return writeFile(t, raw)
}

func writeFile(t *testing.T, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "vmlinux")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Kernels without BTF, without these functions, and with some of them.
func TestKernelCalls(t *testing.T) {
	testnet.Leaks(t)
	for _, c := range []struct {
		name string
		path string
		want Fields
		is   error
		word string
	}{
		{"no BTF", filepath.Join(t.TempDir(), "none"), 0, os.ErrNotExist, "no BTF"},
		{"nonsense", writeFile(t, []byte("nonsense")), 0, nil, "BTF"},
		{"cut short", writeFile(t, []byte{0x9f, 0xeb, 1}), 0, nil, "BTF"},
		{"before 6.3", writeBTF(t), 0, unix.EOPNOTSUPP, "6.3"},
		{"before 6.8", writeBTF(t, kfuncs[0].name, kfuncs[1].name), HasTimestamp | HasHash, nil, ""},
		{"6.8", writeBTF(t, kfuncs[0].name, kfuncs[1].name, kfuncs[2].name), allFields, nil, ""},
	} {
		got, err := kernelCalls(c.path)
		if got.fields() != c.want || (err != nil) != (c.word != "") {
			t.Errorf("%s: %v, %v", c.name, got, err)
			continue
		}
		if err != nil && (c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.word)) {
			t.Errorf("%s: %v, want %v, %q", c.name, err, c.is, c.word)
		}
	}
}

// The numbers that this package gives to fields and hash types are the kernel's.
func TestMetadataNumbers(t *testing.T) {
	testnet.Require(t)
	f, err := os.Open(kernelBTF)
	if err != nil {
		t.Skipf("no BTF to compare with: %v", err)
	}
	defer func() { _ = f.Close() }()
	spec, err := btf.LoadSpecFromReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for enum, want := range map[string]map[string]uint64{
		"netdev_xdp_rx_metadata": {
			"NETDEV_XDP_RX_METADATA_TIMESTAMP": uint64(HasTimestamp), "NETDEV_XDP_RX_METADATA_HASH": uint64(HasHash),
			"NETDEV_XDP_RX_METADATA_VLAN_TAG": uint64(HasVLAN),
		},
		"xdp_rss_hash_type": {
			"XDP_RSS_L3_IPV4": uint64(HashIPv4), "XDP_RSS_L3_IPV6": uint64(HashIPv6),
			"XDP_RSS_L4": uint64(HashL4), "XDP_RSS_L4_UDP": uint64(HashUDP),
		},
	} {
		var e *btf.Enum
		if err := spec.TypeByName(enum, &e); err != nil {
			t.Errorf("%s: %v", enum, err)
			continue
		}
		seen := map[string]uint64{}
		for _, v := range e.Values {
			seen[v.Name] = v.Value
		}
		for name, value := range want {
			if got, ok := seen[name]; !ok || got != value {
				t.Errorf("%s is %d (%v), not %d", name, got, ok, value)
			}
		}
	}
}

// With metadata goes before without, never in generic mode, and alone if required.
func TestMetadataRungs(t *testing.T) {
	testnet.Leaks(t)
	testnet.Require(t)
	b := loadBench(t)
	whole := loaded{plain: b.plain, frags: b.frags, meta: bound{b.meta, b.metaFrags, HasHash}}
	older := loaded{plain: b.plain, frags: b.frags, meta: bound{plain: b.meta, fields: HasHash}} // bound without frags only
	for _, c := range []struct {
		cfg  Config
		l    *loaded
		want string
	}{
		{Config{Metadata: MetadataAuto}, &whole, "native frags with metadata, native with metadata, native frags, native, generic frags, generic"},
		{Config{Metadata: MetadataRequire}, &whole, "native frags with metadata, native with metadata"},
		{Config{Metadata: MetadataAuto, Mode: Native}, &older, "native with metadata, native frags, native"},
		{Config{Metadata: MetadataAuto, Mode: Generic}, &older, "generic frags, generic"},
	} {
		var got []string
		for _, r := range rungs(c.cfg, c.l) {
			got = append(got, strings.TrimSuffix(r.attempt(nil).String(), ": ok"))
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%+v: %q, want %q", c.cfg, s, c.want)
		}
	}
}

// CAP_BPF and CAP_NET_ADMIN are enough for metadata too.
func TestMetadataEnoughCapabilities(t *testing.T) {
	testnet.Leaks(t)
	pairIn(t, testnet.Config{}, func(pair *testnet.Pair) error {
		if err := keepOnly(unix.CAP_BPF, unix.CAP_NET_ADMIN); err != nil {
			return err
		}
		p, err := Attach(Config{Interface: pair.B.Name, Metadata: MetadataRequire})
		if err != nil {
			return err
		}
		return errors.Join(p.Close(), nothingOn(&pair.B))
	})
}

// The interface is deleted, or moves to another namespace, under a program that is
// bound to it.
func TestMetadataDeviceGoes(t *testing.T) {
	testnet.Leaks(t)
	pairIn(t, testnet.Config{}, func(pair *testnet.Pair) error {
		p, err := Attach(Config{Interface: pair.B.Name, Metadata: MetadataRequire})
		if err != nil {
			return err
		}
		if err := pair.B.Delete(); err != nil {
			return err
		}
		if on, err := p.Attached(); on || err != nil {
			t.Errorf("attached after the interface is gone: %v, %v", on, err)
		}
		return p.Close()
	})
	pairIn(t, testnet.Config{}, func(pair *testnet.Pair) error {
		p, err := Attach(Config{Interface: pair.B.Name, Metadata: MetadataRequire})
		if err != nil {
			return err
		}
		other, err := testnet.NewNS()
		if err != nil {
			return err
		}
		defer func() { _ = other.Close() }()
		old := pair.B.NS
		if err := pair.B.Move(other); err != nil {
			return err
		}
		defer func() { _ = old.Close() }()
		if err := p.Close(); err != nil {
			return err
		}
		return other.Do(func() error { return nothingOn(&pair.B) })
	})
}

// Each program with metadata has a stamp of its own, and leaves the kernel.
func TestMetadataOpenClose(t *testing.T) {
	testnet.Leaks(t)
	pairIn(t, testnet.Config{}, func(pair *testnet.Pair) error {
		seen := map[uint64]bool{}
		for range 10 {
			p, err := Attach(Config{Interface: pair.B.Name, Metadata: MetadataAuto})
			if err != nil {
				return err
			}
			if seen[p.stamp.Load()] {
				t.Errorf("stamp %#x again", p.stamp.Load())
			}
			seen[p.stamp.Load()] = true
			if err := p.Close(); err != nil {
				return err
			}
			id := p.Info().ProgramID
			eventually(t, "program out of the kernel", func() bool { return programGone(id) })
		}
		return nothingOn(&pair.B)
	})
}
