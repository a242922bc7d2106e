// SPDX-License-Identifier: MIT

package packet_test

import (
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// Parse must be compiled into its caller: then the UDP value is filled where the
// caller has it, and not copied. The others are calls too small to be made.
func TestInlining(t *testing.T) {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skipf("the compiler's budget is checked on amd64 and arm64, this is %s", runtime.GOARCH)
	}
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("needs the go command in PATH: the compiler tells what it inlines")
	}
	out, err := exec.Command(tool, "build", "-gcflags=-m", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text := string(out)
	for _, name := range []string{
		"Parse", "ParseTotal", "Sum", "Update", "le64", "fold64", "add16",
		"(*frame).need", "(*UDP).Payload", "(*Template).PutLen",
	} {
		if !strings.Contains(text, "can inline "+name+"\n") {
			t.Errorf("%s is no longer inlined", name)
		}
	}
}
