// SPDX-License-Identifier: MIT

package control

import (
	"errors"
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// A Greeting is the first line each way over TCP: "xdpath-bench 3 BUILD". Its form
// never changes, so that ends of different versions understand at least that they do
// not belong together.
type Greeting struct {
	Version int
	Build   string // of the program, empty if it does not know
}

const (
	greetingWord = "xdpath-bench"
	maxGreeting  = 128 // bytes, with the newline
)

// ErrStranger is of a peer that does not speak this protocol at all.
var ErrStranger = errors.New("control: the other end is no bench")

// Own is the greeting of this program.
func Own() Greeting { return Greeting{Version: Version, Build: build()} }

// build names the source that the program was made of: a release, or a revision.
func build() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	var revision, dirty string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+changes"
		}
	}
	if revision != "" {
		return revision + dirty
	}
	if v := info.Main.Version; v != "(devel)" {
		return v
	}
	return ""
}

// String is the line without its end.
func (g Greeting) String() string {
	return strings.TrimRight(fmt.Sprintf("%s %d %s", greetingWord, g.Version, g.Build), " ")
}

// parseGreeting reads a line.
func parseGreeting(line string) (Greeting, error) {
	f := strings.Fields(line)
	if len(f) < 2 || len(f) > 3 || f[0] != greetingWord {
		return Greeting{}, ErrStranger
	}
	v, err := strconv.Atoi(f[1])
	if err != nil || v < 1 {
		return Greeting{}, ErrStranger
	}
	g := Greeting{Version: v}
	if len(f) == 3 {
		g.Build = f[2]
	}
	return g, nil
}

// Check tells why an end that greets so cannot run a test with this one. Builds are
// compared if both are known: figures of two versions of the library, one at each
// end, are figures of neither.
func (g Greeting) Check(own Greeting) error {
	if g.Version == own.Version && (g.Build == own.Build || g.Build == "" || own.Build == "") {
		return nil
	}
	return fmt.Errorf("the other end is protocol version %d, build %s, this one version %d, build %s: run the same build on both",
		g.Version, orUnknown(g.Build), own.Version, orUnknown(own.Build))
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// SendGreeting writes the line.
func SendGreeting(c net.Conn, g Greeting) error {
	if err := c.SetWriteDeadline(time.Now().Add(MessageTime)); err != nil {
		return fmt.Errorf("control: send greeting: %w", err)
	}
	if _, err := io.WriteString(c, g.String()+"\n"); err != nil {
		return fmt.Errorf("control: send greeting: %w", err)
	}
	return nil
}

// ReceiveGreeting reads the line, and not a byte more, until the deadline.
func ReceiveGreeting(c net.Conn, deadline time.Time) (Greeting, error) {
	if err := c.SetReadDeadline(deadline); err != nil {
		return Greeting{}, fmt.Errorf("control: receive greeting: %w", err)
	}
	var line []byte
	for b := make([]byte, 1); ; {
		// One byte at a time: what follows the line is for others.
		if _, err := io.ReadFull(c, b); err != nil {
			return Greeting{}, fmt.Errorf("control: receive greeting: %w", unexpected(err))
		}
		if b[0] == '\n' {
			return parseGreeting(string(line))
		}
		if line = append(line, b[0]); len(line) == maxGreeting {
			return Greeting{}, ErrStranger
		}
	}
}
