// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/bench/internal/cpu"
	"github.com/xdpath/xdpath/bench/internal/path"
	"github.com/xdpath/xdpath/bench/internal/referee"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == workerArg {
		os.Exit(runWorker())
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program without its process: arguments in, exit status out.
func run(args []string, stdout, stderr io.Writer) int {
	if status, ok := runCommand(args, stdout, stderr); ok {
		return status
	}
	opts, err := parseFlags(args, path.Names, path.Usual, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return exitUsage
	}
	// Only to make namespaces takes rights; a path that needs some says so itself.
	if err := checkRights(); err != nil && opts.peer.addr == "" {
		fmt.Fprintln(stderr, "bench:", err)
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer stop()
	switch err := bench(ctx, opts, stdout, stderr); {
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "bench: interrupted")
		return exitInterrupted
	default:
		return status(err, stderr)
	}
}

// listen is how long the bench looks at what else the machine does.
const listen = 200 * time.Millisecond

// bench runs the plan and writes what came of it.
func bench(ctx context.Context, opts options, stdout, stderr io.Writer) error {
	out, err := opts.out.open()
	if err != nil {
		return err
	}
	defer out.discard()
	before, err := cpu.Watch(ctx, listen)
	if err != nil {
		return err
	}
	w, err := openWire(ctx, &opts)
	if err != nil {
		return err
	}
	p := newProgress(stderr, opts.plan)
	outcome, err := referee.Run(ctx, opts.plan, w, p.step)
	p.end()
	err = errors.Join(err, w.Close())
	if err != nil && (ctx.Err() != nil || len(outcome.Results) == 0) {
		return err
	}
	doc := document(opts, outcome, before.Utilization())
	if err != nil {
		doc.Env.Notes = append(doc.Env.Notes, fmt.Sprintf("WARNING: the bench broke and has not run all: %v.", err))
	}
	return errors.Join(err, out.write(stdout, doc))
}
