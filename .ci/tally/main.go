// SPDX-License-Identifier: MIT

// Tally reads the output of go test -json, prints what go test would have printed of
// packages and failed tests, counts tests, and compares those that skipped with a
// list. Its exit status is 1 if a test failed or the skips differ.
//
//	go test -json ./... | go run ./.ci/tally .ci/skips
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"strings"
)

// event is the part of cmd/test2json's event that is used here.
type event struct {
	Action, Package, Test, Output string
}

// tally is what became of the tests.
type tally struct {
	passed, failed int
	packagesFailed int
	skips          []string
	output         map[string][]string // of tests that run, by package and test
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: go test -json ./... | tally FILE-OF-SKIPS")
	}
	want, err := readSkips(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	t := tally{output: map[string][]string{}}
	if err := t.read(os.Stdin); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d tests passed, %d failed, %d skipped\n", t.passed, t.failed, len(t.skips))
	same := t.compare(want)
	if t.failed > 0 || t.packagesFailed > 0 || t.passed == 0 || !same {
		os.Exit(1)
	}
}

// readSkips reads a list of lines "package test", with comments behind #.
func readSkips(name string) ([]string, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var skips []string
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		if f := strings.Fields(line); len(f) == 2 {
			skips = append(skips, f[0]+" "+f[1])
		} else if len(f) != 0 {
			return nil, fmt.Errorf("%s: %q: want a package and a test", name, strings.TrimSpace(line))
		}
	}
	return skips, nil
}

func (t *tally) read(r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			fmt.Println(lines.Text()) // not go test's: show it
			continue
		}
		t.add(e)
	}
	return lines.Err()
}

func (t *tally) add(e event) {
	id := strings.TrimPrefix(e.Package, "github.com/xdpath/xdpath/") + " " + e.Test
	switch {
	case e.Action == "output" && e.Test != "":
		t.output[id] = append(t.output[id], e.Output)
		return
	case e.Action == "output" && e.Output != "PASS\n" || e.Action == "build-output":
		fmt.Print(e.Output)
		return
	case e.Action == "fail" && e.Test == "":
		t.packagesFailed++
	case e.Action == "fail":
		t.failed++
		fmt.Printf("%s:\n%s", id, strings.Join(t.output[id], ""))
	case e.Action == "pass" && e.Test != "":
		t.passed++
	case e.Action == "skip" && e.Test != "":
		t.skips = append(t.skips, id)
		fmt.Printf("skipped %s: %s\n", id, reason(t.output[id]))
	default:
		return
	}
	delete(t.output, id)
}

// reason is what a test said before it skipped.
func reason(output []string) string {
	var said []string
	for _, line := range output {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "===") && !strings.HasPrefix(line, "---") {
			said = append(said, line)
		}
	}
	return strings.Join(said, " ")
}

// compare tells whether exactly the tests of a list were skipped, and prints the
// difference.
func (t *tally) compare(want []string) bool {
	same := true
	for _, s := range t.skips {
		if !slices.Contains(want, s) {
			same = false
			fmt.Printf("not to be skipped here: %s\n", s)
		}
	}
	for _, s := range want {
		if !slices.Contains(t.skips, s) {
			same = false
			fmt.Printf("no longer skipped, take it off the list: %s\n", s)
		}
	}
	return same
}
