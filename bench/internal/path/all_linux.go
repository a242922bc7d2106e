// SPDX-License-Identifier: MIT

package path

import (
	"fmt"
	"strings"

	"github.com/xdpath/xdpath/bench/internal/stream"
)

// All returns every path, in the order of the tables.
func All() []Path {
	return []Path{
		socketPath(), socketSpinPath(), mmsgPath(), gsoPath(), udpConnPath(), asaviePath(),
		packetConnPath(), endpointBlockPath(), endpointPath(), endpointBusyPath(), deferredPath(), xdpPath(),
	}
}

// Find returns the path of that name, if it can do the test.
func Find(name, test string) (Path, error) {
	for _, p := range All() {
		if p.Name == name && p.does(test) {
			return p, nil
		}
	}
	return Path{}, fmt.Errorf("no path %q for %s: there are %s", name, test, strings.Join(Names(test), ", "))
}

// Usual returns the names of the paths that run unless others are asked for.
func Usual(test string) []string {
	var names []string
	for _, p := range All() {
		if p.does(test) && (!p.Extra || test != stream.Name) {
			names = append(names, p.Name)
		}
	}
	return names
}

// Names returns the names of the paths that can do a test, in the order of the
// tables.
func Names(test string) []string {
	var names []string
	for _, p := range All() {
		if p.does(test) {
			names = append(names, p.Name)
		}
	}
	return names
}
