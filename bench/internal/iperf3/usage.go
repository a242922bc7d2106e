// SPDX-License-Identifier: MIT

package iperf3

import "time"

// usage is the processor time of this process.
type usage struct{ user, system time.Duration }
