// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/xdpath/xdpath/bench/internal/check"
)

const checkUsage = `usage: bench check [interface] [-json]

Looks at this machine and at an interface, or briefly at all of them, and tells
what they are fit for, what stands in the way of AF_XDP, and what mends it. It
changes nothing, and needs no rights; what it cannot see without, it says.

Exit status: 0 if there is nothing worse than a warning, 1 for a problem, 2 if
there is no such interface. Without an interface, only the machine counts.

`

// runCheck is "bench check": arguments after that word in, exit status out.
func runCheck(args []string, source check.Source, stdout, stderr io.Writer) int {
	name, asJSON, err := parseCheck(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, checkUsage)
		return exitOK
	}
	if err != nil {
		fmt.Fprintln(stderr, "bench check:", err)
		return exitUsage
	}
	r, err := check.Examine(source, name)
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		if errors.Is(err, check.ErrNoInterface) {
			return exitUsage
		}
		return exitBroken
	}
	write := r.WriteText
	if asJSON {
		write = r.WriteJSON
	}
	if err := write(stdout); err != nil {
		fmt.Fprintln(stderr, "bench: write:", err)
		return exitBroken
	}
	if r.Worst >= check.Problem {
		return exitBroken
	}
	return exitOK
}

// parseCheck reads the arguments; the flag may stand on either side of the name.
func parseCheck(args []string) (name string, asJSON bool, err error) {
	fs := flag.NewFlagSet("bench check", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.BoolVar(&asJSON, "json", false, "")
	if err := fs.Parse(args); err != nil || fs.NArg() == 0 {
		return "", asJSON, err
	}
	name = fs.Arg(0)
	if name == "" {
		return "", false, errors.New("an interface without a name")
	}
	if err := fs.Parse(fs.Args()[1:]); err != nil {
		return "", false, err
	}
	if fs.NArg() > 0 {
		return "", false, fmt.Errorf("argument %q: one interface at a time", fs.Arg(0))
	}
	return name, asJSON, nil
}
