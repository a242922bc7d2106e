// SPDX-License-Identifier: MIT

package device

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/xdpath/xdpath/examples/camera/gv"
	"github.com/xdpath/xdpath/examples/camera/pattern"
)

// wire is a transport that keeps what is sent, as it was at that moment, and gives
// cookies back when it is told to.
type wire struct {
	image  []byte
	refuse error

	mu      sync.Mutex
	packets [][]byte
	held    []uint64 // cookies that are not due
	due     []uint64
	hold    bool
}

func (w *wire) memory() []byte                 { return w.image }
func (w *wire) aim(netip.AddrPort)             {}
func (w *wire) mtu() int                       { return 9000 }
func (w *wire) port() uint16                   { return 1 }
func (w *wire) rest()                          {}
func (w *wire) gaps() string                   { return "" }
func (w *wire) String() string                 { return "a test" }
func (w *wire) close() error                   { return nil }
func (w *wire) wait(ctx context.Context) error { <-ctx.Done(); return nil }

func (w *wire) send(header []byte, off, n int, cookie uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.packets = append(w.packets, append(bytes.Clone(header), w.image[off:off+n]...))
	switch {
	case cookie == 0:
	case w.hold:
		w.held = append(w.held, cookie)
	default:
		w.due = append(w.due, cookie)
	}
}

func (w *wire) train(ctx context.Context, t train) (n int, err error) {
	cookie := t.cookie
	for id := t.first; t.len > 0; id++ {
		var room [maxHeader]byte
		k := min(t.size, t.len)
		w.send(room[:t.header(id, room[:])], t.off, k, cookie)
		cookie = 0
		t.off, t.len, n = t.off+k, t.len-k, n+1
	}
	return n, w.refuse
}

func (w *wire) single(ctx context.Context, p single) error {
	if w.refuse != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		if p.cookie != 0 {
			w.due = append(w.due, p.cookie)
		}
		return w.refuse
	}
	w.send(p.header, p.off, p.n, p.cookie)
	return nil
}

func (w *wire) completed(cookies []uint64) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := copy(cookies, w.due)
	w.due = w.due[n:]
	return n
}

// release makes what was held due.
func (w *wire) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.due, w.held = append(w.due, w.held...), nil
}

// taken takes what was sent.
func (w *wire) taken(t *testing.T) (packets []gv.Packet) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range w.packets {
		p, err := gv.ParsePacket(b)
		if err != nil {
			t.Fatal(err)
		}
		packets = append(packets, p)
	}
	w.packets = nil
	return packets
}

// onWire is a camera on a wire, and a stream of it that is stepped image by image.
func onWire(t *testing.T, cfg Config) (*Device, *wire, *stream) {
	t.Helper()
	cfg.Interface = "test"
	cfg = cfg.withDefaults(9000)
	if err := cfg.validate(9000); err != nil {
		t.Fatal(err)
	}
	w := &wire{image: make([]byte, cfg.memory())}
	d := &Device{cfg: cfg, out: w, store: newStore(cfg.Images, cfg.place()), resends: make(chan gv.Resend, backlog)}
	d.control = newControl(d, gv.Identity{}, cfg.settings(), time.Now())
	d.change(cfg.settings())
	s, err := d.newStream(cfg.settings())
	if err != nil {
		t.Fatal(err)
	}
	return d, w, s
}

// assemble puts packets together as a receiver does: by their ids. What is missing it
// tells, and what does not fit is an error.
func assemble(t *testing.T, cfg Config, packets []gv.Packet) (image []byte, missing []uint32) {
	t.Helper()
	s := cfg.withDefaults(9000).settings()
	size := s.width * s.height * s.format.Bits() / 8
	image = make([]byte, size)
	last := uint32(gv.Packets(size, s.payload())) + 1
	seen := map[uint32]bool{}
	for _, p := range packets {
		seen[p.ID] = true
		at := (int(p.ID) - 1) * s.payload()
		switch {
		case p.Extended != s.extended || p.Status.IsError():
			t.Fatalf("packet %+v", p)
		case p.ID == 0:
			l, err := gv.ParseLeader(p.Body)
			if err != nil || p.Kind != gv.PartLeader || int(l.Width) != s.width || int(l.Height) != s.height || l.PixelFormat != s.format {
				t.Fatalf("leader %+v, %v", l, err)
			}
		case p.ID == last:
			tr, err := gv.ParseTrailer(p.Body)
			if err != nil || p.Kind != gv.PartTrailer || int(tr.Height) != s.height {
				t.Fatalf("trailer %+v, %v", tr, err)
			}
		case p.Kind != gv.PartPayload || p.ID > last || len(p.Body) != min(s.payload(), size-at):
			t.Fatalf("packet %d of %d bytes, kind %v", p.ID, len(p.Body), p.Kind)
		default:
			copy(image[at:], p.Body)
		}
	}
	for id := range last + 1 {
		if !seen[id] {
			missing = append(missing, id)
		}
	}
	return image, missing
}

// wantImage checks that packets are image number block, whole.
func wantImage(t *testing.T, cfg Config, block uint64, packets []gv.Packet) {
	t.Helper()
	for _, p := range packets {
		if p.Block != block {
			t.Fatalf("packet of block %d, want %d", p.Block, block)
		}
	}
	got, missing := assemble(t, cfg, packets)
	if len(missing) > 0 {
		t.Fatalf("block %d: packets %v are missing", block, missing)
	}
	s := cfg.withDefaults(9000).settings()
	p, err := pattern.New(s.format, s.width, s.height)
	if err != nil {
		t.Fatal(err)
	}
	want := make([]byte, p.Bytes())
	if p.Draw(want, block); !bytes.Equal(got, want) {
		t.Fatalf("block %d is not the pattern", block)
	}
}

// Images arrive as they were drawn, whatever their size, format and ids.
func TestImages(t *testing.T) {
	for name, cfg := range map[string]Config{
		"Mono8":                    {Width: 640, Height: 480},
		"Mono16, jumbo":            {Width: 640, Height: 480, Format: gv.Mono16, PacketSize: 9000},
		"RGB8, extended":           {Width: 320, Height: 200, Format: gv.RGB8, Extended: true},
		"BayerRG8, small packets":  {Width: 64, Height: 50, Format: gv.BayerRG8, PacketSize: minPacket},
		"one packet (case 129)":    {Width: 8, Height: 4},
		"one full packet":          {Width: 732, Height: 2},
		"duplicated and reordered": {Width: 640, Height: 480, Faults: Faults{Duplicate: 0.1, Reorder: 0.2}},
	} {
		t.Run(name, func(t *testing.T) {
			d, w, s := onWire(t, cfg)
			for block := uint64(1); block < 20; block++ {
				if err := s.image(t.Context()); err != nil {
					t.Fatal(err)
				}
				wantImage(t, cfg, block, w.taken(t))
			}
			if n := d.Stats(); n.Images != 19 || n.Skipped+n.Failed+n.Suppressed != 0 || (n.Duplicated > 0) != (cfg.Faults.Duplicate > 0) || (n.Reordered > 0) != (cfg.Faults.Reorder > 0) {
				t.Errorf("%+v", n)
			}
		})
	}
}

// Ids go round without a 0 (case 133), and extended ones on.
func TestWrap(t *testing.T) {
	for extended, ids := range map[bool][]uint64{false: {65534, 65535, 1, 2}, true: {65534, 65535, 65536, 65537}} {
		cfg := Config{Width: 8, Height: 4, FirstBlock: 65534, Extended: extended}
		_, w, s := onWire(t, cfg)
		for _, id := range ids {
			if err := s.image(t.Context()); err != nil {
				t.Fatal(err)
			}
			wantImage(t, cfg, id, w.taken(t))
		}
	}
}

// What was suppressed can be had, and makes the image whole.
func TestResend(t *testing.T) {
	for _, extended := range []bool{false, true} {
		cfg := Config{Width: 640, Height: 480, Extended: extended, Faults: Faults{Suppress: 0.1}}
		d, w, s := onWire(t, cfg)
		for block := uint64(1); block < 30; block++ {
			if err := s.image(t.Context()); err != nil {
				t.Fatal(err)
			}
			packets := w.taken(t)
			_, missing := assemble(t, cfg, packets)
			for _, id := range missing {
				if err := d.serve(t.Context(), gv.Resend{Block: block, First: id, Last: id, Extended: extended}); err != nil {
					t.Fatal(err)
				}
			}
			again := w.taken(t)
			for _, p := range again {
				if p.Status != gv.Resent {
					t.Fatalf("packet %d has status %v", p.ID, p.Status)
				}
			}
			wantImage(t, cfg, block, append(packets, again...))
		}
		if n := d.Stats(); n.Suppressed != n.Resent || n.Suppressed < 300 {
			t.Errorf("%+v", n)
		}
	}
}

// Requests beyond what is there are answered with why, and what one image's requests
// can cause is bounded (case 132).
func TestResendBounds(t *testing.T) {
	cfg := Config{Width: 640, Height: 480, Images: 3}
	d, w, s := onWire(t, cfg)
	ask := func(r gv.Resend) []gv.Packet {
		t.Helper()
		if err := d.serve(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		return w.taken(t)
	}
	wantStatus := func(packets []gv.Packet, status gv.Status, n int) {
		t.Helper()
		if len(packets) != n {
			t.Fatalf("%d packets, want %d", len(packets), n)
		}
		for _, p := range packets {
			if p.Status != status || len(p.Body) > 0 && status.IsError() {
				t.Errorf("packet %+v, want %v", p, status)
			}
		}
	}
	wantStatus(ask(gv.Resend{Block: 1, First: 0, Last: 3}), gv.Unavailable, 4) // before the first
	for range 5 {
		if err := s.image(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	w.taken(t)
	const packets = 640*480/1464 + 3 // leader and trailer too
	wantStatus(ask(gv.Resend{Block: 2, First: 1, Last: 2}), gv.PreviousGone, 2)
	wantStatus(ask(gv.Resend{Block: 2, First: 1, Last: 1 << 23}), gv.PreviousGone, refusals)
	wantStatus(ask(gv.Resend{Block: 9, First: 1, Last: 1}), gv.NotYetAvailable, 1)
	wantStatus(ask(gv.Resend{Block: 4, First: packets, Last: 1 << 23}), gv.Unavailable, 1)
	wantStatus(ask(gv.Resend{Block: 4, First: 9, Last: 8}), gv.OK, 0)
	wantStatus(ask(gv.Resend{Block: 9, First: 1<<32 - 1, Last: 1<<32 - 1, Extended: true}), gv.NotYetAvailable, 1)

	wantStatus(ask(gv.Resend{Block: 4, First: 1, Last: 10}), gv.Resent, 10)
	wantStatus(ask(gv.Resend{Block: 4, First: 0, Last: 1 << 23}), gv.Resent, packets-10)
	wantStatus(ask(gv.Resend{Block: 4, First: 0, Last: 1 << 23}), gv.Resent, 0)
	wantStatus(ask(gv.Resend{Block: 5, First: 0, Last: 0}), gv.Resent, 1)
	if n := d.Stats(); n.ResendBeyond != packets+10 || n.Resent != packets+1 {
		t.Errorf("%+v", n)
	}
	// More requests at a time than there is room for are not looked at.
	for range backlog + 100 {
		d.resend(gv.Resend{Block: 5, First: 1, Last: 1})
	}
	if n := d.Stats(); n.ResendOverflow != 100 {
		t.Errorf("%d requests overflowed, want 100", n.ResendOverflow)
	}
}

// An image's bytes stay as they are while a packet of it is on its way.
func TestHeld(t *testing.T) {
	cfg := Config{Width: 64, Height: 64, Images: 3}
	d, w, s := onWire(t, cfg)
	w.hold = true
	for range 3 {
		if err := s.image(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	before := bytes.Clone(w.image)
	if w.taken(t); s.image(t.Context()) != nil || len(w.taken(t)) > 0 {
		t.Fatal("an image was sent without a place for it")
	}
	if !bytes.Equal(w.image, before) {
		t.Fatal("bytes changed on their way")
	}
	if n := d.Stats(); n.Images != 3 || n.Skipped != 1 {
		t.Errorf("%+v", n)
	}
	// A packet that is sent again holds its image too.
	w.release()
	if err := d.serve(t.Context(), gv.Resend{Block: 1, First: 1, Last: 1}); err != nil {
		t.Fatal(err)
	}
	w.taken(t)
	if s.image(t.Context()); len(w.taken(t)) > 0 {
		t.Fatal("the image was overwritten while it was being sent again")
	}
	w.release()
	if err := s.image(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantImage(t, cfg, 4, w.taken(t))
}

// Packets that will come by themselves are not sent twice.
func TestEarly(t *testing.T) {
	cfg := Config{Width: 64, Height: 64}
	d, w, s := onWire(t, cfg)
	if err := s.image(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.taken(t)
	_, sent := d.store.look(0)
	sent.Store(1)
	if err := d.serve(t.Context(), gv.Resend{Block: 1, First: 0, Last: 4}); err != nil {
		t.Fatal(err)
	}
	if got := w.taken(t); len(got) != 2 || d.Stats().ResendEarly != 3 {
		t.Errorf("%d packets, %d early", len(got), d.Stats().ResendEarly)
	}
}

// What cannot be sent is told, and the next images are sent.
func TestFails(t *testing.T) {
	cfg := Config{Width: 64, Height: 64, Images: 2}
	d, w, s := onWire(t, cfg)
	w.refuse = errors.New("no route")
	for range 5 {
		if err := s.image(t.Context()); err == nil {
			t.Fatal("no error")
		}
	}
	if n := d.Stats(); n.Failed != 5 || d.Latest() == nil {
		t.Errorf("%+v, %v", n, d.Latest())
	}
	w.refuse = nil
	w.taken(t)
	if err := s.image(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantImage(t, cfg, 6, w.taken(t))
}

// Run keeps the rate, ends with an image when told to, and with the transport.
func TestRun(t *testing.T) {
	d, w, s := onWire(t, Config{Width: 8, Height: 4, Rate: 1000})
	ctx, cut := context.WithCancel(t.Context())
	s.cut = cut
	go s.run(ctx)
	for deadline := time.Now().Add(20 * time.Second); d.Stats().Images < 50; {
		if time.Now().After(deadline) {
			t.Fatalf("%+v", d.Stats())
		}
		time.Sleep(time.Millisecond)
	}
	s.stop()
	if got := w.taken(t); uint64(len(got)) != 3*d.Stats().Images {
		t.Errorf("%d packets of %d images", len(got), d.Stats().Images)
	}
	_, w, s = onWire(t, Config{Width: 8, Height: 4, Rate: 1000})
	w.refuse = net.ErrClosed
	s.run(t.Context())
}

func TestConfig(t *testing.T) {
	good := Config{Interface: "test"}.withDefaults(1500)
	if err := good.validate(1500); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(c *Config){
		"Serial": func(c *Config) { c.Serial = "0123456789abcdef" }, "Width": func(c *Config) { c.Width = 13 }, "Height": func(c *Config) { c.Height = -2 },
		"Format": func(c *Config) { c.Format = gv.BGR8 }, "Rate": func(c *Config) { c.Rate = -1 }, "PacketSize": func(c *Config) { c.PacketSize = 1504 },
		"Delay": func(c *Config) { c.Delay = 5 * time.Second }, "Images": func(c *Config) { c.Images = 1 }, "FirstBlock": func(c *Config) { c.FirstBlock = 1 << 20 },
		"Via": func(c *Config) { c.Via = 7 }, "Suppress": func(c *Config) { c.Faults.Suppress = 2 },
	} {
		c := good
		change(&c)
		if err := c.validate(1500); err == nil || !bytes.Contains([]byte(err.Error()), []byte(name)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
