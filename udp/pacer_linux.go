// SPDX-License-Identifier: MIT

package udp

import (
	"time"

	"golang.org/x/sys/unix"
)

// nap sleeps in the kernel, which is more exact than Go's timers. A signal ends it.
func nap(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&ts, nil)
}

// ClockTAI reads CLOCK_TAI, for Config.LaunchClock where the device's clock follows it.
func ClockTAI() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_TAI, &ts) != nil {
		return 0 // Linux has had it since 3.10
	}
	return time.Duration(ts.Nano())
}
