// SPDX-License-Identifier: MIT

package nic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"
)

// knobs are the two values of a NAPI or an interface, as the kernel has them.
type knobs struct {
	Interrupts uint32 `json:"napi_defer_hard_irqs"`
	Timeout    uint64 `json:"gro_flush_timeout"` // nanoseconds
}

func (d Deferral) knobs() knobs {
	return knobs{Interrupts: uint32(d.Interrupts), Timeout: uint64(d.Timeout)}
}

// deferral is for people to read: what does not fit is cut, and never written back.
func (k knobs) deferral() Deferral {
	return Deferral{
		Interrupts: int(min(k.Interrupts, math.MaxInt32)),
		Timeout:    time.Duration(min(k.Timeout, math.MaxInt64)),
	}
}

// identity is whose setting a record is about, and who is looking.
type identity struct {
	Boot      string `json:"boot"`  // the kernel's boot id: numbers start again with each
	Namespace string `json:"netns"` // see requester.namespace
	Index     int    `json:"ifindex"`
	Name      string `json:"name"`
	MAC       string `json:"mac"` // empty for an interface without
	PID       int    `json:"pid"` // in its own process namespace
	Start     uint64 `json:"start"`
}

// sameInterface tells whether two identities mean one interface. An index that is
// used again belongs to another one, with another name and another MAC; renamed, or
// given another MAC, an interface is still the same.
func (a identity) sameInterface(b identity) bool {
	return a.Boot == b.Boot && a.Namespace == b.Namespace && a.Index == b.Index &&
		(a.Name == b.Name || a.MAC != "" && a.MAC == b.MAC)
}

// filePrefix begins the names of all records, whoever's.
const filePrefix = "napi-"

// prefix begins the names of the interface's records.
func (a identity) prefix() string {
	return fmt.Sprintf("%s%s-%d-", filePrefix, a.Namespace, a.Index)
}

// file is the name of the record of one NAPI, or of the interface's own setting.
func (a identity) file(napi uint32) string {
	return fmt.Sprintf("%s%d.json", a.prefix(), napi)
}

// record is what stood in a NAPI or an interface before it was deferred. It is
// written before anything is changed, so that a process that is killed at any moment
// leaves either the old values or a record of them.
type record struct {
	Version int `json:"version"`
	identity
	NAPI uint32 `json:"napi"` // 0: the interface's own setting
	Old  knobs  `json:"old"`
	New  knobs  `json:"new"`
}

const (
	recordVersion = 1
	maxRecord     = 4096 // bytes; an interface's name and address are short
)

func (r record) encode() ([]byte, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}

var errGarbage = errors.New("not a record")

// decodeRecord takes only what encode makes: a record decides what is written to an
// interface.
func decodeRecord(b []byte) (record, error) {
	if len(b) > maxRecord {
		return record{}, fmt.Errorf("%d bytes, want at most %d: %w", len(b), maxRecord, errGarbage)
	}
	var r record
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return record{}, fmt.Errorf("%w: %w", errGarbage, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return record{}, fmt.Errorf("text after it: %w", errGarbage)
	}
	switch {
	case r.Version != recordVersion:
		return record{}, fmt.Errorf("version %d, want %d: %w", r.Version, recordVersion, errGarbage)
	case r.Boot == "" || r.Namespace == "" || r.Name == "" || r.Index <= 0 || r.PID <= 0:
		return record{}, fmt.Errorf("it does not say whose: %w", errGarbage)
	case r.Old.Interrupts > math.MaxInt32 || r.New.Interrupts > math.MaxInt32:
		return record{}, fmt.Errorf("value out of range: %w", errGarbage)
	}
	return r, nil
}

// back returns what to write so that the old values stand again. A value that is
// not the one written by us has been set by somebody else since, who keeps it.
func (r record) back(now knobs) knobs {
	if now.Interrupts == r.New.Interrupts {
		now.Interrupts = r.Old.Interrupts
	}
	if now.Timeout == r.New.Timeout {
		now.Timeout = r.Old.Timeout
	}
	return now
}
