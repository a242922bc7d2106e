// SPDX-License-Identifier: MIT

package path

import (
	"fmt"
	"strings"
)

// All returns every path, in the order of the table.
func All() []Path {
	return []Path{socketPath(), mmsgPath(), gsoPath(), udpConnPath(), asaviePath(), packetConnPath(), endpointPath(), xdpPath()}
}

// Find returns the path of that name.
func Find(name string) (Path, error) {
	for _, p := range All() {
		if p.Name == name {
			return p, nil
		}
	}
	return Path{}, fmt.Errorf("no path %q: there are %s", name, strings.Join(Names(), ", "))
}

// Usual returns the names of the paths that run unless others are asked for.
func Usual() []string {
	var names []string
	for _, p := range All() {
		if !p.Extra {
			names = append(names, p.Name)
		}
	}
	return names
}

// Names returns the names of all paths, in the order of the table.
func Names() []string {
	var names []string
	for _, p := range All() {
		names = append(names, p.Name)
	}
	return names
}
