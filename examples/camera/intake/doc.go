// SPDX-License-Identifier: MIT

// Package intake receives a GVSP-style stream and hands out its images.
//
//	Fast   (AF_XDP: package udp) ---+                     requests to resend
//	Socket (an ordinary socket)  ---+--- Take ---+--->    to the camera
//	whatever else gives packets  ---+            |
//	                                   assembler +--->    Images: a channel
//	                                             <---     Release
//
// Payload is copied once, from where the driver wrote it to its place in the image.
// Receiving never waits for the consumer: an image for which no buffer is free is not
// received, and counted.
package intake
