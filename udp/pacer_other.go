// SPDX-License-Identifier: MIT

//go:build !linux

package udp

import "time"

func nap(d time.Duration) { time.Sleep(d) }

// ClockTAI reads CLOCK_TAI, which Linux has; elsewhere it is 0.
func ClockTAI() time.Duration { return 0 }
