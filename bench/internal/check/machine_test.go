// SPDX-License-Identifier: MIT

package check

import (
	"strings"
	"testing"
)

// expect finds, among findings, one of that topic and state that says all of words.
func expect(t *testing.T, all []Finding, topic string, state State, words ...string) {
	t.Helper()
	for _, f := range all {
		text := strings.Join([]string{f.Found, f.Means, f.Command, f.Advice, f.Source}, "\n")
		found := f.Topic == topic && f.State == state
		for _, w := range words {
			found = found && strings.Contains(text, w)
		}
		if found {
			return
		}
	}
	t.Errorf("no %v about %q with %q in:\n%s", state, topic, words, write(all))
}

func write(all []Finding) string {
	var b strings.Builder
	for _, f := range all {
		f.write(&b)
	}
	return b.String()
}

// A machine that has everything gives no cause for a word.
func TestSoundMachine(t *testing.T) {
	all := examineMachine(sound())
	if findings(all).worst() != OK {
		t.Errorf("not all is well:\n%s", write(all))
	}
	for _, topic := range []string{"kernel", "config", "rights", "locked memory", "pages", "huge pages", "processors", "socket buffers", "AF_XDP sockets", "known bad"} {
		expect(t, all, topic, OK)
	}
}

// Each finding, by the fact that provokes it.
func TestMachineFindings(t *testing.T) {
	version := func(a, b, c int) func(*Machine) { return func(m *Machine) { m.Version = Version{a, b, c} } }
	without := func(option string) func(*Machine) { return func(m *Machine) { m.Config[option] = "n" } }
	only := func(capabilities ...string) func(*Machine) {
		return func(m *Machine) { m.Capabilities = capabilities }
	}
	for _, tc := range []struct {
		name  string
		spoil func(*Machine)
		topic string
		state State
		words []string
	}{
		{"old kernel", version(5, 3, 18), "kernel", Problem, []string{"older than 5.4"}},
		{"some kernel", version(5, 10, 0), "kernel", Note, []string{"busy polling", "6.6", "6.17"}},
		{"no AF_XDP", without("CONFIG_XDP_SOCKETS"), "config", Problem, []string{"no AF_XDP sockets", "CONFIG_XDP_SOCKETS=y"}},
		{"no BPF", without("CONFIG_BPF_SYSCALL"), "config", Problem, []string{"no XDP programs"}},
		{"no compiler", without("CONFIG_BPF_JIT"), "config", Warning, []string{"interpreted"}},
		{"no namespaces", without("CONFIG_NET_NS"), "config", Note, []string{"namespaces"}},
		{"no veth", without("CONFIG_VETH"), "config", Note, []string{"veth"}},
		{"no busy polling", without("CONFIG_NET_RX_BUSY_POLL"), "config", Note, []string{"busy polling"}},
		{"no huge pages built", without("CONFIG_HUGETLBFS"), "config", Note, []string{"huge"}},
		{"no list of sockets", without("CONFIG_XDP_SOCKETS_DIAG"), "config", Note, []string{"ss --xdp"}},
		{"configuration unknown", func(m *Machine) { m.Config = nil }, "config", Note, []string{"modprobe configs"}},
		{"compiler off", func(m *Machine) { m.JIT = 0 }, "BPF compiler", Warning, []string{"sysctl -w net.core.bpf_jit_enable=1"}},
		{"no raw sockets", only("CAP_NET_ADMIN", "CAP_BPF"), "rights", Warning, []string{"CAP_NET_RAW", "setcap"}},
		{"no admin", only("CAP_NET_RAW", "CAP_BPF"), "rights", Warning, []string{"CAP_NET_ADMIN", "attached"}},
		{"no loading", only("CAP_NET_RAW", "CAP_NET_ADMIN"), "rights", Warning, []string{"CAP_BPF", "loaded"}},
		{"no namespaces to make", only("CAP_NET_RAW", "CAP_NET_ADMIN", "CAP_BPF"), "rights", Note, []string{"CAP_SYS_ADMIN"}},
		{"no looking into others", only("CAP_SYS_ADMIN"), "rights", Note, []string{"CAP_SYS_PTRACE"}},
		{"locked memory short", func(m *Machine) { m.Capabilities, m.Memlock = nil, 64<<10 }, "locked memory", Warning, []string{"64 KiB", "ENOBUFS", "ulimit -l", "do not count"}},
		{"and on an old kernel", func(m *Machine) { m.Capabilities, m.Memlock, m.Version = nil, 64<<10, Version{5, 10} }, "locked memory", Warning, []string{"count too"}},
		{"locked memory enough", func(m *Machine) { m.Capabilities, m.Memlock = nil, 32<<20 }, "locked memory", OK, []string{"4 queues"}},
		{"no limit", func(m *Machine) { m.Capabilities, m.Memlock = nil, Unlimited }, "locked memory", OK, []string{"not limited"}},
		{"large pages", func(m *Machine) { m.PageSize = 65536 }, "pages", OK, []string{"64 KiB", "jumbo"}},
		{"no huge pages", func(m *Machine) { m.HugePages, m.HugeFree = 0, 0 }, "huge pages", Note, []string{"vm.nr_hugepages"}},
		{"no free huge pages", func(m *Machine) { m.HugeFree = 0 }, "huge pages", Note, []string{"none free", "nr_hugepages=24"}},
		{"one processor", func(m *Machine) { m.CPUs = 1 }, "processors", Note, []string{"take turns"}},
		{"small socket buffers", func(m *Machine) { m.RmemMax = 212992 }, "socket buffers", Note, []string{"208 KiB", "net.core.rmem_max=8388608"}},
		{"sockets", func(m *Machine) { m.XSKs, m.Owners = 2, []Owner{{12, "sink"}} }, "AF_XDP sockets", Note, []string{"2 open", "sink (pid 12)"}},
		{"sockets of the unseen", func(m *Machine) { m.XSKs = 1 }, "AF_XDP sockets", Note, []string{"cannot be seen"}},
		{"sockets not counted", func(m *Machine) { m.XSKs, m.Owners = Unknown, []Owner{{12, "sink"}} }, "AF_XDP sockets", Note, []string{"sink"}},
		{"blind", func(m *Machine) { m.Blind = []string{"the moon"} }, "not seen", Note, []string{"the moon"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := sound()
			tc.spoil(&m)
			expect(t, examineMachine(m), tc.topic, tc.state, tc.words...)
		})
	}
}

func TestVersion(t *testing.T) {
	for release, want := range map[string]Version{
		"6.18.44-fc-v669": {6, 18, 44}, "6.1.0-18-amd64": {6, 1, 0}, "5.15": {5, 15, 0}, "6.18-rc3": {6, 18, 0}, "4.19.0.1": {4, 19, 0},
	} {
		if got, err := ParseVersion(release); got != want || err != nil {
			t.Errorf("%s: got %v, %v", release, got, err)
		}
	}
	for _, release := range []string{"", "next", "6..1", "99999999999999999999.1"} {
		if v, err := ParseVersion(release); err == nil {
			t.Errorf("%q: got %v", release, v)
		}
	}
	if !(Version{5, 4, 9}).Before(Version{5, 10}) || (Version{6, 6}).Before(Version{6, 6}) || (Version{6, 6}).has(never) || !(Version{6, 6}).has(Version{6, 6}) {
		t.Error("order of versions")
	}
}
