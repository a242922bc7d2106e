// SPDX-License-Identifier: MIT

package iperf3

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

const (
	// MaxMessage is the longest JSON in bytes. The results of 128 streams take a tenth.
	MaxMessage = 256 << 10
	// patience is how long a message may take, from when it is due to its last byte.
	patience = 10 * time.Second
	// cookieSize is of the client's first words: 36 characters and a zero.
	cookieSize = 37
)

// control is the TCP connection. One goroutine may send while another receives.
type control struct {
	c        net.Conn
	patience time.Duration
}

// newCookie makes the words by which a client's connections know each other.
func newCookie() ([]byte, error) {
	random := make([]byte, 25) // 40 characters
	if _, err := rand.Read(random); err != nil {
		return nil, fmt.Errorf("make a cookie: %w", err)
	}
	text := strings.ToLower(base32.StdEncoding.EncodeToString(random))
	return append([]byte(text[:cookieSize-1]), 0), nil
}

// readCookie takes it, whatever it is: nothing depends on it.
func (c control) readCookie() error {
	_, err := c.read(make([]byte, cookieSize), time.Now().Add(c.patience))
	return err
}

func (c control) read(b []byte, deadline time.Time) (int, error) {
	if err := c.c.SetReadDeadline(deadline); err != nil {
		return 0, err
	}
	return c.fill(b)
}

// fill reads as much as b has room for.
func (c control) fill(b []byte) (int, error) {
	n, err := io.ReadFull(c.c, b)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = fmt.Errorf("the other end hung up: %w", io.ErrUnexpectedEOF)
	}
	return n, err
}

func (c control) write(b []byte) error {
	if err := c.c.SetWriteDeadline(time.Now().Add(c.patience)); err != nil {
		return err
	}
	_, err := c.c.Write(b)
	return err
}

// tell sends a state.
func (c control) tell(s State) error {
	if err := c.write([]byte{byte(s)}); err != nil {
		return fmt.Errorf("say %q: %w", s, err)
	}
	return nil
}

// hear waits for a state until the deadline. A server's error is an error of this
// call.
func (c control) hear(deadline time.Time) (State, error) {
	if err := c.c.SetReadDeadline(deadline); err != nil {
		return 0, err
	}
	return c.state()
}

// state is hear with the deadline that stands.
func (c control) state() (State, error) {
	var b [1]byte
	if _, err := c.fill(b[:]); err != nil {
		return 0, err
	}
	switch s := State(b[0]); s {
	case AccessDenied:
		return s, errors.New("the server is busy with another test")
	case ServerTerminate, ClientTerminate:
		return s, errors.New("the other end gives up")
	case ServerError:
		var numbers [8]byte
		if _, err := c.read(numbers[:], time.Now().Add(c.patience)); err != nil {
			return s, errors.New("the server has an error, which it does not tell")
		}
		return s, fmt.Errorf("the server has error %d of iperf3, errno %d", int32(binary.BigEndian.Uint32(numbers[:])), int32(binary.BigEndian.Uint32(numbers[4:])))
	default:
		return s, nil
	}
}

// expect hears one certain state.
func (c control) expect(want State, deadline time.Time) error {
	got, err := c.hear(deadline)
	switch {
	case err != nil:
		return fmt.Errorf("wait for %q: %w", want, err)
	case got != want:
		return fmt.Errorf("%q, want %q", got, want)
	}
	return nil
}

// refuse tells a client the number of an error.
func (c control) refuse(number int32) error {
	b := []byte{0xfe} // ServerError
	b = binary.BigEndian.AppendUint32(b, uint32(number))
	return c.write(binary.BigEndian.AppendUint32(b, 0))
}

// send sends JSON with its length.
func (c control) send(what string, v any) error {
	text, err := encode(v)
	if err == nil {
		err = c.write(text)
	}
	if err != nil {
		return fmt.Errorf("send %s: %w", what, err)
	}
	return nil
}

func encode(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if len(text) > MaxMessage {
		return nil, fmt.Errorf("%d bytes, more than %d", len(text), MaxMessage)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...), nil
}

// receive reads JSON with its length.
func (c control) receive(what string, v any) error {
	if err := c.c.SetReadDeadline(time.Now().Add(c.patience)); err != nil {
		return err
	}
	if err := decode(c.c, v); err != nil {
		return fmt.Errorf("receive %s: %w", what, err)
	}
	return nil
}

// decode takes no more memory than the message has bytes, whatever length it claims.
func decode(r io.Reader, v any) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size == 0 || size > MaxMessage {
		return fmt.Errorf("%d bytes: must be 1 to %d", size, MaxMessage)
	}
	text, err := io.ReadAll(io.LimitReader(r, int64(size)))
	if err != nil {
		return err
	}
	if len(text) < int(size) {
		return io.ErrUnexpectedEOF
	}
	return json.Unmarshal(text, v)
}
