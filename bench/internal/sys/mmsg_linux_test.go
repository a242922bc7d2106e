// SPDX-License-Identifier: MIT

package sys

import (
	"errors"
	"fmt"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestLayout compares with struct mmsghdr: a msghdr, an unsigned int, and what
// the msghdr's alignment asks for.
func TestLayout(t *testing.T) {
	align := unsafe.Alignof(unix.Msghdr{})
	want := (unsafe.Sizeof(unix.Msghdr{}) + 4 + align - 1) / align * align
	if got := unsafe.Sizeof(mmsghdr{}); got != want {
		t.Errorf("mmsghdr has %d bytes, want %d", got, want)
	}
	if got := unsafe.Offsetof(mmsghdr{}.len); got != unsafe.Sizeof(unix.Msghdr{}) {
		t.Errorf("length at %d", got)
	}
}

// sockets returns two connected sockets.
func sockets(t *testing.T) (a, b int) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = unix.Close(fds[0]), unix.Close(fds[1]) })
	return fds[0], fds[1]
}

func buffers(n, size int) [][]byte {
	bufs := make([][]byte, n)
	for i := range bufs {
		bufs[i] = make([]byte, size)
	}
	return bufs
}

func TestBatch(t *testing.T) {
	a, b := sockets(t)
	out, in := buffers(6, 8), buffers(8, 16)
	tx, rx := NewBatch(out, 0), NewBatch(in, 64)
	for i, p := range out {
		copy(p, fmt.Sprintf("message%d", i))
	}
	// Not all of them: from the second to the fifth.
	if n, err := tx.Send(a, 1, 5, 0); n != 4 || err != nil {
		t.Fatalf("%d sent: %v", n, err)
	}
	n, err := rx.Receive(b, 3, unix.MSG_WAITFORONE)
	if n != 3 || err != nil {
		t.Fatalf("%d received: %v", n, err)
	}
	for i := range n {
		if got, want := string(in[i][:rx.Len(i)]), fmt.Sprintf("message%d", i+1); got != want || rx.Truncated(i) || len(rx.Control(i)) != 0 {
			t.Errorf("message %d is %q, want %q", i, got, want)
		}
	}
	if n, err := rx.Receive(b, 8, unix.MSG_WAITFORONE); n != 1 || err != nil || string(in[0][:rx.Len(0)]) != "message4" {
		t.Errorf("%d received: %v, %q", n, err, in[0])
	}
	if n, err := rx.Receive(b, 8, unix.MSG_DONTWAIT); n != 0 || !errors.Is(err, unix.EAGAIN) {
		t.Errorf("%d received: %v", n, err)
	}
}

func TestTruncated(t *testing.T) {
	a, b := sockets(t)
	if _, err := NewBatch([][]byte{[]byte("too long for it")}, 0).Send(a, 0, 1, 0); err != nil {
		t.Fatal(err)
	}
	rx := NewBatch(buffers(1, 8), 0)
	if n, err := rx.Receive(b, 1, 0); n != 1 || err != nil || !rx.Truncated(0) || rx.Len(0) != 8 {
		t.Errorf("%d received: %v, %d bytes, truncated %v", n, err, rx.Len(0), rx.Truncated(0))
	}
	if rx.Control(0) != nil {
		t.Error("control without room for it")
	}
}

// TestControl passes a descriptor, the simplest of control messages, and then
// receives a message without one into the same batch.
func TestControl(t *testing.T) {
	a, b := sockets(t)
	if err := unix.Sendmsg(a, []byte("x"), unix.UnixRights(a), nil, 0); err != nil {
		t.Fatal(err)
	}
	rx := NewBatch(buffers(1, 8), unix.CmsgSpace(4))
	if n, err := rx.Receive(b, 1, unix.MSG_CMSG_CLOEXEC); n != 1 || err != nil {
		t.Fatalf("%d received: %v", n, err)
	}
	messages, err := unix.ParseSocketControlMessage(rx.Control(0))
	if err != nil || len(messages) != 1 {
		t.Fatalf("%v: %v", messages, err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		t.Fatalf("%v: %v", fds, err)
	}
	_ = unix.Close(fds[0])
	if _, err := unix.Write(a, []byte("y")); err != nil {
		t.Fatal(err)
	}
	if n, err := rx.Receive(b, 1, 0); n != 1 || err != nil || len(rx.Control(0)) != 0 {
		t.Errorf("%d received: %v, control %x", n, err, rx.Control(0))
	}
}

func TestSocketDrops(t *testing.T) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	if n, err := SocketDrops(fd); n != 0 || err != nil {
		t.Errorf("%d drops of a new socket: %v", n, err)
	}
	if _, err := SocketDrops(-1); !errors.Is(err, unix.EBADF) {
		t.Errorf("error %v", err)
	}
}

// TestPairs sends messages of two buffers, the second of which changes.
func TestPairs(t *testing.T) {
	a, b := sockets(t)
	heads := [][]byte{[]byte("head0 "), []byte("head1 "), []byte("head2 ")}
	tx := NewPairs(heads)
	in := buffers(3, 64)
	rx := NewBatch(in, 0)
	for round, bodies := range [][]string{{"a", "bb", "ccc"}, {"longer than that", "b", "c"}} {
		heads[0][4] = byte('5' + round)
		for i, body := range bodies {
			tx.SetBody(i, []byte(body))
		}
		if n, err := tx.Send(a, 0, 3, 0); n != 3 || err != nil {
			t.Fatalf("%d sent: %v", n, err)
		}
		if n, err := rx.Receive(b, 3, unix.MSG_WAITFORONE); n != 3 || err != nil {
			t.Fatalf("%d received: %v", n, err)
		}
		for i, body := range bodies {
			if got, want := string(in[i][:rx.Len(i)]), string(heads[i])+body; got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
	}
}
