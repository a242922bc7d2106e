// SPDX-License-Identifier: MIT

package page

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// browser is the program that looks at pages, and the Debian package that has it.
const browser = "chromium-headless-shell"

// browse loads an address in a browser without a window, and returns the document
// that it has made of it.
func browse(t *testing.T, address string, flags ...string) string {
	t.Helper()
	name, err := exec.LookPath(browser)
	if err != nil && os.Getenv("XDPATH_TEST_REQUIRE") == "1" {
		t.Fatalf("required here, but %v: install Debian's %s", err, browser)
	}
	if err != nil {
		t.Skipf("%v: install Debian's %s", err, browser)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	args := append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--user-data-dir=" + t.TempDir(), "--dump-dom"}, flags...)
	cmd := exec.CommandContext(ctx, name, append(args, address)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = 5 * time.Second // for what the browser has started
	if err := cmd.Run(); err != nil || stdout.Len() == 0 {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	return stdout.String()
}

// measure is the script of a page around the one that is looked at: it tells how that
// one is laid out. The page itself has no script.
const measure = `
const out = [];
for (const f of document.querySelectorAll('iframe')) {
	const d = f.contentDocument, w = f.contentWindow, faults = [];
	if (d.documentElement.scrollWidth > w.innerWidth) faults.push('wider than the window: ' + d.documentElement.scrollWidth);
	for (const s of d.querySelectorAll('svg')) {
		const box = s.getBoundingClientRect(), title = s.closest('figure').querySelector('h2').textContent;
		const texts = [...s.querySelectorAll('text')].filter(t => t.textContent).map(t => ({ t: t.textContent, r: t.getBoundingClientRect() }));
		for (const { t, r } of texts) {
			if (r.width < 1) faults.push(title + ': no width: ' + t);
			if (r.left < box.left - 1 || r.right > box.right + 1 || r.top < box.top - 1 || r.bottom > box.bottom + 1) faults.push(title + ': cut off: ' + t);
		}
		for (let i = 0; i < texts.length; i++) for (let j = 0; j < i; j++) {
			const a = texts[i].r, b = texts[j].r;
			if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4)
				faults.push(title + ': covers: ' + texts[i].t + ', ' + texts[j].t);
		}
	}
	const mark = d.querySelector('.mark, .bar');
	out.push({ name: f.name, width: w.innerWidth, figures: d.querySelectorAll('figure svg').length, marks: d.querySelectorAll('svg .mark').length,
		bars: d.querySelectorAll('svg .bar').length, tips: d.querySelectorAll('svg title').length, rows: d.querySelectorAll('tbody tr').length,
		page: w.getComputedStyle(d.body).backgroundColor, fill: mark ? w.getComputedStyle(mark).fill : '', faults });
}
document.body.innerHTML = '';
const pre = document.createElement('pre');
pre.textContent = JSON.stringify(out);
document.body.append(pre);
`

// A look is what the script tells of one page.
type look struct {
	Name                             string
	Width                            int
	Figures, Marks, Bars, Tips, Rows int
	Page, Fill                       string
	Faults                           []string
}

// Widths of a telephone and of a desk.
var screens = []int{390, 1200}

// looks lays the pages out on each screen and measures them, light or dark. It fails
// if the browser asks for anything but these pages.
func looks(t *testing.T, pages map[string]string, dark bool) map[string]look {
	t.Helper()
	var mu sync.Mutex
	var asked []string
	var frame strings.Builder
	frame.WriteString("<!DOCTYPE html><title>frame</title><body>")
	for name := range pages {
		for _, width := range screens {
			fmt.Fprintf(&frame, `<iframe name="%s/%d" src="/%s" style="width:%dpx;height:3000px;border:0"></iframe>`, name, width, name, width)
		}
	}
	frame.WriteString("<script>window.onload = () => {" + measure + "}</script>")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		name := strings.TrimPrefix(r.URL.Path, "/")
		switch page, ok := pages[name]; {
		case ok:
			fmt.Fprint(w, page)
		case name == "":
			fmt.Fprint(w, frame.String())
		default:
			mu.Lock()
			asked = append(asked, r.URL.Path)
			mu.Unlock()
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	scheme := map[bool]string{false: "1", true: "0"}[dark]
	dom := browse(t, server.URL, "--blink-settings=preferredColorScheme="+scheme)
	mu.Lock()
	defer mu.Unlock()
	if asked = slices.DeleteFunc(asked, func(p string) bool { return p == "/favicon.ico" }); len(asked) > 0 {
		t.Errorf("the browser asked for %q", asked)
	}
	_, text, _ := strings.Cut(dom, "<pre>")
	text, _, ok := strings.Cut(text, "</pre>")
	var all []look
	if err := json.Unmarshal([]byte(html.UnescapeString(text)), &all); err != nil || !ok || len(all) != len(screens)*len(pages) {
		t.Fatalf("%v, %d pages: %.2000s", err, len(all), dom)
	}
	byName := map[string]look{}
	for _, l := range all {
		byName[l.Name] = l
	}
	return byName
}

// TestLayout has a browser lay every kind of page out, on a telephone and on a desk,
// light and dark: all marks are there, no text is cut off or covers another, nothing
// is wider than the screen, and nothing is loaded.
func TestLayout(t *testing.T) {
	pages := samples(t)
	light, dark := looks(t, pages, false), looks(t, pages, true)
	want := map[string]look{
		"two":   {Figures: 4, Bars: 32, Tips: 36, Rows: 18},
		"sizes": {Figures: 4, Marks: 4 * (8*9 + 8), Tips: 4 * 8 * 9, Rows: 81},
		"trips": {Figures: 3, Bars: 10, Marks: 5*7 + 5, Tips: 10 + 5*7, Rows: 5},
		"over":  {Figures: 4 + 3, Marks: 4*(5*3+5) + 3*(5*7+5), Tips: 4*5*3 + 3*5*7, Rows: 15},
		"sweep": {Figures: 4, Marks: 4 * (2*7 + 2), Tips: 4 * 2 * 7, Rows: 14},
		"few":   {Figures: 2, Bars: 8, Tips: 8, Rows: 4},
		"none":  {Rows: 1},
	}
	for _, looked := range []map[string]look{light, dark} {
		for name, l := range looked {
			kind, _, _ := strings.Cut(name, "/")
			w := want[kind]
			w.Name, w.Width, w.Page, w.Fill, w.Faults = l.Name, l.Width, l.Page, l.Fill, nil
			if !slices.Contains(screens, l.Width) {
				t.Errorf("%s: laid out %d wide", name, l.Width)
			}
			if len(l.Faults) == 0 {
				l.Faults = nil
			}
			if diff := cmp.Diff(w, l); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
	for name, l := range light {
		if d := dark[name]; d.Page == l.Page || l.Page != "rgb(255, 255, 255)" || l.Figures > 0 && d.Fill == l.Fill {
			t.Errorf("%s: light %s, %s; dark %s, %s", name, l.Page, l.Fill, d.Page, d.Fill)
		}
	}
}

// TestBrowserText has a browser read the page as a document: what it found in it is
// what there is to tell.
func TestBrowserText(t *testing.T) {
	file := t.TempDir() + "/page.html"
	if err := os.WriteFile(file, []byte(samples(t)["two"]), 0o644); err != nil {
		t.Fatal(err)
	}
	dom := browse(t, "file://"+file)
	text := html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(dom, "\n"))
	for _, want := range []string{
		"UDP bench: stream", "Datagrams received, 64 bytes", "Service demand, 1472 bytes", "million a second", "xdp-packetconn",
		"1.841 of 2.037", "mmsg, 64 bytes: 0.837, median of 3; 0.778 to 0.887; 6.59 % lost", "native copy",
		`receiver: driver "veth" has no <zero-copy>: use copy`, "A note with <b>signs</b> & marks.", "Test(R) Processor <x> @ 1 GHz, 2 CPUs", "bench -runs 3",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the page", want)
		}
	}
}
