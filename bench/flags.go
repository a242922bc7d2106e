// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/referee"
	"github.com/xdpath/xdpath/bench/internal/rr"
	"github.com/xdpath/xdpath/bench/internal/stream"
)

// headers is what IPv4 and UDP put before a payload, in bytes.
const headers = 28

// Bounds of the flags.
const (
	minDuration = time.Millisecond
	maxRuns     = 1000
	minMTU      = 68    // of IPv4
	maxMTU      = 65535 // of a veth
	warmup      = 200 * time.Millisecond
	patience    = 5 * time.Second // for a link that carries nothing
)

// A test is what its first argument tells the bench to do.
type test struct {
	name, what string
	sizes      string // default of -sizes
	batch      bool   // calls may handle several datagrams
}

// tests are all that there are, the default first.
func tests() []test {
	return []test{
		{stream.Name, "datagrams one way, as fast as they go", "64,1472", true},
		{rr.Name, "round trips, one datagram under way at a time", "64", false},
	}
}

// options is what the command line asks for.
type options struct {
	plan referee.Plan
	json string // path of a file, empty for none
	args []string
}

// allPaths stands for every path in -paths.
const allPaths = "all"

// parseFlags reads the command line; known are the paths that a test can have, of
// which the usual ones run if none are named. Usage goes to w if it is asked for;
// the error then is flag.ErrHelp.
func parseFlags(args []string, known, usual func(test string) []string, w io.Writer) (options, error) {
	o := options{args: args}
	which, rest, err := findTest(args)
	if err != nil {
		return o, err
	}
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	o.plan.Test, o.plan.Batch = which.name, 1
	all := known(which.name)
	paths := fs.String("paths", strings.Join(usual(which.name), ","), "paths to compare, separated by commas, or all: "+strings.Join(all, ", "))
	sizes := fs.String("sizes", which.sizes, "UDP payload sizes in bytes, separated by commas")
	fs.DurationVar(&o.plan.Duration, "duration", time.Second, "length of one run, without the warm-up before it")
	fs.IntVar(&o.plan.Runs, "runs", 3, "runs of each path at each size; the table shows the median")
	fs.IntVar(&o.plan.MTU, "mtu", 1500, "MTU of the link in bytes")
	if which.batch {
		fs.IntVar(&o.plan.Batch, "batch", 64, "datagrams a call, where a path can")
	}
	fs.BoolVar(&o.plan.Checksum, "checksum", false, "xdp and xdp-packetconn compute UDP checksums in software and verify them")
	fs.StringVar(&o.json, "json", "", "write all runs to this `file`")
	if err := fs.Parse(rest); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			usage(w, which, fs)
		}
		return o, err
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("argument %q: after the test, bench takes flags only", fs.Arg(0))
	}
	// A short run needs no longer warm-up than it lasts.
	o.plan.Warmup, o.plan.Patience = min(warmup, o.plan.Duration), patience
	var errs error
	o.plan.Paths, err = parsePaths(*paths, all)
	errs = errors.Join(errs, err)
	o.plan.Sizes, err = parseSizes(*sizes)
	errs = errors.Join(errs, err, o.validate())
	return o, errs
}

// findTest takes the test off the arguments, if they begin with one.
func findTest(args []string) (test, []string, error) {
	all := tests()
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return all[0], args, nil
	}
	var names []string
	for _, t := range all {
		if t.name == args[0] {
			return t, args[1:], nil
		}
		names = append(names, t.name)
	}
	return test{}, nil, fmt.Errorf("no test %q, there are %s", args[0], strings.Join(names, ", "))
}

// usage tells of the tests, and of the flags of one.
func usage(w io.Writer, which test, fs *flag.FlagSet) {
	fmt.Fprint(w, "usage: bench [test] [flags]\n\nTests, the first unless you name one:\n")
	for _, t := range tests() {
		fmt.Fprintf(w, "  %-8s %s\n", t.name, t.what)
	}
	fmt.Fprintf(w, "\nFlags of %s:\n", which.name)
	fs.SetOutput(w)
	fs.PrintDefaults()
}

// validate checks numbers against their bounds and against each other.
func (o options) validate() error {
	p := o.plan
	errs := errors.Join(
		within("-runs", p.Runs, 1, maxRuns),
		within("-mtu", p.MTU, minMTU, maxMTU),
		within("-batch", p.Batch, 1, stream.MaxBatch),
	)
	if p.Duration < minDuration || p.Duration > control.MaxDuration {
		errs = errors.Join(errs, fmt.Errorf("-duration %v: must be %v to %v", p.Duration, minDuration, control.MaxDuration))
	}
	for _, s := range p.Sizes {
		if s > p.MTU-headers {
			errs = errors.Join(errs, fmt.Errorf("-sizes %d: at MTU %d a datagram holds at most %d bytes of payload; raise -mtu", s, p.MTU, p.MTU-headers))
		}
	}
	return errs
}

func within(name string, v, least, most int) error {
	if v < least || v > most {
		return fmt.Errorf("%s %d: must be %d to %d", name, v, least, most)
	}
	return nil
}

// parsePaths splits a list of paths and checks that there are such.
func parsePaths(list string, known []string) ([]string, error) {
	if list == allPaths {
		return known, nil
	}
	names := strings.Split(list, ",")
	for i, n := range names {
		if !slices.Contains(known, n) {
			return nil, fmt.Errorf("-paths %s: no path %q, there are %s", list, n, strings.Join(known, ", "))
		}
		if slices.Contains(names[:i], n) {
			return nil, fmt.Errorf("-paths %s: %s stands there twice", list, n)
		}
	}
	return names, nil
}

// parseSizes splits a list of payload sizes.
func parseSizes(list string) ([]int, error) {
	var sizes []int
	for s := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(s)
		if err != nil {
			return nil, fmt.Errorf("-sizes %s: %q is no number of bytes", list, s)
		}
		if err := within("-sizes", n, stream.HeaderSize, control.MaxSize); err != nil {
			return nil, err
		}
		if slices.Contains(sizes, n) {
			return nil, fmt.Errorf("-sizes %s: %d stands there twice", list, n)
		}
		sizes = append(sizes, n)
	}
	return sizes, nil
}
