// SPDX-License-Identifier: MIT

package control

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xdpath/xdpath/examples/camera/gv"
)

func dial(t *testing.T, cfg Config) *Client {
	t.Helper()
	c, err := Dial(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestRegisters(t *testing.T) {
	for _, c := range []struct {
		name string
		stub *stub
		cfg  Config
	}{
		{"plain", &stub{}, Config{}},
		{"answers are lost", &stub{deaf: 2}, Config{Timeout: 20 * time.Millisecond}},
		{"it takes its time", &stub{pending: 50 * time.Millisecond}, Config{Timeout: 20 * time.Millisecond, Tries: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := local(t, c.stub)
			c.cfg.Camera = s.addr()
			client := dial(t, c.cfg)
			who, err := client.Identity(t.Context())
			if err != nil || who.Model != "Stub" {
				t.Errorf("%+v, %v", who, err)
			}
			if err := client.Write(t.Context(), 0x104, 512); err != nil {
				t.Error(err)
			}
			if v, err := client.Read(t.Context(), 0x104); v != 512 || err != nil {
				t.Errorf("%d, %v", v, err)
			}
		})
	}
}

func TestRefusal(t *testing.T) {
	s := local(t, &stub{refuse: map[uint32]gv.Status{0x104: gv.WriteProtect, gv.RegCCP: gv.AccessDenied}})
	client := dial(t, Config{Camera: s.addr()})
	if err := client.Write(t.Context(), 0x104, 1); !errors.Is(err, gv.WriteProtect) {
		t.Error(err)
	}
	if err := client.Take(t.Context()); !errors.Is(err, gv.AccessDenied) {
		t.Error(err)
	}
}

func TestNoAnswer(t *testing.T) {
	s := local(t, &stub{deaf: 1 << 30})
	client := dial(t, Config{Camera: s.addr(), Timeout: 5 * time.Millisecond, Tries: 3})
	if _, err := client.Read(t.Context(), 0); !errors.Is(err, ErrNoAnswer) {
		t.Error(err)
	}
	s.stop() // from now on the host says that nobody is there
	if _, err := client.Read(t.Context(), 0); !errors.Is(err, ErrNoAnswer) {
		t.Error(err)
	}
	if _, err := Dial(Config{Camera: netip.MustParseAddrPort("[::1]:1")}); err == nil {
		t.Error("an IPv6 address was taken")
	}
}

// The end of the context ends the wait; the client can be used after it.
func TestContext(t *testing.T) {
	s := local(t, &stub{deaf: 1})
	client := dial(t, Config{Camera: s.addr(), Timeout: time.Hour})
	ctx, stop := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, stop)
	if _, err := client.Read(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := client.Read(t.Context(), 0); err != nil {
		t.Error(err)
	}
}

func TestResend(t *testing.T) {
	s := local(t, &stub{})
	client := dial(t, Config{Camera: s.addr()})
	want := []gv.Resend{{Block: 7, First: 1, Last: 3}, {Block: 1 << 40, First: 5, Last: 5, Extended: true}}
	for _, r := range want {
		if err := client.Resend(r); err != nil {
			t.Error(err)
		}
	}
	if can, err := client.CanResend(t.Context()); !can || err != nil { // it is answered after those
		t.Errorf("%v, %v", can, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if diff := cmp.Diff(want, s.resends); diff != "" {
		t.Error(diff)
	}
}

// Heartbeats go on until control is gone, and whoever keeps it is told.
func TestKeep(t *testing.T) {
	s := local(t, &stub{})
	client := dial(t, Config{Camera: s.addr()})
	if err := client.Take(t.Context()); err != nil || s.get(gv.RegCCP) != gv.CCPControl {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- client.Keep(t.Context()) }()
	beaten := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.reads[gv.RegCCP] >= 3
	}
	for !beaten() {
		select {
		case err := <-ended:
			t.Fatal(err)
		case <-time.After(time.Millisecond):
		}
	}
	s.set(gv.RegCCP, 0)
	if err := <-ended; !errors.Is(err, ErrLost) {
		t.Error(err)
	}
	s.set(gv.RegCCP, gv.CCPControl)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := client.Keep(ctx); err != nil {
		t.Error(err)
	}
	if err := client.Leave(t.Context()); err != nil || s.get(gv.RegCCP) != 0 {
		t.Error(err)
	}
}
