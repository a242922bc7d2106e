// SPDX-License-Identifier: MIT

package bpf

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// attachError tells why no way to attach worked. It is each of its causes in the
// sense of errors.Is.
type attachError struct {
	device string
	rungs  []string
	causes []error
	hint   string
}

func (e *attachError) add(d *device, r rung, err error) {
	e.rungs = append(e.rungs, r.attempt(err).String())
	e.causes = append(e.causes, err)
	if h := hint(d, r, err); h != "" {
		e.hint = h
	}
}

func (e *attachError) Error() string {
	s := fmt.Sprintf("bpf: attach %s: %s", e.device, strings.Join(e.rungs, ", "))
	if e.hint != "" {
		s += "; " + e.hint
	}
	return s
}

func (e *attachError) Unwrap() []error { return e.causes }

// hint says what to do about a refusal. The kernel gives the driver's own words
// to a tracepoint only (bpf_xdp_link_attach_failed), so this goes by errno.
func hint(d *device, r rung, err error) string {
	if r.mode != Native {
		return ""
	}
	const usualMTU = 1500
	switch {
	case errors.Is(err, unix.ERANGE), errors.Is(err, unix.EINVAL) && d.mtu > usualMTU,
		errors.Is(err, unix.EOPNOTSUPP) && d.mtu > usualMTU && d.kind == "device":
		return mtuHint(d, r)
	case errors.Is(err, unix.EOPNOTSUPP):
		return fmt.Sprintf("the driver (%s) has no native XDP: use generic mode, or the device below if there is one", d.kind)
	}
	return ""
}

// mtuHint names the numbers. A native program without frags needs each frame in
// one page beside headroom (256 bytes) and the kernel's own data (some 320); on
// veth it is the peer's MTU that must fit, as the peer's packets are what comes.
func mtuHint(d *device, r rung) string {
	whose := fmt.Sprintf("the MTU of %s, %d,", d.name, d.mtu)
	if d.kind == "veth" {
		whose = fmt.Sprintf("the MTU of the peer of %s (its own is %d)", d.name, d.mtu)
	}
	if r.frags {
		return whose + " is too large even with frags: lower it or use generic mode"
	}
	const taken = 256 + 320 + 14
	return fmt.Sprintf("%s may be too large for a native program without frags, which takes about %d:"+
		" lower it, allow frags (Linux 5.18 and a driver that has them), or use generic mode",
		whose, os.Getpagesize()-taken)
}
