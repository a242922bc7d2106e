// SPDX-License-Identifier: MIT

package stream

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"
)

// A barred sender is refused every other time, in the middle of a batch.
type barred struct {
	calls   int
	numbers []byte
	bufs    [4][HeaderSize]byte
	err     error
}

func (b *barred) Reserve(bufs [][]byte) (int, error) {
	for i := range bufs {
		bufs[i] = b.bufs[i][:]
	}
	return len(bufs), nil
}

func (b *barred) Send(n int) (int, error) {
	b.calls++
	for _, buf := range b.bufs[1:n] { // the first one is refused
		b.numbers = append(b.numbers, buf[7])
	}
	if b.calls%2 == 0 {
		b.numbers = append(b.numbers, b.bufs[0][7])
		return n, nil
	}
	return n - 1, b.err
}

func (b *barred) Flush() (int, error) { return 0, nil }

// TestTransmitRefused goes on after what it was refused, and gives no number twice.
func TestTransmitRefused(t *testing.T) {
	b := &barred{err: fmt.Errorf("send: %w", syscall.ENETUNREACH)}
	sent, err := Transmit(t.Context(), b, NewGenerator(HeaderSize, 1), 4, 10*time.Millisecond)
	if err != nil || sent.Refused == 0 || !errors.Is(sent.Why, syscall.ENETUNREACH) || int(sent.Datagrams) != len(b.numbers) {
		t.Errorf("%+v, %v; %d numbers", sent, err, len(b.numbers))
	}
	seen := map[byte]bool{}
	for _, n := range b.numbers[:min(len(b.numbers), 100)] {
		if seen[n] {
			t.Errorf("number %d came twice", n)
		}
		seen[n] = true
	}
	b.err = errors.New("broken")
	if _, err := Transmit(t.Context(), b, NewGenerator(HeaderSize, 1), 4, time.Minute); err != b.err {
		t.Errorf("error %v", err)
	}
}

func TestRefused(t *testing.T) {
	for err, want := range map[error]bool{
		syscall.ENETDOWN: true, syscall.ENETUNREACH: true, syscall.EHOSTUNREACH: true, syscall.EAGAIN: true,
		syscall.EPERM: false, syscall.EMSGSIZE: false, syscall.ECONNREFUSED: false, errors.New("x"): false,
	} {
		if Refused(fmt.Errorf("send: %w", err)) != want {
			t.Errorf("%v", err)
		}
	}
}
