// SPDX-License-Identifier: MIT

package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/jpeg"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/xdpath/xdpath/examples/camera/assemble"
	"github.com/xdpath/xdpath/examples/camera/picture"
)

const (
	// patience is how long a request for an image waits for one.
	patience = time.Second
	quality  = 85
)

// message is a Status on its way to the browser.
type message struct {
	Camera   string           `json:"camera"`
	Via      string           `json:"via"`
	State    string           `json:"state"`
	Bad      bool             `json:"bad"`
	Images   float64          `json:"images"`
	Bytes    float64          `json:"bytes"`
	Packets  float64          `json:"packets"`
	Counters []assemble.Count `json:"counters"`
	Loss     assemble.Loss    `json:"loss"`
	Note     string           `json:"note"`
	Ends     []string         `json:"ends"`
}

func (p *Page) serveStatus(w http.ResponseWriter, r *http.Request) {
	s := p.status()
	m := message{
		Camera: s.Camera, Via: s.Via, State: s.State, Bad: s.Bad, Images: s.Images, Bytes: s.Bytes, Packets: s.Packets,
		Counters: s.Counters.List(), Loss: s.Loss, Note: s.Note, Ends: []string{},
	}
	p.mu.Lock()
	for _, e := range p.ends {
		m.Ends = append(m.Ends, e.String())
	}
	p.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(m)
}

// serveImage waits a little for an image newer than the one that the browser has, and
// answers with it, or with nothing.
func (p *Page) serveImage(w http.ResponseWriter, r *http.Request) {
	after, _ := strconv.ParseUint(r.URL.Query().Get("after"), 10, 64)
	s, ok := p.next(r, after)
	if !ok {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	h := w.Header()
	h.Set("X-Serial", strconv.FormatUint(s.serial, 10))
	h.Set("X-Image", url.PathEscape(describe(s)))
	h.Set("X-Complete", strconv.FormatBool(s.status == assemble.Complete))
	b, err := p.encode(s)
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnsupportedMediaType)
		return
	}
	h.Set("Content-Type", "image/jpeg")
	w.Write(b)
}

func describe(s shot) string {
	text := fmt.Sprintf("image %d, %d × %d %v, %v", s.id, s.leader.Width, s.leader.Height, s.leader.PixelFormat, s.status)
	if s.missing > 0 {
		text += fmt.Sprintf(" (%d)", s.missing)
	}
	return text
}

// next waits for a shot other than the last one.
func (p *Page) next(r *http.Request, last uint64) (shot, bool) {
	giveUp := time.NewTimer(patience)
	defer giveUp.Stop()
	for {
		p.mu.Lock()
		p.asked = time.Now()
		s, fresh := p.latest, p.fresh
		p.mu.Unlock()
		if s.serial > 0 && s.serial != last {
			return s, true
		}
		select {
		case <-fresh:
		case <-giveUp.C:
			return shot{}, false
		case <-r.Context().Done():
			return shot{}, false
		}
	}
}

// encode makes a JPEG of a shot, once for all browsers.
func (p *Page) encode(s shot) ([]byte, error) {
	p.coding.Lock()
	defer p.coding.Unlock()
	if p.coded == s.serial {
		return p.jpeg, nil
	}
	pic, err := picture.Decode(s.leader, s.data)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, pic, &jpeg.Options{Quality: quality}); err != nil {
		return nil, err
	}
	p.coded, p.jpeg = s.serial, b.Bytes()
	return p.jpeg, nil
}
