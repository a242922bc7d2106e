// SPDX-License-Identifier: MIT

package export

import (
	"encoding/csv"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/report"
)

// skipped is the last column: why there is nothing else in a line.
const skipped = "skipped"

// CSV writes a line for each run and one for each row that did not run. The columns
// have the names that the figures have in JSON; what is nested there has both names
// with a point between them, and each place of a loss a column. A figure that a run
// does not have is empty.
func CSV(w io.Writer, doc report.Document) error {
	fields := columns(reflect.TypeFor[report.Result](), "", nil)
	var header []string
	for _, f := range fields {
		header = append(header, f.name)
	}
	lines := [][]string{append(header, skipped)}
	for _, r := range runs(doc) {
		var line []string
		for _, f := range fields {
			line = append(line, f.value(reflect.ValueOf(r)))
		}
		lines = append(lines, append(line, ""))
	}
	for _, row := range report.Rows(doc) {
		if len(row.Runs) > 0 {
			continue
		}
		key := map[string]string{"path": row.Path, "size": strconv.Itoa(row.Size), "param": row.Param, skipped: row.Reason}
		var line []string
		for _, name := range lines[0] {
			line = append(line, key[name])
		}
		lines = append(lines, line)
	}
	out := csv.NewWriter(w)
	if err := out.WriteAll(lines); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	return nil
}

// A field is a column: where it is in a result, and in which place of a loss.
type field struct {
	name  string
	index []int
	place loss.Place
}

// columns finds the fields of a struct that have names in JSON, and those of structs
// within.
func columns(t reflect.Type, prefix string, index []int) []field {
	var all []field
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		here := append(index[:len(index):len(index)], i)
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case name == "" || name == "-":
		case f.Type == reflect.TypeFor[loss.Split]():
			for _, p := range loss.Places() {
				all = append(all, field{prefix + name + "." + string(p), here, p})
			}
		case inner.Kind() == reflect.Struct:
			all = append(all, columns(inner, prefix+name+".", here)...)
		case inner.Kind() == reflect.Slice: // a list has no place in a line
		default:
			all = append(all, field{name: prefix + name, index: here})
		}
	}
	return all
}

// value is the text of a field of v, empty where a pointer to it is nil.
func (f field) value(v reflect.Value) string {
	for _, i := range f.index {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return ""
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	if f.place != "" {
		n, _ := v.Interface().(loss.Split)
		return strconv.FormatUint(n[f.place], 10)
	}
	if v.Kind() == reflect.Float64 {
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	}
	return fmt.Sprint(v.Interface())
}
