// SPDX-License-Identifier: MIT

// Frames is a camera and its receiver in one process, over a private link that it
// makes for itself: one command shows what a machine makes of a camera's stream.
//
//	go run ./examples/camera/frames                  # as root; four minutes
//	go run ./examples/camera/frames -duration 10s
//
// The camera has 1.3 million pixels and makes 50 images a second, 65 MB/s. It is
// examples/camera/device, told by the control protocol what to do; the receiver is
// what examples/camera/receive has. That is the way called xdp. The way called mmsg
// does the same with the best that plain sockets have for it: sendmmsg with headers
// and pixels from where they lie, and recvmmsg.
//
//	private network A            private network B
//	draw, send  ======= veth =======>  receive, place into images, look at some
//
// The ways have the link in turns, so that what else the machine does hits both. What
// counts is whole images, and the time of all processors of the machine: most of the
// work is the kernel's, in the name of nobody.
package main
