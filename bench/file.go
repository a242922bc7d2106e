// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// A file is one to be written by the name that a flag has for it. It is written
// under another name first: an interrupted bench leaves a former file as it was.
type file struct {
	flag, name string
	tmp        *os.File // nil: committed or discarded
}

func openFile(flag, name string) (*file, error) {
	tmp, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", flag, name, err)
	}
	return &file{flag: flag, name: name, tmp: tmp}, nil
}

// commit writes the file and gives it its name.
func (f *file) commit(write func(io.Writer) error) error {
	err := errors.Join(write(f.tmp), f.tmp.Chmod(0o644), f.tmp.Close())
	if err == nil {
		err = os.Rename(f.tmp.Name(), f.name)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", f.flag, f.name, err)
	}
	f.tmp = nil
	return nil
}

// discard removes what was not committed.
func (f *file) discard() {
	if f.tmp == nil {
		return
	}
	_ = f.tmp.Close() // it may be closed already, and goes anyway
	_ = os.Remove(f.tmp.Name())
	f.tmp = nil
}
