// SPDX-License-Identifier: MIT

// Package device is a virtual camera, such as programs for GigE-Vision-style cameras
// can find, configure and watch: on a network it is a camera, but for the sensor.
//
//	viewer                                camera
//	  |--- commands, port 3956 ----------->| control   registers, who may write them
//	  |<-- acknowledgements ---------------|    | start, stop, resend
//	  |                                    |    v
//	  |<-- leader, payload ..., trailer ---| stream    draws an image, sends it
//	  |                                    |    ^
//	  |    (asked for again)           <---| store     the latest images, in a region
//
// Control is an ordinary socket. The stream goes out by package udp: the images lie
// in a region of its memory, and each packet is a header and a slice of the region, so
// that the bytes of an image are touched only by who draws it and by the driver. An
// image's place is drawn into again when the cookies of all its packets are back, and
// until then packets that were lost can be sent again from it.
package device
