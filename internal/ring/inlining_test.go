// SPDX-License-Identifier: MIT

package ring

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestInlining fails when a function that the data path calls stops being
// inlined by the compiler.
func TestInlining(t *testing.T) {
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command on this machine: a test binary that was carried elsewhere")
	}
	out, err := exec.Command(tool, "test", "-run=^$", "-gcflags=-m", "-o", t.TempDir()+"/x", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	inlined := map[string]bool{}
	for _, m := range regexp.MustCompile(`inlining call to (?:ring\.)?(?:\(\*)?([\w.]+?)(?:\[\S+\])?\)?(\.\w+)?(?:\[\S+\])?\s*\n`).FindAllStringSubmatch(string(out), -1) {
		inlined[m[1]+m[2]] = true
	}
	for _, want := range []string{
		"Producer.Free", "Producer.Submit", "Producer.Cancel", "Producer.NeedWakeup", "Producer.Pending",
		"Consumer.Release", "Consumer.Len", "span",
	} {
		if !inlined[want] {
			t.Errorf("%s is not inlined any more; the compiler says:\n%s", want, grep(string(out), strings.TrimPrefix(want, "Producer.")))
		}
	}
}

func grep(text, word string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, word) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[:min(len(lines), 8)], "")
}
