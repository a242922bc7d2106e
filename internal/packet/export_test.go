// SPDX-License-Identifier: MIT

package packet

// Sum64 and Sum32 are the two loops of which Sum takes one; every machine tests
// both.
func Sum64(b []byte, initial uint16) uint16 { return sum64(b, initial) }
func Sum32(b []byte, initial uint16) uint16 { return sum32(b, initial) }
