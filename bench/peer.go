// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/xdpath/xdpath/bench/internal/control"
	"github.com/xdpath/xdpath/bench/internal/suite"
)

// defaultPort is that of bench serve, and tokenVariable what the token is taken from
// if no file is named.
const (
	defaultPort   = "9737"
	tokenVariable = "XDPATH_BENCH_TOKEN"
)

// A secret is the -token flag.
type secret struct{ file string }

func (s *secret) define(fs *flag.FlagSet) {
	fs.StringVar(&s.file, "token", "", "`file` with the secret that both machines share; without the flag, the variable "+tokenVariable)
}

// read returns the token, empty if there is none.
func (s secret) read() (control.Token, error) {
	text, from := []byte(os.Getenv(tokenVariable)), tokenVariable
	if s.file != "" {
		var err error
		if text, err = os.ReadFile(s.file); err != nil {
			return nil, fmt.Errorf("-token: %w", err)
		}
		from = "-token " + s.file
	}
	token := control.Token(bytes.TrimSpace(text))
	if len(token) == 0 && s.file == "" {
		return nil, nil
	}
	if err := token.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	return token, nil
}

// A peer is what a run with another machine needs to be told. Without an address
// there is none.
type peer struct {
	addr    string
	iface   string
	secret  secret
	cpu     int // -1: the last that this process may use
	reverse bool
}

func (p *peer) define(fs *flag.FlagSet) {
	fs.StringVar(&p.addr, "peer", "", "run with the machine at this `host[:port]`, where bench serve runs")
	fs.StringVar(&p.iface, "i", "", "with -peer: the `interface` of this machine to use")
	fs.IntVar(&p.cpu, "cpu", -1, "with -peer: the `processor` of this machine to use; -1 is the last one")
	fs.BoolVar(&p.reverse, "reverse", false, "with -peer: the other machine sends, or asks")
	p.secret.define(fs)
}

// validate checks what belongs together, and completes the address.
func (p *peer) validate() error {
	if p.addr == "" {
		if p.iface != "" || p.secret.file != "" || p.cpu != -1 || p.reverse {
			return errors.New("-i, -token, -cpu and -reverse go with -peer only")
		}
		return nil
	}
	if p.iface == "" {
		return errors.New("-peer needs -i: which interface of this machine to use")
	}
	if _, _, err := net.SplitHostPort(p.addr); err != nil {
		p.addr = net.JoinHostPort(p.addr, defaultPort)
	}
	return nil
}

// longest is how long a plan may take, with much room: a server ends what takes
// longer, and tells others that come to wait for so long.
func longest(plan suite.Plan) time.Duration {
	const slack, step = 5 * time.Minute, 2 * time.Second // to open and close paths
	return slack + time.Duration(len(plan.Steps())*plan.Windows())*(plan.Duration+plan.Warmup+step)
}
