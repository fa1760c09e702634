//go:build invariants

package mem

import (
	"sync"

	"golang.org/x/sys/unix"
)

// poisons says that MakeAny overwrites its arrays.
const poisons = true

// freed are mappings that were freed and are still there, inaccessible: who touches one dies at
// once, instead of reading or writing another's array at the same addresses. The oldest make room
// for new ones, since a process has a limit of mappings.
var freed struct {
	mu   sync.Mutex
	last [4096][]byte
	next int
}

// unmap gives a mapping's memory back, and lets nobody have its addresses for a long time.
func unmap(data []byte) {
	_ = unix.Madvise(data, unix.MADV_DONTNEED)
	_ = unix.Mprotect(data, unix.PROT_NONE)
	freed.mu.Lock()
	defer freed.mu.Unlock()
	if old := freed.last[freed.next]; old != nil {
		_ = unix.Munmap(old)
	}
	freed.last[freed.next] = data
	freed.next = (freed.next + 1) % len(freed.last)
}
