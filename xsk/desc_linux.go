// SPDX-License-Identifier: MIT

package xsk

import "golang.org/x/sys/unix"

// desc is an entry of the RX or TX ring.
type desc = unix.XDPDesc
