package mem

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mappings has the whole mapping of each aligned region, by the region's first byte.
var mappings sync.Map

// reserve maps total bytes of zeroed memory. If huge is set, mappings begin at a multiple of the
// huge page size, and smaller arrays are parts of huge pages.
func reserve(total int, huge bool) ([]byte, error) {
	if huge && total < hugePage && !poisons {
		return slabs.take(total)
	}
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
	// unix.Munmap needs the same slice that unix.Mmap returned. So the whole mapping is recorded.
	// Its unaligned ends are never touched, so they cost only address space.
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(data))) & (hugePage - 1))
	aligned := data[skip : skip+size]
	_ = unix.Madvise(aligned, unix.MADV_HUGEPAGE) // only a hint: small pages work too, but slower
	mappings.Store(unsafe.SliceData(aligned), data)
	return aligned, nil
}

func release(data []byte) {
	data = slabs.leave(data)
	if v, ok := mappings.LoadAndDelete(unsafe.SliceData(data)); ok {
		data = v.([]byte)
	}
	if data != nil {
		unmap(data)
	}
}

// discard returns to the system the pages of data that are entirely after the first keep bytes.
func discard(data []byte, keep int) {
	page := os.Getpagesize()
	from := (keep + page - 1) / page * page
	if from < len(data) {
		_ = unix.Madvise(data[from:], unix.MADV_DONTNEED)
	}
}

// PeakRSS returns the largest resident set of the process so far (VmHWM), in bytes, or 0 if
// unknown.
func PeakRSS() int64 { return kilobytes("/proc/self/status", "VmHWM:") }

// Anonymous returns the bytes of the process's memory that are not backed by files, or 0 if
// unknown. The kernel cannot reclaim them.
func Anonymous() int64 {
	resident, shared := statm()
	return resident - shared
}

// RSS returns the resident set of the process in bytes, or 0 if unknown.
func RSS() int64 {
	resident, _ := statm()
	return resident
}

// statm returns the bytes of the resident set, and its part that is backed by files.
func statm() (resident, files int64) {
	data, err := os.ReadFile("/proc/self/statm") // takes a tenth of the time of reading status
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

// kilobytes returns a number of KiB from a file of lines "NAME NUMBER kB", in bytes.
func kilobytes(file, name string) int64 { return field(file, name) << 10 }

// field returns the number behind a name in a file of lines "NAME NUMBER", or 0.
func field(file, name string) int64 {
	data, _ := os.ReadFile(file)
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return n
		}
	}
	return 0
}
