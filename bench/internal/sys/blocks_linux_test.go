// SPDX-License-Identifier: MIT

package sys

import "testing"

// TestBlocksFor holds what it shall in whole pages, and not much more.
func TestBlocksFor(t *testing.T) {
	for _, page := range []int{4096, 65536} {
		for _, length := range []int{60, 106, 1514, 9014, 65549} {
			for _, hold := range []int{1, 64, 1024, 4096} {
				size, count := BlocksFor(hold, length, page)
				each := (length + frameOverhead + frameAlign - 1) / frameAlign * frameAlign
				per := (size - blockHeader) / each
				if size%page != 0 || per < 8 || (count-2)*per < hold || (count-3)*per >= hold {
					t.Errorf("page %d: %d frames of %d bytes in %d blocks of %d bytes, %d in each", page, hold, length, count, size, per)
				}
			}
		}
	}
}
