// SPDX-License-Identifier: MIT

package xdpath

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// source is one Go file of the repository.
type source struct {
	name string // slash-separated, from the repository's root
	text []byte
	file *ast.File // imports and comments
}

func (s source) dir() string  { return path.Dir(s.name) }
func (s source) isTest() bool { return strings.HasSuffix(s.name, "_test.go") }
func (s source) imports() []string {
	var paths []string
	for _, i := range s.file.Imports {
		paths = append(paths, strings.Trim(i.Path.Value, `"`))
	}
	return paths
}

// files lists the repository's files, whatever system or processor they are for.
func files(t *testing.T) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return filepath.SkipDir
		case d.Type().IsRegular() && name != ".git": // of a worktree, which names where the repository is
			names = append(names, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// sources parses the Go files, those of nested modules too.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	for _, name := range files(t) {
		if path.Ext(name) != ".go" {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, source{name, text, file})
	}
	if len(all) < 100 {
		t.Fatalf("%d files: not the whole repository", len(all))
	}
	return all
}

func TestFormat(t *testing.T) {
	for _, s := range sources(t) {
		want, err := format.Source(s.text)
		if err != nil {
			t.Errorf("%s: %v", s.name, err)
		} else if !bytes.Equal(s.text, want) {
			t.Errorf("%s: run gofmt -w on it", s.name)
		}
		if !bytes.HasPrefix(s.text, []byte("// SPDX-License-Identifier: ")) {
			t.Errorf("%s: does not begin with its licence", s.name)
		}
	}
}

// Every package says what it is, in one place, in the form that go doc expects.
func TestPackageComments(t *testing.T) {
	comments := map[string][]string{} // names of files by directory
	for _, s := range sources(t) {
		if s.isTest() {
			continue
		}
		dir := s.dir()
		if _, ok := comments[dir]; !ok {
			comments[dir] = nil
		}
		if s.file.Doc == nil {
			continue
		}
		comments[dir] = append(comments[dir], s.name)
		want := "Package " + s.file.Name.Name + " "
		if s.file.Name.Name == "main" {
			name := path.Base(dir)
			want = strings.ToUpper(name[:1]) + name[1:] + " "
		}
		if text := s.file.Doc.Text(); !strings.HasPrefix(text, want) {
			t.Errorf("%s: the package comment does not begin with %q", s.name, want)
		}
	}
	for dir, in := range comments {
		if len(in) != 1 {
			t.Errorf("package %s: want one package comment, have %q", dir, in)
		}
	}
}

// Nothing names the machine it was written on, or a host to fetch from: where
// modules and packages come from is the business of whoever builds.
func TestNoMachineNames(t *testing.T) {
	// In two parts, or this file would be the first to be found.
	forbidden := []string{"/wo" + "rk/", "/ro" + "ot/", "/ho" + "me/", "GOPR" + "OXY", "GOSUM" + "DB"}
	hosts := []string{"proxy.", "sum.", "registry.", "deb.", "mirror.", "archive."}
	for _, name := range files(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			for _, word := range forbidden {
				if strings.Contains(line, word) {
					t.Errorf("%s:%d: names %s", name, i+1, word)
				}
			}
			_, host, found := strings.Cut(line, "://")
			if found && slices.ContainsFunc(hosts, func(h string) bool { return strings.HasPrefix(host, h) }) {
				t.Errorf("%s:%d: names a host to fetch from", name, i+1)
			}
		}
	}
}
