// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// capabilities that the bench cannot do without. What single paths need beside
// them, they say themselves.
var needed = []struct {
	number int
	name   string
	use    string
}{
	{unix.CAP_SYS_ADMIN, "CAP_SYS_ADMIN", "make network namespaces"},
	{unix.CAP_NET_ADMIN, "CAP_NET_ADMIN", "make a veth pair"},
}

// checkRights tells in one line what this process may not do and how to get it.
func checkRights() error {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData // 64 bits in two halves
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		return fmt.Errorf("read capabilities: %w", err)
	}
	var missing []string
	for _, n := range needed {
		if data[n.number/32].Effective&(1<<(n.number%32)) == 0 {
			missing = append(missing, fmt.Sprintf("%s (to %s)", n.name, n.use))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("needs root, missing %s: run it as root, or by `go run -exec sudo ./bench`", strings.Join(missing, " and "))
}
