// SPDX-License-Identifier: MIT

package umem

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// memory is a mapping and how to undo it.
type memory struct {
	bytes []byte
	huge  bool
	note  string
	unmap func() error
}

// mapMemory maps size bytes of zeroes. They are a mapping of their own, never
// Go's heap: a zero-copy device may write them for some time after its socket
// was closed, since the kernel releases the UMEM from a work queue
// (xp_put_pool, net/xdp/xsk_buff_pool.c).
func mapMemory(size int, huge HugePages) (memory, error) {
	var note string
	if huge != HugeNever {
		m, err := mapHuge(size)
		if err == nil || huge == HugeRequire {
			return m, err
		}
		note = err.Error() + "; using ordinary pages"
	}
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
	if err != nil {
		return memory{}, os.NewSyscallError("mmap", err)
	}
	return memory{bytes: b, note: note, unmap: func() error { return unmapMemory(b) }}, nil
}

// mapHuge maps size bytes on huge pages of the default size. The kernel sets
// the pages aside here, so that a later touch cannot raise SIGBUS
// (Documentation/admin-guide/mm/hugetlbpage.rst).
func mapHuge(size int) (memory, error) {
	page, available := hugePages()
	if page == 0 {
		return memory{}, fmt.Errorf("huge pages: this kernel has none: %w", errors.ErrUnsupported)
	}
	size = roundUp(size, page)
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_HUGETLB)
	if err != nil {
		need := size / page
		return memory{}, fmt.Errorf("huge pages: %d of %d KiB needed, %d available, %d missing (sysctl vm.nr_hugepages): %w",
			need, page>>10, available, max(need-available, 0), os.NewSyscallError("mmap", err))
	}
	return memory{bytes: b, huge: true, unmap: func() error { return unmapMemory(b) }}, nil
}

func unmapMemory(b []byte) error { return os.NewSyscallError("munmap", unix.Munmap(b)) }

// hugePages reads the default huge page's size in bytes and how many can be had.
func hugePages() (size, available int) {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0, 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		var n int
		if _, err := fmt.Sscan(value, &n); err != nil {
			continue
		}
		switch name {
		case "HugePages_Free":
			available += n
		case "HugePages_Rsvd":
			available -= n
		case "Hugepagesize":
			size = n << 10
		}
	}
	return size, available
}
