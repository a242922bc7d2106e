// SPDX-License-Identifier: MIT

package remote

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"testing"
	"time"

	"github.com/xdpath/xdpath/bench/internal/control"
)

// FuzzServer has a client send anything, from the greeting on, or from where it has a
// session, or a worker with an open path. Whatever it is, the server lets go of the
// connection when the client has, and no worker is left.
func FuzzServer(f *testing.F) {
	encode := func(ms ...control.Message) (all []byte) {
		for _, m := range ms {
			text, err := json.Marshal(m)
			if err != nil {
				f.Fatal(err)
			}
			all = append(binary.BigEndian.AppendUint32(all, uint32(len(text))), text...)
		}
		return all
	}
	f.Add(byte(0), []byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add(byte(0), []byte(control.Own().String()+"\n\xff\xff\xff\xff"))
	f.Add(byte(1), encode(control.Message{Type: control.TypeWorker}))
	f.Add(byte(1), encode(control.Message{Type: control.TypeBye}))
	f.Add(byte(2), encode(control.Message{Type: control.TypeStart, Start: &control.Start{Run: 1, Duration: time.Millisecond}}))
	f.Add(byte(2), encode(control.Message{Type: control.TypeClose}))
	f.Add(byte(2), encode(question(control.RoleReceiver), control.Message{Type: control.TypeTotals}))
	f.Fuzz(func(t *testing.T, stage byte, data []byte) {
		w := newWorkers()
		s := NewServer(ServerConfig{Limit: time.Hour, Start: w.start, place: here, Log: func(string) {}})
		theirs, raw := net.Pipe()
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.Handle(context.Background(), theirs)
		}()
		c := client{control.NewConn(raw), raw}
		if stage%3 > 0 {
			if _, err := c.join(control.Own(), nil); err != nil {
				t.Fatal(err)
			}
		}
		if stage%3 > 1 {
			c.must(t, control.Message{Type: control.TypeWorker}, control.TypeOK)
			c.must(t, control.Message{Type: control.TypeHello, Hello: &control.Hello{Version: control.Version}}, control.TypeHello)
			c.must(t, question(control.RoleSender), control.TypeReady)
		}
		go func() { _, _ = io.Copy(io.Discard, raw) }()
		_ = raw.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = raw.Write(data) // the server may have hung up meanwhile
		_ = raw.Close()
		select {
		case <-done:
		case <-time.After(wait):
			t.Fatal("the server holds on to a client that has gone")
		}
		if n := w.alive.Load(); n != 0 || s.user != "" {
			t.Fatalf("%d workers are left, session of %q", n, s.user)
		}
	})
}
