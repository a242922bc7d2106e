// SPDX-License-Identifier: MIT

package page

import (
	"context"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/xdpath/xdpath/examples/camera/assemble"
	"github.com/xdpath/xdpath/examples/internal/program"
)

const browser = "chromium-headless-shell"

// browse has a browser do something with the page for two seconds, by its own clock.
func browse(t *testing.T, address string, args ...string) string {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	// The sandbox would need rights that a container's root does not have.
	args = append([]string{"--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=2000", "--user-data-dir=" + t.TempDir()}, args...)
	out, err := exec.CommandContext(ctx, browser, append(args, address)...).Output()
	if err != nil {
		t.Fatalf("%s: %v", browser, err)
	}
	return string(out)
}

// In a browser: the image is there, the counters are right, and nothing that a camera
// says of itself becomes a part of the page.
func TestBrowser(t *testing.T) {
	program.Installed(t, browser, browser)
	srv := serve(t, func(id uint64) *assemble.Image {
		return red(id, 64, 48, []assemble.Status{assemble.Complete, assemble.Missing}[id%2])
	})
	dom := browse(t, srv.URL, "--dump-dom")
	for _, want := range []string{
		`<h1 id="camera">Acme &lt;b&gt;One&lt;/b&gt; 7</h1>`, `class="bad">receiving, with losses<`, ">50.0<", ">65.0<", ">44,123<",
		`<td id="wire">10</td>`, `<td id="ring">7</td>`, `<td id="consumer">0</td>`, ">Ring: a larger one.<", `src="blob:`,
	} {
		if !strings.Contains(dom, want) {
			t.Errorf("no %s", want)
		}
	}
	for _, c := range status.Counters.List() {
		n := regexp.MustCompile(`\B(\d{3})+$`).ReplaceAllStringFunc(fmt.Sprint(c.Value), func(s string) string {
			return regexp.MustCompile(`...`).ReplaceAllString(s, ",$0")
		})
		if want := fmt.Sprintf("<code>%s</code><b>%s</b>", c.Name, n); !strings.Contains(dom, want) {
			t.Errorf("no %s", want)
		}
	}
	if !regexp.MustCompile(`<figcaption[^>]*>image \d+, 64 × 48 RGB8, (complete|missing packets)<`).MatchString(dom) {
		t.Error("no caption")
	}
	if t.Failed() {
		t.Log(dom)
	}
}

// The image is visible, in light and dark, on a desktop and on a telephone.
func TestScreenshot(t *testing.T) {
	program.Installed(t, browser, browser)
	srv := serve(t, func(id uint64) *assemble.Image { return red(id, 320, 240, assemble.Complete) })
	for _, c := range []struct {
		name, size, scheme string
		dark               bool
	}{
		{"desktop light", "1400,1000", "1", false}, {"desktop dark", "1400,1000", "0", true},
		{"telephone light", "400,1600", "1", false}, {"telephone dark", "400,1600", "0", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "page.png")
			browse(t, srv.URL, "--window-size="+c.size, "--blink-settings=preferredColorScheme="+c.scheme, "--screenshot="+file)
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			p, err := png.Decode(f)
			if err != nil {
				t.Fatal(err)
			}
			if share := redness(p); share < 0.04 {
				t.Errorf("the image has %.1f %% of the page", 100*share)
			}
			if r, _, _, _ := p.At(2, 2).RGBA(); (r>>8 < 64) != c.dark {
				t.Errorf("the background has %d of 255", r>>8)
			}
		})
	}
}

// redness is the share of pixels that have the colour of the image.
func redness(p image.Image) float64 {
	b, n := p.Bounds(), 0
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			if r, g, b, _ := p.At(x, y).RGBA(); r>>8 > 190 && r>>8 < 210 && g>>8 < 40 && b>>8 > 30 && b>>8 < 50 {
				n++
			}
		}
	}
	return float64(n) / float64(b.Dx()*b.Dy())
}
