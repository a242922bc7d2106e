// SPDX-License-Identifier: MIT

package control

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

const (
	// MaxMessage is the largest message in bytes, its length field left out.
	MaxMessage = 64 << 10
	// MessageTime is how long a message may take from its first byte to its
	// last, either way.
	MessageTime = 10 * time.Second
)

// A Conn carries messages over a stream. One goroutine may send while another
// receives.
type Conn struct {
	c        net.Conn
	patience time.Duration // MessageTime but in tests
}

// NewConn returns a Conn over c, which it owns from now on.
func NewConn(c net.Conn) *Conn { return &Conn{c: c, patience: MessageTime} }

// Close closes the stream and ends a Receive that waits.
func (c *Conn) Close() error { return c.c.Close() }

// Send sends one message.
func (c *Conn) Send(m Message) error {
	text, err := Encode(m)
	if err != nil {
		return err
	}
	if err := c.c.SetWriteDeadline(time.Now().Add(c.patience)); err != nil {
		return fmt.Errorf("control: send %s: %w", m.Type, err)
	}
	if _, err := c.c.Write(text); err != nil {
		return fmt.Errorf("control: send %s: %w", m.Type, err)
	}
	return nil
}

// Receive waits for the next message, for its first byte until the deadline,
// which may be zero for none. The error is io.EOF if the other end closed the
// stream between two messages. After any error the stream is of no more use.
func (c *Conn) Receive(deadline time.Time) (Message, error) {
	if err := c.c.SetReadDeadline(deadline); err != nil {
		return Message{}, fmt.Errorf("control: receive: %w", err)
	}
	var head [4]byte
	if _, err := io.ReadFull(c.c, head[:1]); err != nil {
		if errors.Is(err, io.EOF) {
			return Message{}, io.EOF
		}
		return Message{}, fmt.Errorf("control: receive: %w", err)
	}
	if err := c.c.SetReadDeadline(time.Now().Add(c.patience)); err != nil {
		return Message{}, fmt.Errorf("control: receive: %w", err)
	}
	return decode(head, c.c)
}

// Watch waits until ctx is done, and returns nil; or until the other end closes
// the stream or says something unasked, and tells so. No Receive or Call may run
// beside it.
func (c *Conn) Watch(ctx context.Context) error {
	if err := c.c.SetReadDeadline(time.Time{}); err != nil {
		return fmt.Errorf("control: watch: %w", err)
	}
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		_ = c.c.SetReadDeadline(time.Unix(1, 0)) // if the stream is gone, Read knows
	})
	n, err := c.c.Read(make([]byte, 1))
	if !stop() {
		<-interrupted // or its deadline would hit the next Receive
	}
	switch {
	case n > 0:
		return errors.New("control: watch: a message that nobody asked for")
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil
	case errors.Is(err, io.EOF):
		return fmt.Errorf("control: watch: %w", io.ErrUnexpectedEOF)
	default:
		return fmt.Errorf("control: watch: %w", err)
	}
}

// Call sends a question and waits at most wait for the answer. The answer
// error is returned as an *Error.
func (c *Conn) Call(question Message, wait time.Duration) (Message, error) {
	if err := c.Send(question); err != nil {
		return Message{}, err
	}
	answer, err := c.Receive(time.Now().Add(wait))
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return Message{}, fmt.Errorf("control: answer to %s: %w", question.Type, err)
	}
	if answer.Type == TypeError {
		return Message{}, answer.Error
	}
	return answer, nil
}

// Error makes an answer of type error an error of its own.
func (e *Error) Error() string { return e.Reason }

// Encode returns the bytes of m on the stream. Long texts in it are cut.
func Encode(m Message) ([]byte, error) {
	if m.Error != nil && len(m.Error.Reason) > maxText {
		m.Error = &Error{Reason: m.Error.Reason[:maxText]}
	}
	if err := m.validate(); err != nil {
		return nil, fmt.Errorf("control: send %w", err)
	}
	text, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("control: send %s: %w", m.Type, err)
	}
	if len(text) > MaxMessage {
		return nil, fmt.Errorf("control: send %s: %d bytes, more than %d", m.Type, len(text), MaxMessage)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...), nil
}

// Decode reads one message from r.
func Decode(r io.Reader) (Message, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:1]); err != nil {
		return Message{}, err
	}
	return decode(head, r)
}

// decode reads what follows the first byte of a message.
func decode(head [4]byte, r io.Reader) (Message, error) {
	if _, err := io.ReadFull(r, head[1:]); err != nil {
		return Message{}, fmt.Errorf("control: receive length: %w", unexpected(err))
	}
	n := binary.BigEndian.Uint32(head[:])
	if n == 0 || n > MaxMessage {
		return Message{}, fmt.Errorf("control: receive: message of %d bytes, must be 1 to %d", n, MaxMessage)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return Message{}, fmt.Errorf("control: receive %d bytes: %w", n, unexpected(err))
	}
	var m Message
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return Message{}, fmt.Errorf("control: receive: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return Message{}, errors.New("control: receive: more than one JSON value in a message")
	}
	if err := m.validate(); err != nil {
		return Message{}, fmt.Errorf("control: receive %w", err)
	}
	return m, nil
}

// unexpected makes the end of the stream inside a message an error that does
// not look like the end between two.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
