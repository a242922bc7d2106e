// SPDX-License-Identifier: MIT

package bpf

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/internal/testnet"
)

// TestHelper is no test: a test starts it in a child process with the name of an
// interface. It attaches, prints the program's id, and waits for its death.
func TestHelper(t *testing.T) {
	if flag.Arg(0) != "attach" {
		return
	}
	p, err := Attach(Config{Interface: flag.Arg(1), Mode: Mode(len(flag.Arg(2)))})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(p.SetQueue(0, xdpSocket(t)), p.Allow(filters()[0]))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(p.Info().ProgramID)
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	t.Fatal("was told to go on")
}

// A killed process leaves no program, neither on the interface nor in the kernel.
func TestKilledProcessLeavesNothing(t *testing.T) {
	testnet.Leaks(t)
	pairIn(t, testnet.Config{}, func(pair *testnet.Pair) error {
		for _, mode := range []string{"n", "gg"} {
			cmd := exec.Command(os.Args[0], "-test.run=^TestHelper$", "--", "attach", pair.B.Name, mode)
			stdin, out, err := pipes(cmd)
			if err != nil {
				return err
			}
			defer func() { _ = stdin.Close() }()
			if err := pair.B.NS.Start(cmd); err != nil {
				return err
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			id, convErr := strconv.Atoi(line[:max(len(line)-1, 0)])
			list, listErr := programsOn(&pair.B)
			killErr := cmd.Process.Kill()
			_ = cmd.Wait()
			if err := errors.Join(err, convErr, listErr, killErr); err != nil {
				return fmt.Errorf("child said %q: %w", line, err)
			}
			if len(list) != 1 || int(list[0].id) != id {
				t.Errorf("while it lived: %v, want program %d", list, id)
			}
			eventually(t, "program off the interface", func() bool { return nothingOn(&pair.B) == nil })
			eventually(t, "program out of the kernel", func() bool { return programGone(uint32(id)) })
		}
		return nil
	})
}

func pipes(cmd *exec.Cmd) (in io.WriteCloser, out io.Reader, err error) {
	cmd.Stderr = os.Stderr
	if in, err = cmd.StdinPipe(); err != nil {
		return nil, nil, err
	}
	out, err = cmd.StdoutPipe()
	return in, out, err
}

func programGone(id uint32) bool {
	p, err := ebpf.NewProgramFromID(ebpf.ProgramID(id))
	if err == nil {
		_ = p.Close()
	}
	return errors.Is(err, os.ErrNotExist)
}

// Case 95: somebody detaches our link.
func TestDetachedByOthers(t *testing.T) {
	testnet.Leaks(t)
	pairIn(t, testnet.Config{}, func(pair *testnet.Pair) error {
		p, err := Attach(Config{Interface: pair.B.Name})
		if err != nil {
			return err
		}
		l, err := link.NewFromID(link.ID(p.Info().LinkID))
		if err != nil {
			return err
		}
		if err := errors.Join(l.Detach(), l.Close()); err != nil {
			return err
		}
		if on, err := p.Attached(); on || err != nil {
			t.Errorf("attached: %v, %v", on, err)
		}
		return p.Close()
	})
}

// The interface is deleted under the program, attached either way.
func TestInterfaceDeleted(t *testing.T) {
	testnet.Leaks(t)
	for _, useLink := range []bool{true, false} {
		pairIn(t, testnet.Config{}, func(pair *testnet.Pair) error {
			p, err := openIn(Config{Interface: pair.B.Name}, useLink)
			if err != nil {
				return err
			}
			if err := pair.B.Delete(); err != nil {
				return err
			}
			if on, err := p.Attached(); on || err != nil {
				t.Errorf("attached: %v, %v", on, err)
			}
			if _, err := p.Counters(); err != nil {
				t.Error(err)
			}
			return p.Close()
		})
	}
}

// Case 107: the interface moves to another namespace; Close finds it there.
func TestInterfaceMoved(t *testing.T) {
	testnet.Leaks(t)
	pairIn(t, testnet.Config{}, func(pair *testnet.Pair) error {
		p, err := Attach(Config{Interface: pair.B.Name})
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

// Case 103: failed attempts of each kind, many times: nothing stays, and the answer
// is the same each time.
func TestFailedAttachLeaksNothing(t *testing.T) {
	for _, c := range []struct {
		name    string
		mtu     int
		foreign string
		cfg     Config
		is      error
		times   int
	}{
		{"MTU", 9000, "", Config{Mode: Native, NoFrags: true}, unix.ERANGE, 500},
		{"foreign", 0, "link", Config{}, ErrForeignProgram, 500},
		{"metadata", 9000, "", Config{Metadata: MetadataRequire, NoFrags: true}, unix.ERANGE, 30},
		// Here the interface changes each time, which waits for all CPUs.
		{"replace and put back", 9000, "generic", Config{Mode: Native, NoFrags: true, Replace: true}, unix.ERANGE, 30},
	} {
		t.Run(c.name, func(t *testing.T) {
			testnet.Leaks(t)
			pairIn(t, testnet.Config{MTU: c.mtu}, func(pair *testnet.Pair) error {
				c.cfg.Interface = pair.B.Name
				want := 0
				if c.foreign != "" {
					foreign(t, &pair.B, c.foreign)
					want = 1
				}
				for i := range c.times {
					_, err := Attach(c.cfg)
					if !errors.Is(err, c.is) {
						return fmt.Errorf("time %d: %w", i, err)
					}
				}
				list, err := programsOn(&pair.B)
				if err != nil || len(list) != want {
					t.Errorf("on the interface: %v, %v", list, err)
				}
				return nil
			})
		})
	}
}

// Many rounds of everything leave nothing, and every program leaves the kernel.
func TestOpenCloseLeaksNothing(t *testing.T) {
	testnet.Leaks(t)
	pairIn(t, testnet.Config{}, func(pair *testnet.Pair) error {
		socket := xdpSocket(t)
		for range 40 {
			p, err := Attach(Config{Interface: pair.B.Name})
			if err != nil {
				return err
			}
			at := netip.AddrPortFrom(pair.B.IP4, 5000)
			if err := errors.Join(p.SetQueue(3, socket), p.Allow(Filter{Addr: at}), p.Close()); err != nil {
				return err
			}
			id := p.Info().ProgramID
			eventually(t, "program out of the kernel", func() bool { return programGone(id) })
		}
		return nil
	})
}

// Case 71: of two that attach at the same moment one wins, and the other is told
// who is there.
func TestAttachRace(t *testing.T) {
	testnet.Leaks(t)
	pair := testnet.TestPair(t, testnet.Config{})
	attach := func(results chan<- error, won chan<- *Program) {
		results <- pair.B.NS.Do(func() error {
			p, err := Attach(Config{Interface: pair.B.Name})
			if err == nil {
				won <- p
			}
			return err
		})
	}
	for round := range 30 {
		results, won := make(chan error, 2), make(chan *Program, 2)
		go attach(results, won)
		go attach(results, won)
		a, b := <-results, <-results
		if a == nil {
			a, b = b, a
		}
		if len(won) != 1 || b != nil || !errors.Is(a, ErrForeignProgram) {
			t.Fatalf("round %d: %d winners, %v and %v", round, len(won), a, b)
		}
		p := <-won
		if on, err := p.Attached(); !on || err != nil {
			t.Errorf("the winner: %v, %v", on, err)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
