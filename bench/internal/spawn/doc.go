// SPDX-License-Identifier: MIT

// Package spawn starts workers: processes of this program, each tied to one
// processor, that are talked to over a socket pair and end with their starter, in
// whatever way that ends.
package spawn
