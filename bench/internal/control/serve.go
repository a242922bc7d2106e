// SPDX-License-Identifier: MIT

package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// ErrBye ends Serve after an answer that comes with it has been sent.
var ErrBye = errors.New("bye")

// Serve answers the questions of the other end of conn until that closes the stream,
// or answer returns ErrBye, which are no errors, or it breaks the protocol. Any other
// error of answer goes back as an answer. When ctx is done the other end is told why,
// and Serve returns that. It closes conn.
//
// The ctx of an answer is done as soon as there is nobody left to give it to.
func Serve(ctx context.Context, conn *Conn, answer func(ctx context.Context, q Message) (Message, error)) error {
	own, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	questions, read := make(chan Message, 1), make(chan struct{})
	go func() {
		defer close(read)
		cancel(readAll(own, conn, questions))
	}()
	err := answerAll(own, conn, questions, answer)
	if ctx.Err() != nil && own.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		_ = conn.Send(reason(err)) // best effort: it is over
	}
	err = errors.Join(err, conn.Close())
	<-read
	return err
}

// readAll passes messages on until the stream ends, and tells why. Reading goes on
// while an answer takes its time, so that the end of the asker is seen at once.
func readAll(ctx context.Context, conn *Conn, to chan<- Message) error {
	for {
		m, err := conn.Receive(time.Time{})
		if err != nil {
			return err
		}
		select {
		case to <- m:
		case <-ctx.Done():
			return context.Cause(ctx)
		default:
			return errors.New("control: question before the answer to the last one")
		}
	}
}

// answerAll answers until there is nobody to answer any more.
func answerAll(ctx context.Context, conn *Conn, questions <-chan Message, answer func(context.Context, Message) (Message, error)) error {
	for {
		select {
		case q := <-questions:
			a, err := answer(ctx, q)
			if err != nil && err != ErrBye {
				a = reason(err)
			}
			if sendErr := conn.Send(a); sendErr != nil || err == ErrBye {
				return hungUp(ctx, sendErr)
			}
		case <-ctx.Done():
			return hungUp(ctx, context.Cause(ctx))
		}
	}
}

// reason makes an answer of an error.
func reason(err error) Message {
	text := err.Error()
	if text == "" {
		text = fmt.Sprintf("%T", err)
	}
	return Message{Type: TypeError, Error: &Error{Reason: text}}
}

// hungUp returns err, unless all that happened is that the other end closed the
// stream between two of its messages. It may do so while it waits.
func hungUp(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), io.EOF) {
		return nil
	}
	return err
}
