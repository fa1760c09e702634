package mem

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Kinds of memory in reports and errors.
const (
	Loading  = "loading"  // tuples, and temporary data of a graph's construction
	Graph    = "graph"    // partitions
	Columns  = "columns"  // values, messages to all neighbours, inboxes, properties
	Messages = "messages" // to single vertices, and uncombined messages
	Frames   = "frames"   // received from other workers
	Names    = "names of vertices"
	other    = "other"
)

// Budget limits the memory of a process's arrays together with Go's heap. Below the soft limit,
// arrays are in memory. Above it, they are mapped from files in the spill directory; the system
// writes and reclaims their pages when it needs memory. Above the hard limit, arrays that cannot be
// spilled are refused with an *[Exhausted], which lists the memory in use. A nil *Budget refuses
// nothing.
//
//	0 ........ soft ........ hard ... limit
//	  memory    files or memory        the program, stacks, page tables
//
// Arrays are requested a few times in a run, never per message. Several goroutines may call all
// methods at once.
type Budget struct {
	limit, soft, hard int64
	least             int64 // smaller arrays stay in memory: a file costs system calls and pages
	// Last, if not nil, ends the process, before the kernel kills it, if nothing else helps. It is
	// set before SetProcess.
	Last func(err error)

	dir         string    // where arrays are spilled; empty: nowhere
	process     bool      // it is the process's budget, and sets the limit of Go's collector
	cause       error     // error returned by the last function of OnOver that was called
	overSince   time.Time // when look first found too much memory; zero if it is not too much
	moreThreads bool      // GOMAXPROCS has been raised because goroutines may wait for the disk
	oldLimit    int64     // limit of Go's collector before this budget

	mu         sync.Mutex
	kinds      []*Held
	peak       int64
	lastHeld   int64                       // value of held when the collector's limit was last set
	onOver     map[*func(error) error]bool // functions of OnOver
	done       chan struct{}               // closed to end the watcher
	collected  time.Time                   // when collect last ran
	collecting atomic.Bool                 // whether collect is running
	held       atomic.Int64                // bytes in memory
	spilled    atomic.Int64                // bytes in files
}

// Held has the bytes of one kind of memory, in memory and in files.
type Held struct {
	Kind            string
	Memory, Spilled int64
}

// Use is the memory in use under a budget.
type Use struct {
	Limit, Memory, Heap, Spilled, Peak int64
	Kinds                              []Held
}

// Arrays of spillLeast bytes or more may be spilled. In a small budget, smaller arrays may be
// spilled too.
const spillLeast = 1 << 20

// NewBudget makes a budget for a process with limit bytes in all. It spills to files in dir, or
// never if dir is empty.
func NewBudget(limit int64, dir string) *Budget {
	hard := max(limit-limit/16-min(limit/8, 24<<20), 1)
	return &Budget{limit: limit, hard: hard, soft: hard - hard/8, least: min(max(limit/256, minMap),
		spillLeast), dir: dir}
}

// Limit returns the bytes of the budget, or 0 if there is none.
func (b *Budget) Limit() int64 {
	if b == nil {
		return 0
	}
	return b.limit
}

// Room returns the bytes that the budget has for more arrays, in memory and in spill files, after a
// collection of Go's heap. Without a budget it is the largest integer.
func (b *Budget) Room() int64 {
	if b == nil {
		return math.MaxInt64
	}
	return b.withFiles(max(b.hard-b.held.Load()-b.measured(liveBytes), 0))
}

// Free returns the bytes that the budget has for more arrays in memory. Without a budget it is the
// largest integer.
func (b *Budget) Free() int64 {
	if b == nil {
		return math.MaxInt64
	}
	return max(b.hard-b.held.Load()-b.measured(heapBytes), 0)
}

// Tight reports whether bytes more would exceed the soft limit. Then callers use slower methods
// that need less memory.
func (b *Budget) Tight(bytes int64) bool { return b != nil && b.exceeds(bytes, b.soft) }

// exceeds reports whether bytes more would exceed a limit. It frees the spares if the limit would
// be exceeded with them.
func (b *Budget) exceeds(bytes, limit int64) bool {
	use := b.held.Load() + b.measured(heapBytes) + bytes
	if use+spares.bytes.Load() > limit {
		freeSpares()
	}
	return use > limit
}

// fits reports whether bytes more would be below the hard limit, if necessary after a collection of
// Go's heap.
func (b *Budget) fits(bytes int64) bool {
	if !b.exceeds(bytes, b.hard) {
		return true
	}
	if !b.process || b.held.Load()+bytes > b.hard {
		return false
	}
	debug.FreeOSMemory()
	return !b.exceeds(bytes, b.hard)
}

// take makes an array of this number of bytes, in memory or mapped from a file.
func (b *Budget) take(kind string, bytes int) (data []byte, file bool, err error) {
	if b == nil {
		data, err = reserve(bytes, true)
		return data, false, err
	}
	data, failed := b.spill(kind, bytes)
	if data != nil {
		return data, true, nil
	}
	n := int64(bytes)
	if b.held.Load()+n > b.hard || n >= b.least && !b.fits(n) {
		return nil, false, b.refuse(kind, n, failed)
	}
	if data, err = reserve(bytes, b.limit >= 1<<30); err != nil {
		return nil, false, err
	}
	b.add(kind, n, false)
	return data, false, nil
}

// spill maps an array from a file if memory is tight and the array is large enough. Otherwise it
// returns nil. An error tells why there is no file.
func (b *Budget) spill(kind string, bytes int) (data []byte, err error) {
	if n := int64(bytes); n >= b.least && b.dir != "" && b.Tight(n) {
		if data, err = spillFile(b.dir, bytes); err == nil {
			b.add(kind, n, true)
		}
	}
	return data, err
}

// add adds bytes to the counts of a kind; bytes is negative if memory was freed.
func (b *Budget) add(kind string, bytes int64, file bool) {
	if b == nil || bytes == 0 {
		return
	}
	kind = cmp.Or(kind, other)
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.kinds, func(h *Held) bool { return h.Kind == kind })
	if i < 0 {
		b.kinds = append(b.kinds, &Held{Kind: kind})
		i = len(b.kinds) - 1
	}
	if file {
		b.kinds[i].Spilled += bytes
		b.spilled.Add(bytes)
		return
	}
	b.kinds[i].Memory += bytes
	held := b.held.Add(bytes)
	b.peak = max(b.peak, held)
	if far := held - b.lastHeld; b.process && (far > b.limit/64 || far < -b.limit/64) {
		b.lastHeld = held
		debug.SetMemoryLimit(max(b.hard-held, b.limit/8))
	}
}

func (b *Budget) Use() Use {
	if b == nil {
		return Use{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	u := Use{Limit: b.limit, Memory: b.held.Load(), Spilled: b.spilled.Load(), Peak: b.peak}
	u.Heap = b.measured(heapBytes)
	for _, h := range b.kinds {
		if h.Memory > 0 || h.Spilled > 0 {
			u.Kinds = append(u.Kinds, *h)
		}
	}
	slices.SortFunc(u.Kinds, func(a, b Held) int { return strings.Compare(a.Kind, b.Kind) })
	return u
}

// String describes the memory in use by kind, for people.
func (u Use) String() string {
	var parts []string
	for _, h := range u.Kinds {
		if h.Memory > 0 {
			parts = append(parts, h.Kind+" "+Text(h.Memory))
		}
	}
	text := fmt.Sprintf("%s of the limit of %s are held", Text(u.Memory+u.Heap), Text(u.Limit))
	if u.Heap > 0 {
		parts = append(parts, "Go's heap "+Text(u.Heap))
	}
	if len(parts) > 0 {
		text += " (" + strings.Join(parts, ", ") + ")"
	}
	if u.Spilled > 0 {
		text += fmt.Sprintf(", %s are spilled", Text(u.Spilled))
	}
	return text
}

// refuse returns the error that the budget has no room for an array, and why it could not be
// spilled.
func (b *Budget) refuse(kind string, bytes int64, spill error) error {
	kind = cmp.Or(kind, other)
	text := fmt.Sprintf("%s: %v, %s are free", kind, b.Use(), Text(b.Free()))
	err := errors.New(text)
	switch {
	case spill != nil:
		err = fmt.Errorf("%s; spilling: %w", text, spill)
	case b.dir == "":
		err = errors.New(text + "; there is no directory to spill to")
	}
	return &Exhausted{Bytes: bytes, Err: err, Budget: true}
}

// process is the budget of arenas without their own.
var process atomic.Pointer[Budget]

// SetProcess makes b the budget of the process: arenas without a budget use it, and Go's collector
// limits the heap to the rest. nil means no budget.
func SetProcess(b *Budget) {
	if b != nil {
		b.process, b.done = true, make(chan struct{})
		b.oldLimit = debug.SetMemoryLimit(b.hard)
		go b.watch(b.done)
	}
	if old := process.Swap(b); old != nil && old != b {
		close(old.done)
		if b == nil {
			debug.SetMemoryLimit(old.oldLimit)
		}
	}
}

func Process() *Budget { return process.Load() }

// DefaultLimit returns the default limit of a process's memory, or 0 if unknown. It is the lowest
// of the machine's memory, the limits of its control groups, and GOMEMLIMIT.
func DefaultLimit() int64 {
	bytes := systemLimit()
	if n := debug.SetMemoryLimit(-1); os.Getenv("GOMEMLIMIT") != "" && n > 0 &&
		n < math.MaxInt64 && (bytes == 0 || n < bytes) {
		return n
	}
	return bytes
}

// spillShare is the largest ratio of spilled bytes to the limit in estimates before a run. With
// more, a run would only wait for the disk.
const spillShare = 4

// Room returns the bytes that the process can still get, in memory or spilled to files, or 0 if
// unknown. It frees the spares first, because the caller is about to use much memory.
func Room() int64 {
	freeSpares()
	b, free := Process(), Available()
	if b == nil {
		return free
	}
	if free <= 0 || b.Free() < free {
		free = b.Free()
	}
	return b.withFiles(free)
}

// withFiles adds the bytes that may still be spilled.
func (b *Budget) withFiles(free int64) int64 { return max(free, 1) + b.Files() }

// Files returns the bytes that the budget has for arrays in spill files. It is limited by the free
// disk space and by spillShare times the limit.
func (b *Budget) Files() int64 {
	if b == nil || b.dir == "" {
		return 0
	}
	free, _ := DiskRoom(b.dir)
	return min(free, max(spillShare*b.limit-b.spilled.Load(), 0))
}

// RoomText formats a result of Room: memory and files separately.
func RoomText(room int64) string { return Apart(room, Process().Files()) }

// Apart formats a number of bytes, some of them in files.
func Apart(room, files int64) string {
	if files = min(files, room); files <= 0 {
		return Text(room)
	}
	return Text(room-files) + " in memory and " + Text(files) + " in files to spill to"
}

// SpillDir checks whether a directory is useful for spilling. Files in memory, such as in a tmpfs,
// save nothing.
func SpillDir(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", dir)
	case !canSpill:
		return errors.New("files cannot be mapped to be written on this system")
	case inMemory(dir):
		return fmt.Errorf("%s is a tmpfs, which is in memory", dir)
	}
	return nil
}
