// SPDX-License-Identifier: MIT

package stream

import (
	"errors"
	"syscall"
	"time"
)

// Refused tells whether an error of a send says that there is no way to the peer at
// present: the link is down, its route has gone with it, or what waits for it takes no
// more. What was not taken then is not sent, and so not lost; the way may come back.
func Refused(err error) bool {
	for _, no := range []error{syscall.ENETDOWN, syscall.ENETUNREACH, syscall.EHOSTUNREACH, syscall.EAGAIN} {
		if errors.Is(err, no) {
			return true
		}
	}
	return false
}

// RefusedPause is how long a sender waits before it tries again.
const RefusedPause = time.Millisecond
