// SPDX-License-Identifier: MIT

// Package picture makes pictures, as package image has them, of the bytes of a
// camera's images, and writes them to files that every viewer reads: PNG, or PGM and
// PPM, which are a line of text and then the bytes.
//
// Pixels of more than eight bits lose the lower ones on the way to a screen, and none
// on the way to a file.
package picture
