// SPDX-License-Identifier: MIT

// Package page is a web page that shows the images of a stream as they come, with its
// counters and where loss happened. It is one file, and asks no other server for
// anything.
//
// Only what is looked at costs something: images are copied and encoded when a
// browser asks for one.
package page
