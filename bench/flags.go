// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/path"
	"github.com/xdpath/xdpath/bench/internal/stream"
	"github.com/xdpath/xdpath/bench/internal/suite"
)

// Bounds of the flags.
const (
	minDuration = time.Millisecond
	quickly     = 200 * time.Millisecond // of a run, with -quick
	maxRuns     = 1000
	minMTU      = 68    // of IPv4
	maxMTU      = 65535 // of a veth
	warmup      = 200 * time.Millisecond
	patience    = 5 * time.Second // for a link that carries nothing
)

// options is what the command line asks for.
type options struct {
	plan suite.Plan
	out  outputs
	peer peer
	// anyMTU tells that the rows shall have the MTU of a link to another machine,
	// whatever it is.
	anyMTU   bool
	peerBusy float64 // how much of that machine was in use before, in percent
	args     []string
}

// parseFlags reads the command line; known are the paths that a kind of test can
// have, of which the usual ones run if none are named. Usage goes to w if it is
// asked for; the error then is flag.ErrHelp.
func parseFlags(args []string, known, usual func(path.Kind) []string, w io.Writer) (options, error) {
	o := options{args: args}
	test, rest, err := findTest(args)
	if err != nil {
		return o, err
	}
	o.plan.Test = test
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	if test.Defaults.Paths == "" {
		test.Defaults.Paths = strings.Join(usual(test.Kind), ",")
	}
	var l lists
	common := suite.Common{Batch: 1}
	l.define(fs, test.Defaults, known(test.Kind))
	o.define(fs)
	if test.Defaults.Batch > 0 {
		fs.IntVar(&common.Batch, "batch", test.Defaults.Batch, "datagrams a call, where a path can")
	}
	fs.BoolVar(&common.Quick, "quick", false, "one short run of each row, and fewer rows where a test has many: a look, no figure to rely on")
	fs.BoolVar(&common.Checksum, "checksum", false, "xdp and xdp-packetconn compute UDP checksums in software and verify them")
	rows := func(p *suite.Plan, c suite.Common) error {
		p.Rows = c.Product()
		return nil
	}
	if test.Rows != nil {
		rows = test.Rows(fs)
	}
	if err := fs.Parse(rest); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			usage(w, test, fs)
			return o, err
		}
		return o, fmt.Errorf("%w (bench %s -h lists the flags)", err, test.Name)
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("argument %q: after the test, bench takes flags only", fs.Arg(0))
	}
	if common.Quick {
		o.hurry(fs)
	}
	// A short run needs no longer warm-up than it lasts.
	o.plan.Warmup, o.plan.Patience = min(warmup, o.plan.Duration), patience
	err = errors.Join(l.parse(&common, known(test.Kind)), o.validate(), o.peer.validate(), within("-batch", common.Batch, 1, stream.MaxBatch))
	if err != nil {
		return o, err
	}
	if err = rows(&o.plan, common); err != nil {
		return o, err
	}
	o.anyMTU = o.peer.addr != "" && len(common.MTUs) == 1 && !given(fs, "mtu")
	return o, nil
}

// given tells whether a flag stands on the command line.
func given(fs *flag.FlagSet, name string) (found bool) {
	fs.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

// define puts the flags that are of no test into a set.
func (o *options) define(fs *flag.FlagSet) {
	fs.DurationVar(&o.plan.Duration, "duration", time.Second, "length of one run, without the warm-up before it")
	fs.IntVar(&o.plan.Runs, "runs", 3, "runs of each row; the table shows the median")
	o.out.define(fs)
	o.peer.define(fs)
}

// hurry makes runs short and single, unless flags say otherwise.
func (o *options) hurry(fs *flag.FlagSet) {
	if !given(fs, "duration") {
		o.plan.Duration = quickly
	}
	if !given(fs, "runs") {
		o.plan.Runs = 1
	}
}

// findTest takes the test off the arguments, if they begin with one.
func findTest(args []string) (suite.Test, []string, error) {
	if len(args) > 0 && args[0] == "help" {
		args = append([]string{"-h"}, args[1:]...)
	}
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return suite.All()[0], args, nil
	}
	t, err := suite.Find(args[0])
	if err != nil {
		var names []string
		for _, c := range append(commands(), systemCommands()...) {
			names = append(names, c.name)
		}
		err = fmt.Errorf("%w, and the commands %s; -h tells of all", err, strings.Join(names, ", "))
	}
	return t, args[1:], err
}

// usage tells of the tests, and of the flags of one.
func usage(w io.Writer, which suite.Test, fs *flag.FlagSet) {
	fmt.Fprint(w, "usage: bench [test] [flags]\n\nTests, the first unless you name one:\n")
	for _, t := range suite.All() {
		fmt.Fprintf(w, "  %-8s %s\n", t.Name, t.What)
	}
	fmt.Fprint(w, "\nWith files of results, no rights needed:\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-8s %s\n", c.name, c.what)
	}
	fmt.Fprint(w, "\nBeside tests; -h tells more of each:\n")
	for _, c := range systemCommands() {
		fmt.Fprintf(w, "  %-13s  %s\n", c.name, c.what)
	}
	fmt.Fprintf(w, "\nFlags of %s:\n", which.Name)
	fs.SetOutput(w)
	fs.PrintDefaults()
}

// validate checks numbers against their bounds.
func (o options) validate() error {
	err := within("-runs", o.plan.Runs, 1, maxRuns)
	if d := o.plan.Duration; d < minDuration || d > control.MaxDuration {
		err = errors.Join(err, fmt.Errorf("-duration %v: must be %v to %v", d, minDuration, control.MaxDuration))
	}
	return err
}

func within(name string, v, least, most int) error {
	if v < least || v > most {
		return fmt.Errorf("%s %d: must be %d to %d", name, v, least, most)
	}
	return nil
}
