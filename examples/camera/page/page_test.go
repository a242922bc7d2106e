// SPDX-License-Identifier: MIT

package page

import (
	"encoding/json"
	"image/jpeg"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/xdpath/xdpath/examples/camera/assemble"
	"github.com/xdpath/xdpath/examples/camera/gv"
)

var status = Status{
	Camera: "Acme <b>One</b> 7", Via: "xdp: eth7", State: "receiving, with losses", Bad: true, Images: 49.96, Bytes: 65e6, Packets: 44123,
	Counters: assemble.Counters{CompletedBuffers: 12345, Failures: 3, ReceivedPackets: 11000000, MissingPackets: 17},
	Loss:     assemble.Loss{Wire: 10, Ring: 7, Consumer: 0}, Note: "Ring: a larger one.",
}

// red is an image that is all of one colour.
func red(id uint64, w, h int, status assemble.Status) *assemble.Image {
	b := make([]byte, 3*w*h)
	for i := 0; i < len(b); i += 3 {
		b[i], b[i+1], b[i+2] = 200, 30, 40
	}
	return &assemble.Image{ID: id, Status: status, Data: b, Leader: gv.Leader{PixelFormat: gv.RGB8, Width: uint32(w), Height: uint32(h)}}
}

// serve serves a page to which images are offered, from 1 on, until the test ends.
func serve(t *testing.T, image func(id uint64) *assemble.Image) *httptest.Server {
	t.Helper()
	p := New(func() Status { return status })
	srv := httptest.NewServer(p.Handler())
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for id := uint64(1); ; id++ {
			p.Offer(image(id))
			select {
			case <-stop:
				return
			case <-tick.C:
			}
		}
	}()
	t.Cleanup(func() {
		close(stop)
		<-done
		srv.Close()
	})
	return srv
}

func get(t *testing.T, address string) (*http.Response, []byte) {
	t.Helper()
	r, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r, b
}

func TestImages(t *testing.T) {
	srv := serve(t, func(id uint64) *assemble.Image { return red(id, 64, 48, assemble.Complete) })
	last := "0"
	for range 3 {
		r, b := get(t, srv.URL+"/image?after="+last)
		if r.StatusCode != http.StatusOK || r.Header.Get("X-Serial") == last {
			t.Fatalf("%s after %s: %s", r.Status, last, b)
		}
		last = r.Header.Get("X-Serial")
		what, err := url.PathUnescape(r.Header.Get("X-Image"))
		if err != nil || !strings.Contains(what, "64 × 48 RGB8, complete") || r.Header.Get("X-Complete") != "true" {
			t.Errorf("%q, %v", what, err)
		}
		p, err := jpeg.Decode(strings.NewReader(string(b)))
		if err != nil || p.Bounds().Dx() != 64 || p.Bounds().Dy() != 48 {
			t.Errorf("%v", err)
		}
		if r, g, b, _ := p.At(30, 20).RGBA(); r>>8 < 190 || g>>8 > 50 || b>>8 > 60 {
			t.Errorf("the colour is %d, %d, %d", r>>8, g>>8, b>>8)
		}
	}
}

// What cannot be shown is said; without an image the browser is told to ask again.
func TestNoImage(t *testing.T) {
	srv := serve(t, func(id uint64) *assemble.Image {
		m := red(id, 4, 4, assemble.Missing)
		m.Leader.PixelFormat = 0x02100032
		return m
	})
	if r, b := get(t, srv.URL+"/image"); r.StatusCode != http.StatusUnsupportedMediaType || !strings.Contains(string(b), "not one that can be shown") {
		t.Errorf("%s: %s", r.Status, b)
	}
	empty := serve(t, func(id uint64) *assemble.Image { return &assemble.Image{ID: id, Status: assemble.Missing} })
	if r, _ := get(t, empty.URL+"/image"); r.StatusCode != http.StatusNoContent {
		t.Error(r.Status)
	}
}

// Nobody watches: nothing is copied.
func TestUnwatched(t *testing.T) {
	p := New(func() Status { return status })
	m := red(1, 64, 48, assemble.Complete)
	if n := testing.AllocsPerRun(500, func() { p.Offer(m) }); n > 1 {
		t.Errorf("%v allocations an image", n)
	}
	if p.latest.data != nil || len(p.ends) != history {
		t.Errorf("%d bytes are kept, %d ends", len(p.latest.data), len(p.ends))
	}
}

// An image that is given back is written to again; the one shown must not change.
func TestOfferCopies(t *testing.T) {
	p := New(func() Status { return status })
	srv := httptest.NewServer(p.Handler())
	defer srv.Close()
	m := red(1, 64, 48, assemble.Complete)
	var once sync.WaitGroup
	once.Go(func() { get(t, srv.URL+"/image") })
	for range 1000 {
		p.Offer(m)
		p.mu.Lock()
		shown := p.latest.data
		p.mu.Unlock()
		if shown != nil {
			m.Data[0] = 0
			if shown[0] != 200 {
				t.Error("the image that is shown has changed")
			}
			break
		}
		time.Sleep(time.Millisecond) // the request is under way
	}
	once.Wait()
}

func TestStatus(t *testing.T) {
	srv := serve(t, func(id uint64) *assemble.Image { return red(id, 4, 4, assemble.Missing) })
	_, b := get(t, srv.URL+"/status")
	var m message
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	if m.Camera != status.Camera || m.Loss != status.Loss || m.Packets != 44123 || m.Counters[0] != (assemble.Count{Name: "n_completed_buffers", Value: 12345}) {
		t.Errorf("%+v", m)
	}
	if len(m.Ends) == 0 || m.Ends[0] != "missing packets" {
		t.Errorf("ends: %q", m.Ends)
	}
}

// The page asks no other server, and answers only who asks for this host.
func TestOwn(t *testing.T) {
	srv := serve(t, func(id uint64) *assemble.Image { return red(id, 4, 4, assemble.Complete) })
	r, b := get(t, srv.URL+"/")
	if r.StatusCode != http.StatusOK || !strings.Contains(r.Header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("%s, %v", r.Status, r.Header)
	}
	for _, word := range []string{"http://", "https://", "//cdn", "@import"} {
		if strings.Contains(string(b), word) {
			t.Errorf("the page has %q in it", word)
		}
	}
	for host, want := range map[string]int{"evil.example": 421, "evil.example:80": 421, "localhost:80": 200, "127.0.0.1": 200, "[::1]": 200, "[::1]:99": 200} {
		q, err := http.NewRequest("GET", srv.URL+"/status", nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Host = host
		r, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != want {
			t.Errorf("%s: %s, want %d", host, r.Status, want)
		}
	}
}

// A leader can claim any size: of an image that has not as many bytes no picture is
// made, which would take gigabytes.
func TestAbsurdLeader(t *testing.T) {
	p := New(func() Status { return status })
	p.asked = time.Now().Add(time.Hour) // somebody watches
	m := red(1, 8, 8, assemble.SizeMismatch)
	for _, side := range []uint32{9, 1 << 15, 1<<32 - 1} {
		m.Leader.Width, m.Leader.Height = side, side
		if p.Offer(m); p.latest.serial != 0 {
			t.Errorf("%d x %d is shown", side, side)
		}
	}
	if p.Offer(red(2, 8, 8, assemble.Missing)); p.latest.id != 2 {
		t.Error("the next one is not shown")
	}
	if len(p.ends) != 4 {
		t.Errorf("%d ends", len(p.ends))
	}
}
