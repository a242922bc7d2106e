// SPDX-License-Identifier: MIT

package check

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Width is the most columns that a report takes, but for a word that is longer than
// all of them.
const Width = 80

// Columns of a report: the state, the topic, and the text, under which the lines
// that belong to it stand.
const (
	stateColumn = 2
	topicColumn = 11
	textColumn  = 27
)

// WriteJSON writes the report with all its facts.
func (r Report) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(r)
}

// WriteText writes the report for people.
func (r Report) WriteText(w io.Writer) error {
	var b strings.Builder
	b.WriteString("machine\n")
	for _, f := range r.Machine.Findings {
		f.write(&b)
	}
	for _, i := range r.Interfaces {
		b.WriteString("\n" + i.head(r.Brief) + "\n")
		for _, f := range i.Findings {
			// A fact, good or bad, of an interface that nobody asked about is noise.
			if !r.Brief || f.State >= Warning {
				f.write(&b)
			}
		}
	}
	b.WriteString("\n" + r.verdict() + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// head names the interface, in a brief report with what else there is to say.
func (i InterfaceReport) head(brief bool) string {
	if !brief {
		return i.Facts.Name
	}
	notes := 0
	for _, f := range i.Findings {
		if f.State == Note {
			notes++
		}
	}
	return fmt.Sprintf("%s: %s, %s expected, %s (bench check %s)", i.Facts.Name, i.Facts.driver(), i.Expected, plural(notes, "note"), i.Facts.Name)
}

func (r Report) verdict() string {
	what := "this machine"
	if !r.Brief && len(r.Interfaces) == 1 {
		what += " and " + r.Interfaces[0].Facts.Name
	}
	switch r.Worst {
	case Problem:
		return what + ": a problem, without mending which it does not work."
	case Warning:
		return what + ": usable, with warnings."
	}
	return what + ": fit for AF_XDP."
}

// write writes one finding:
//
//	warning  topic           what was found
//	                         what it means
//	                         > what to do
//	                         $ the command
//	                         source: where it is from
func (f Finding) write(b *strings.Builder) {
	first := strings.Repeat(" ", stateColumn) + pad(f.State.String(), topicColumn-stateColumn) + pad(f.Topic, textColumn-topicColumn)
	rest := strings.Repeat(" ", textColumn)
	for _, part := range []struct{ lead, text string }{{"", f.Found}, {"", f.Means}, {"> ", f.Advice}, {"$ ", f.Command}, {"source: ", f.Source}} {
		if part.text == "" || part.lead == "source: " && f.State == OK {
			continue
		}
		for n, line := range wrap(part.text, Width-textColumn-len(part.lead)) {
			lead := part.lead
			if n > 0 {
				lead = strings.Repeat(" ", len(lead))
			}
			b.WriteString(first + lead + line + "\n")
			first = rest
		}
	}
}

// pad fills a text up to a width, with one space at least.
func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(1, width-utf8.RuneCountInString(s)))
}

// wrap breaks a text at spaces into lines of at most width characters.
func wrap(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}
