// SPDX-License-Identifier: MIT

package testnet

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// setIPv6 sets the IPv6 defaults of the calling thread's namespace, before any
// interface but lo exists in it. Off, the interfaces send no stray IPv6 frame, so
// that tests may count frames exactly. On, an address is usable the moment it is
// added. A kernel without IPv6 has no such files and needs no switch.
func setIPv6(on bool) error {
	type setting struct{ conf, key, value string }
	settings := []setting{
		{"default", "accept_dad", "0"},
		{"default", "accept_ra", "0"},
		{"default", "router_solicitations", "0"},
	}
	if !on {
		settings = []setting{{"default", "disable_ipv6", "1"}, {"all", "disable_ipv6", "1"}}
	}
	for _, s := range settings {
		// /proc/sys/net shows the namespace of the thread that looks.
		path := "/proc/sys/net/ipv6/conf/" + s.conf + "/" + s.key
		err := os.WriteFile(path, []byte(s.value), 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("testnet: set IPv6 defaults: %w", err)
		}
	}
	return nil
}
