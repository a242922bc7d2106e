// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/stream"
	"github.com/xdpath/xdpath/bench/internal/suite"
)

// allPaths stands for every path in -paths.
const allPaths = "all"

// sweep stands for sizes from the smallest frame to the largest in -sizes.
const (
	sweep  = "sweep"
	sweeps = "18,64,128,256,512,1024,1400,1472"
)

// lists are the flags that name several things, separated by commas.
type lists struct {
	paths, sizes, mtus string
	sized              bool // there is -sizes
}

func (l *lists) define(fs *flag.FlagSet, d suite.Defaults, known []string) {
	fs.StringVar(&l.paths, "paths", d.Paths, "paths to compare, separated by commas, or all: "+strings.Join(known, ", "))
	if l.sized = d.Sizes != ""; l.sized {
		fs.StringVar(&l.sizes, "sizes", d.Sizes, "UDP payload sizes in bytes, separated by commas, or "+sweep+": "+sweeps+"; beyond the MTU they go in IP fragments")
	}
	fs.StringVar(&l.mtus, "mtu", d.MTU, "MTUs of the link in bytes, separated by commas")
}

// parse fills in what the lists name.
func (l *lists) parse(c *suite.Common, known []string) error {
	var errs [3]error
	c.Paths, errs[0] = parsePaths(l.paths, known)
	if l.sized {
		if l.sizes == sweep {
			l.sizes = sweeps
		}
		c.Sizes, errs[1] = parseNumbers("-sizes", l.sizes, stream.HeaderSize, control.MaxSize)
	}
	c.MTUs, errs[2] = parseNumbers("-mtu", l.mtus, minMTU, maxMTU)
	return errors.Join(errs[:]...)
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

// parseNumbers splits a list of numbers and checks each against its bounds.
func parseNumbers(name, list string, least, most int) ([]int, error) {
	var all []int
	for s := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(s)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %q is no number of bytes", name, list, s)
		}
		if err := within(name, n, least, most); err != nil {
			return nil, err
		}
		if slices.Contains(all, n) {
			return nil, fmt.Errorf("%s %s: %d stands there twice", name, list, n)
		}
		all = append(all, n)
	}
	return all, nil
}
