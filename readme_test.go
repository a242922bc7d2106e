// SPDX-License-Identifier: MIT

package xdpath

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The first screen has the sentence and the two commands; the whole can be read at
// one sitting.
func TestReadme(t *testing.T) {
	lines := strings.Split(strings.TrimSuffix(read(t, "README.md"), "\n"), "\n")
	if len(lines) > 150 {
		t.Errorf("README.md has %d lines, at most 150", len(lines))
	}
	var commands []string
	for _, line := range lines[:min(len(lines), 20)] {
		if c, ok := strings.CutPrefix(line, "    "); ok {
			c, _, _ = strings.Cut(c, "#")
			commands = append(commands, strings.TrimSpace(c))
		}
	}
	if len(commands) != 2 || !strings.HasPrefix(commands[0], "go run ") || !strings.HasPrefix(commands[1], "go test ") {
		t.Fatalf("commands on the first screen: %q, want one that runs and one that tests", commands)
	}
}

// The README's program is the example's, which is compiled and tested.
func TestReadmeProgram(t *testing.T) {
	_, rest, ok := strings.Cut(read(t, "README.md"), "\n```go\n")
	program, after, ok2 := strings.Cut(rest, "```\n")
	if !ok || !ok2 || strings.Contains(after, "```go") {
		t.Fatal("README.md: want one Go program")
	}
	example := read(t, "examples/hello/main.go")
	if want := example[strings.Index(example, "package main\n"):]; program != want {
		t.Error("the program in README.md is not that of examples/hello/main.go")
	}
}

var linkTarget = regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`)

// Links from one page to another lead somewhere.
func TestLinks(t *testing.T) {
	pages := 0
	for _, name := range files(t) {
		if path.Ext(name) != ".md" {
			continue
		}
		pages++
		for _, m := range linkTarget.FindAllStringSubmatch(read(t, name), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(name), m[1])); err != nil {
				t.Errorf("%s: link to %s: %v", name, m[1], err)
			}
		}
	}
	if pages < 5 {
		t.Errorf("%d pages: not all", pages)
	}
}
