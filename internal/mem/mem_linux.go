package mem

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// whole finds the mapping of an aligned region by the region's first byte.
var whole sync.Map

// reserve maps total bytes of zeroed memory; if huge pages are wanted, mappings of one and more
// start at a huge page's border.
func reserve(total int, huge bool) ([]byte, error) {
	if total < hugePage || !huge {
		return unix.Mmap(-1, 0, total, unix.PROT_READ|unix.PROT_WRITE,
			unix.MAP_ANON|unix.MAP_PRIVATE)
	}
	size := (total + hugePage - 1) &^ (hugePage - 1)
	data, err := unix.Mmap(-1, 0, size+hugePage, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
	if err != nil {
		return nil, err
	}
	// unix.Munmap wants the very slice that unix.Mmap gave, so the mapping stays whole and the
	// unaligned ends, never touched, cost address space alone.
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(data))) & (hugePage - 1))
	aligned := data[skip : skip+size]
	_ = unix.Madvise(aligned, unix.MADV_HUGEPAGE) // a hint: small pages do as well, slower
	whole.Store(unsafe.SliceData(aligned), data)
	return aligned, nil
}

func release(data []byte) {
	if v, ok := whole.LoadAndDelete(unsafe.SliceData(data)); ok {
		data = v.([]byte)
	}
	unmap(data)
}

// discard gives back the pages of data that lie wholly after the first keep bytes.
func discard(data []byte, keep int) {
	page := os.Getpagesize()
	from := (keep + page - 1) / page * page
	if from < len(data) {
		_ = unix.Madvise(data[from:], unix.MADV_DONTNEED)
	}
}

// PeakRSS returns the largest resident set the process has had (VmHWM), in bytes, or 0 where it
// cannot be known.
func PeakRSS() int64 { return field("/proc/self/status", "VmHWM:") }

// Anonymous returns the bytes of the process's memory that are no file's, or 0 where it cannot be
// known: what the kernel cannot take back.
func Anonymous() int64 {
	resident, shared := statm()
	return resident - shared
}

// RSS returns the resident set of the process in bytes, or 0 where it cannot be known.
func RSS() int64 {
	resident, _ := statm()
	return resident
}

// statm returns the bytes of the resident set, and of those that are files'.
func statm() (resident, files int64) {
	data, err := os.ReadFile("/proc/self/statm") // a tenth of the time of status
	if err != nil {
		return 0, 0
	}
	fields := strings.Fields(string(data))
	if len(fields) < 3 {
		return 0, 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	shared, _ := strconv.ParseInt(fields[2], 10, 64)
	return pages * int64(os.Getpagesize()), shared * int64(os.Getpagesize())
}

func field(file, name string) int64 {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			kb, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kb << 10
		}
	}
	return 0
}
