// SPDX-License-Identifier: MIT

package path

import (
	"fmt"
	stdslices "slices"
	"strings"
)

// All returns every path, in the order of the tables.
func All() []Path {
	all := []Path{
		socketPath(), socketSpinPath(), mmsgPath(), gsoPath(), wholeGSOPath(), udpConnPath(), packetPath(), asaviePath(),
		packetConnPath(), endpointBlockPath(), endpointPath(), endpointBusyPath(), deferredPath(),
		genericPath(), copyPath(), zeroCopyPath(), xdpPath(),
		kernelPath(), redirectPath(),
	}
	for i, p := range all {
		if stdslices.Contains([]string{"socket", "mmsg", "packet"}, p.Name) {
			all[i].Fan = socketFan(p)
		}
	}
	return all
}

// Find returns the path of that name, if it does k.
func Find(name string, k Kind) (Path, error) {
	for _, p := range All() {
		if p.Name == name && p.does(k) {
			return p, nil
		}
	}
	return Path{}, fmt.Errorf("no path %q for %s: there are %s", name, k, strings.Join(Names(k), ", "))
}

// Usual returns the names of the paths that run unless others are asked for.
func Usual(k Kind) []string {
	var names []string
	for _, p := range All() {
		if p.does(k) && !stdslices.Contains(p.Extra, k) {
			names = append(names, p.Name)
		}
	}
	return names
}

// Names returns the names of the paths that do k, in the order of the tables.
func Names(k Kind) []string {
	var names []string
	for _, p := range All() {
		if p.does(k) {
			names = append(names, p.Name)
		}
	}
	return names
}
