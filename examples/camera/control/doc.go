// SPDX-License-Identifier: MIT

// Package control is the receiver's end of the control protocol of GigE-Vision-style
// cameras: it finds a camera, takes control, reads and writes registers, keeps the
// control by heartbeats, finds the packet size that gets through, and asks for packets
// again. All of it goes over an ordinary UDP socket, whatever way the stream takes.
//
// It needs no description of the camera: the registers that it uses by itself are
// those that every camera has. What a camera has beyond them, size and start of
// images, is for the caller to write.
package control
