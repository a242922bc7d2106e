// SPDX-License-Identifier: MIT

package page

import (
	_ "embed"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/xdpath/xdpath/examples/camera/assemble"
	"github.com/xdpath/xdpath/examples/camera/gv"
)

//go:embed page.html
var html []byte

const (
	// watched is how long after its last request somebody is taken to be watching.
	watched = 2 * time.Second
	// between is the time from one image that is shown to the next, at least.
	between = 40 * time.Millisecond
	// history is how many images' ends the page shows.
	history = 120
)

// Status is what the page says besides images.
type Status struct {
	Camera, Via string
	// State is a word or two on how it goes; Bad if that is not well.
	State string
	Bad   bool

	Images, Bytes, Packets float64 // a second
	Counters               assemble.Counters
	Loss                   assemble.Loss
	Note                   string // what to do about losses; may be empty
}

// Page takes images as they come, and is what serves them. Any number of goroutines
// may use it.
type Page struct {
	status func() Status

	mu     sync.Mutex // guards what follows
	asked  time.Time  // when somebody last wanted an image
	taken  time.Time  // when one was last taken
	latest shot
	fresh  chan struct{} // closed when latest is replaced
	ends   []assemble.Status

	coding sync.Mutex // guards what follows; not waited for by Offer
	coded  uint64     // serial of the shot that jpeg is of
	jpeg   []byte
}

// shot is one image to be shown.
type shot struct {
	serial  uint64 // counts from 1; 0: there is none yet
	id      uint64
	status  assemble.Status
	missing int
	leader  gv.Leader
	data    []byte
}

// New makes a page; status is called for each request of its numbers.
func New(status func() Status) *Page {
	return &Page{status: status, fresh: make(chan struct{})}
}

// Offer shows an image, which may be given back as soon as Offer returns. It is copied
// if somebody is watching and the last one has been seen long enough.
func (p *Page) Offer(m *assemble.Image) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.ends) == history {
		p.ends = append(p.ends[:0], p.ends[1:]...)
	}
	p.ends = append(p.ends, m.Status)
	now := time.Now()
	if now.Sub(p.asked) > watched || now.Sub(p.taken) < between || len(m.Data) == 0 {
		return
	}
	if m.Leader.Bytes() > int64(len(m.Data)) {
		return // larger than any image may be: nobody is to make a picture of that size
	}
	p.taken = now
	missing := 0
	for _, r := range m.Missing {
		missing += int(r.Last-r.First) + 1
	}
	// A new copy each time: one that is being encoded must stay as it is.
	p.latest = shot{
		serial: p.latest.serial + 1, id: m.ID, status: m.Status, missing: missing,
		leader: m.Leader, data: append([]byte(nil), m.Data...),
	}
	close(p.fresh)
	p.fresh = make(chan struct{})
}

// Handler serves the page to this host's own browsers.
func (p *Page) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src 'self' blob: data:; connect-src 'self'")
		w.Write(html)
	})
	mux.HandleFunc("GET /status", p.serveStatus)
	mux.HandleFunc("GET /image", p.serveImage)
	return ours(mux)
}

// ours refuses requests for a name that is not an address: another site's page can
// have a browser look up its own name to be this host, and then read what is here.
func ours(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		if _, err := netip.ParseAddr(trim(host)); err != nil && host != "localhost" {
			http.Error(w, "ask for an address or for localhost", http.StatusMisdirectedRequest)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

// trim takes the brackets off an IPv6 address without a port.
func trim(host string) string {
	if n := len(host); n > 1 && host[0] == '[' && host[n-1] == ']' {
		return host[1 : n-1]
	}
	return host
}
