// SPDX-License-Identifier: MIT

package route

import (
	"encoding/binary"
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// rtnetlink needs no rights and no network of its own for what is asked here.
func newTestRequester(t *testing.T, size int) *requester {
	t.Helper()
	r, err := newRequester(size)
	must(t, err)
	t.Cleanup(r.close)
	return r
}

func loopback(m map[int]link, b []byte) error {
	found, err := parseLink(b)
	m[found.index] = found.link
	return err
}

func TestRequest(t *testing.T) {
	r := newTestRequester(t, dumpSize)
	got, err := list(r, unix.RTM_GETLINK, linkRequest(0), loopback)
	if err != nil || got[1].name != "lo" || got[1].flags&unix.IFF_LOOPBACK != 0 || got[1].mtu == 0 {
		t.Errorf("got %+v, %v", got[1], err)
	}
	err = r.do(unix.RTM_GETLINK, 0, linkRequest(1<<30), func([]byte) error { return nil })
	if !errors.Is(err, unix.ENODEV) {
		t.Errorf("no such interface: got %v, want ENODEV", err)
	}
}

// An error in the midst of a table ends neither the table nor the requester.
func TestRequestAfterError(t *testing.T) {
	r := newTestRequester(t, dumpSize)
	for range 3 {
		want := errors.New("not understood")
		if _, err := list(r, unix.RTM_GETLINK, linkRequest(0), func(map[int]link, []byte) error { return want }); err != want {
			t.Errorf("got %v, want %v", err, want)
		}
		if got, err := list(r, unix.RTM_GETLINK, linkRequest(0), loopback); err != nil || got[1].name != "lo" {
			t.Errorf("afterwards: got %v, %v", got, err)
		}
	}
}

// What does not fit is an error, not a piece of a message.
func TestAnswerTooLong(t *testing.T) {
	r := newTestRequester(t, 32)
	err := r.do(unix.RTM_GETLINK, 0, linkRequest(1), func([]byte) error { return nil })
	if !errors.Is(err, unix.EMSGSIZE) {
		t.Errorf("got %v, want EMSGSIZE", err)
	}
}

// A wait that has ended without an answer leaves no deadline behind.
func TestReceiveWithin(t *testing.T) {
	r := newTestRequester(t, dumpSize)
	if _, err := r.socket.receiveWithin(r.in, time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v, want os.ErrDeadlineExceeded", err)
	}
	if _, err := r.socket.receive(r.in, false); err != unix.EAGAIN {
		t.Errorf("got %v, want EAGAIN", err)
	}
}

func TestExchange(t *testing.T) {
	code := func(n int32) []byte { return binary.NativeEndian.AppendUint32(nil, uint32(n)) }
	stop := errors.New("stop")
	answer := func(b []byte) error {
		if len(b) == 0 {
			return stop
		}
		return nil
	}
	const multi, interrupted = unix.NLM_F_MULTI, unix.NLM_F_MULTI | unix.NLM_F_DUMP_INTR
	for _, tc := range []struct {
		name string
		in   []header
		body [][]byte
		want exchange
	}{
		{"one", []header{{typ: unix.RTM_NEWROUTE}}, [][]byte{{1}}, exchange{done: true}},
		{"acknowledged", []header{{typ: unix.NLMSG_ERROR}}, [][]byte{code(0)}, exchange{done: true}},
		{"refused", []header{{typ: unix.NLMSG_ERROR}}, [][]byte{code(-101)}, exchange{done: true, err: unix.ENETUNREACH}},
		{"nothing", []header{{typ: unix.NLMSG_NOOP}}, [][]byte{nil}, exchange{}},
		{"table under way", []header{{typ: unix.RTM_NEWLINK, flags: multi}}, [][]byte{{1}}, exchange{}},
		{"table", []header{{typ: unix.RTM_NEWLINK, flags: multi}, {typ: unix.NLMSG_DONE, flags: multi}}, [][]byte{{1}, nil}, exchange{done: true}},
		{"changed", []header{{typ: unix.RTM_NEWLINK, flags: interrupted}, {typ: unix.NLMSG_DONE, flags: multi}}, [][]byte{{1}, code(0)},
			exchange{done: true, interrupted: true}},
		{"not understood", []header{{typ: unix.RTM_NEWLINK, flags: multi}, {typ: unix.NLMSG_DONE, flags: multi}}, [][]byte{{}, code(-5)},
			exchange{done: true, err: stop}},
	} {
		var ex exchange
		for i := range tc.in {
			ex.take(tc.in[i], tc.body[i], answer)
		}
		if ex != tc.want {
			t.Errorf("%s: got %+v, want %+v", tc.name, ex, tc.want)
		}
	}
}

// A table that changes while it is read is read again, from the start, and not for
// ever.
func TestInterrupted(t *testing.T) {
	r := newTestRequester(t, dumpSize)
	tries := 0
	got, err := list(r, unix.RTM_GETLINK, linkRequest(0), func(m map[int]link, b []byte) error {
		if m[tries] = (link{}); tries == 2 {
			return nil
		}
		tries++
		return errInterrupted
	})
	if _, ok := got[2]; err != nil || !ok || len(got) != 1 {
		t.Errorf("got %v, %v, want what the third attempt read", got, err)
	}
	_, err = list(r, unix.RTM_GETLINK, linkRequest(0), func(map[int]link, []byte) error { return errInterrupted })
	if !errors.Is(err, errInterrupted) {
		t.Errorf("got %v, want %v", err, errInterrupted)
	}
}
