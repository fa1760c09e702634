//go:build invariants

package mem

import (
	"sync"

	"golang.org/x/sys/unix"
)

// poisons tells whether MakeAny fills its arrays with a pattern.
const poisons = true

// freed has freed mappings that are inaccessible. An access to one crashes at once, instead of
// using another array at the same address. New mappings replace the oldest, because the number of
// mappings of a process is limited.
var freed struct {
	mu   sync.Mutex
	last [4096][]byte
	next int
}

// unmap frees a mapping's memory. Its addresses are not reused for a long time.
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
