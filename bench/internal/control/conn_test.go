// SPDX-License-Identifier: MIT

package control

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// pair returns a Conn and the bare other end of its stream.
func pair(t *testing.T) (*Conn, net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	b, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	a, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c := NewConn(a)
	t.Cleanup(func() { _, _ = c.Close(), b.Close() })
	return c, b
}

func TestCall(t *testing.T) {
	c, other := pair(t)
	answers := []Message{
		{Type: TypeOK},
		{Type: TypeError, Error: &Error{Reason: "no such path"}},
	}
	go func() {
		worker := NewConn(other)
		for _, a := range answers {
			if m, err := worker.Receive(time.Time{}); err != nil || m.Type != TypeStop {
				t.Errorf("question %+v, %v", m, err)
			}
			if err := worker.Send(a); err != nil {
				t.Error(err)
			}
		}
		_ = other.Close()
	}()
	if a, err := c.Call(Message{Type: TypeStop}, time.Minute); err != nil || a.Type != TypeOK {
		t.Errorf("answer %+v, %v", a, err)
	}
	var reason *Error
	if _, err := c.Call(Message{Type: TypeStop}, time.Minute); !errors.As(err, &reason) || reason.Reason != "no such path" {
		t.Errorf("error %v, want the worker's", err)
	}
	if _, err := c.Call(Message{Type: TypeStop}, time.Minute); err == nil || errors.As(err, &reason) {
		t.Errorf("error %v of a closed stream", err)
	}
}

func TestReceiveEnds(t *testing.T) {
	t.Run("between two messages", func(t *testing.T) {
		c, other := pair(t)
		_ = other.Close()
		if _, err := c.Receive(time.Time{}); err != io.EOF {
			t.Errorf("error %v, want EOF", err)
		}
	})
	t.Run("inside a message", func(t *testing.T) {
		c, other := pair(t)
		go func() {
			_, _ = other.Write([]byte("\x00\x00"))
			_ = other.Close()
		}()
		if _, err := c.Receive(time.Time{}); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("error %v, want unexpected EOF", err)
		}
	})
	t.Run("at the deadline", func(t *testing.T) {
		c, _ := pair(t)
		if _, err := c.Receive(time.Now().Add(10 * time.Millisecond)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("error %v, want deadline exceeded", err)
		}
	})
	t.Run("by close", func(t *testing.T) {
		c, _ := pair(t)
		time.AfterFunc(10*time.Millisecond, func() { _ = c.Close() })
		if _, err := c.Receive(time.Time{}); !errors.Is(err, net.ErrClosed) {
			t.Errorf("error %v, want closed", err)
		}
	})
}

// TestReceiveStalled sends the first byte of a message and then nothing: the
// receiver must not wait for the rest for ever, though it waits for the first
// byte without limit.
func TestReceiveStalled(t *testing.T) {
	c, other := pair(t)
	c.patience = 50 * time.Millisecond
	if _, err := other.Write([]byte{0}); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if _, err := c.Receive(time.Time{}); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("error %v, want deadline exceeded", err)
	}
	if took := time.Since(begun); took < c.patience {
		t.Errorf("gave up after %v, want %v", took, c.patience)
	}
}

// TestSendStalled sends to someone who does not read.
func TestSendStalled(t *testing.T) {
	c, _ := pair(t)
	c.patience = 50 * time.Millisecond
	m := Message{Type: TypeHello, Hello: &Hello{Facts: Facts{CPUModel: strings.Repeat("x", MaxMessage/2)}}}
	for range 10_000 { // more than the buffers of any machine hold
		if err := c.Send(m); err != nil {
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("error %v, want deadline exceeded", err)
			}
			return
		}
	}
	t.Error("sent 300 MB to nobody")
}

func TestSendRefuses(t *testing.T) {
	c, _ := pair(t)
	for name, m := range map[string]Message{
		"no type":  {},
		"no body":  {Type: TypeHello},
		"too long": {Type: TypeHello, Hello: &Hello{Facts: Facts{CPUModel: strings.Repeat("x", MaxMessage)}}},
	} {
		if err := c.Send(m); err == nil {
			t.Errorf("%s: sent", name)
		}
	}
}

func TestWatch(t *testing.T) {
	t.Run("until told", func(t *testing.T) {
		c, other := pair(t)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Millisecond, cancel)
		if err := c.Watch(ctx); err != nil {
			t.Fatal(err)
		}
		// The stream is as good as before.
		b, err := Encode(Message{Type: TypeOK})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.Write(b); err != nil {
			t.Fatal(err)
		}
		if m, err := c.Receive(time.Now().Add(time.Minute)); err != nil || m.Type != TypeOK {
			t.Errorf("%+v, %v", m, err)
		}
	})
	t.Run("until the other end is gone", func(t *testing.T) {
		c, other := pair(t)
		time.AfterFunc(10*time.Millisecond, func() { _ = other.Close() })
		if err := c.Watch(t.Context()); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("error %v, want unexpected EOF", err)
		}
	})
	t.Run("until the other end talks", func(t *testing.T) {
		c, other := pair(t)
		if _, err := other.Write([]byte{0}); err != nil {
			t.Fatal(err)
		}
		if err := c.Watch(t.Context()); err == nil || !strings.Contains(err.Error(), "nobody asked") {
			t.Errorf("error %v", err)
		}
	})
}
