// SPDX-License-Identifier: MIT

package testnet

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// onThread runs f on an operating system thread of its own that is destroyed
// afterwards, whatever f did to it. If f leaves by runtime.Goexit, as t.FailNow
// does, the calling goroutine leaves the same way.
func onThread(f func() error) error {
	var (
		err      error
		returned bool
		done     = make(chan struct{})
	)
	run := func() {
		defer close(done)
		err = f()
		returned = true
	}
	go func() {
		// Locked and never unlocked: the runtime destroys the thread when the
		// goroutine ends, and starts no other thread as a copy of it.
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			run()
			return
		}
		// The main thread is parked rather than destroyed, which would keep the
		// namespace alive. Hold it, so that the next goroutine gets another one.
		go func() {
			runtime.LockOSThread()
			run()
		}()
		<-done
		runtime.UnlockOSThread()
	}()
	<-done
	if !returned {
		runtime.Goexit()
	}
	return err
}
