// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/xdpath/xdpath/bench/internal/report"
)

// A jsonFile is the file that -json names, or none. It is written under
// another name first: an interrupted bench leaves a former file as it was.
type jsonFile struct {
	name string
	tmp  *os.File
}

// openJSON opens the file before the bench runs, so that a name which cannot
// be written is told at once and not after a minute.
func openJSON(name string) (*jsonFile, error) {
	if name == "" {
		return &jsonFile{}, nil
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return nil, fmt.Errorf("-json %s: %w", name, err)
	}
	return &jsonFile{name: name, tmp: tmp}, nil
}

// commit writes doc and gives the file its name.
func (f *jsonFile) commit(doc report.Document) error {
	if f.tmp == nil {
		return nil
	}
	enc := json.NewEncoder(f.tmp)
	enc.SetIndent("", "  ")
	err := errors.Join(enc.Encode(doc), f.tmp.Chmod(0o644), f.tmp.Close())
	if err == nil {
		err = os.Rename(f.tmp.Name(), f.name)
	}
	if err != nil {
		return fmt.Errorf("-json %s: %w", f.name, err)
	}
	f.tmp = nil
	return nil
}

// discard removes what was not committed.
func (f *jsonFile) discard() {
	if f.tmp == nil {
		return
	}
	_ = f.tmp.Close() // it may be closed already, and goes anyway
	_ = os.Remove(f.tmp.Name())
	f.tmp = nil
}
