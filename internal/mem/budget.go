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

// Kinds of memory, as reports and errors name them.
const (
	Loading  = "loading"  // tuples, and what a graph is made with
	Graph    = "graph"    // partitions
	Columns  = "columns"  // values, messages to all neighbours, inboxes, properties
	Messages = "messages" // those to single vertices, and uncombined ones
	Frames   = "frames"   // that came from other workers
	Names    = "names of vertices"
	other    = "other"
)

// Budget bounds the memory that the arrays of a process take, beside Go's heap: below the soft
// limit arrays are memory, above it they are mapped from files of the spill directory, whose pages
// the system writes and takes back when it needs the room; what cannot be spilled is refused above
// the hard limit, by an *[Exhausted] that says who holds what. A nil *Budget refuses nothing.
//
//	0 ........ soft ........ hard ... limit
//	  memory    files or memory        the program, stacks, page tables
//
// Arrays are asked for a few times in a run, never by message. All methods may be called by several
// goroutines at once.
type Budget struct {
	limit, soft, hard int64
	least             int64 // smaller arrays stay in memory: a file costs system calls and pages
	// Last, if not nil, ends the process, before the kernel does, when nothing else helps. It is
	// set before SetProcess.
	Last func(err error)

	dir     string    // where arrays are spilled to; empty: nowhere
	process bool      // Go's collector is told
	why     error     // what those said who were told last, until others are to be told
	said    time.Time // when it first found too much
	waits   bool      // somebody may wait for the disk: there are more processors for the others
	before  int64     // what it was told before

	mu         sync.Mutex
	kinds      []*Held
	peak       int64
	told       int64                       // held when the collector was told last
	over       map[*func(error) error]bool // whom to tell that it is exceeded
	done       chan struct{}               // ends the watcher
	collected  time.Time                   // when what the heap no longer uses was given back last
	collecting atomic.Bool                 // what the heap no longer uses is given back
	held       atomic.Int64                // in memory
	spilled    atomic.Int64                // in files
}

// Held is what one kind of memory takes, in bytes: in memory and in files.
type Held struct {
	Kind            string
	Memory, Spilled int64
}

// Use is what a budget has given out.
type Use struct {
	Limit, Memory, Heap, Spilled, Peak int64
	Kinds                              []Held
}

// spillLeast is the size in bytes from which every array may be spilled; in a small budget smaller
// ones are.
const spillLeast = 1 << 20

// NewBudget makes a budget of so many bytes for a process with all it has, which spills to files of
// a directory, or with an empty name nowhere.
func NewBudget(limit int64, dir string) *Budget {
	hard := max(limit-limit/16-min(limit/8, 24<<20), 1)
	return &Budget{limit: limit, hard: hard, soft: hard - hard/8, least: min(max(limit/256, small),
		spillLeast), dir: dir}
}

// Limit returns the bytes of the budget, 0 if there is none.
func (b *Budget) Limit() int64 {
	if b == nil {
		return 0
	}
	return b.limit
}

// Room returns how many bytes the budget has for arrays, in memory and in files of the spill
// directory, if what Go's heap no longer uses is collected; without a budget as many as anyone
// could ask for.
func (b *Budget) Room() int64 {
	if b == nil {
		return math.MaxInt64
	}
	return b.withFiles(max(b.hard-b.held.Load()-b.measured(liveBytes), 0))
}

// Free returns how many bytes more the budget has for arrays in memory; without a budget as many as
// anyone could ask for.
func (b *Budget) Free() int64 {
	if b == nil {
		return math.MaxInt64
	}
	return max(b.hard-b.held.Load()-b.measured(heapBytes), 0)
}

// Tight reports whether so many bytes more would be over the soft limit: what can do with less
// memory, slower, then does.
func (b *Budget) Tight(bytes int64) bool {
	return b != nil && b.exceeds(bytes, b.soft)
}

// exceeds reports whether so many bytes more would be over a limit. If that is so with the spares,
// they are freed.
func (b *Budget) exceeds(bytes, limit int64) bool {
	use := b.held.Load() + b.measured(heapBytes) + bytes
	if use+spares.bytes.Load() > limit {
		freeSpares()
	}
	return use > limit
}

// fits reports whether so many bytes more are below the hard limit, if need be when Go's heap has
// been collected.
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

// Reserve counts memory that is not of an arena, as it is on Go's heap, or refuses it. Call release
// once when it is gone.
func (b *Budget) Reserve(kind string, bytes int64) (release func(), err error) {
	if b == nil || bytes <= 0 {
		return func() {}, nil
	}
	if !b.fits(bytes) {
		return nil, b.refuse(kind, bytes, nil)
	}
	b.add(kind, bytes, false)
	return sync.OnceFunc(func() { b.add(kind, -bytes, false) }), nil
}

// take gives an array of so many bytes, in memory or mapped from a file.
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

// spill maps an array from a file if memory is tight and the array is large enough, else it returns
// nil. An error says why there is no file.
func (b *Budget) spill(kind string, bytes int) (data []byte, err error) {
	if n := int64(bytes); n >= b.least && b.dir != "" && b.Tight(n) {
		if data, err = spillFile(b.dir, bytes); err == nil {
			b.add(kind, n, true)
		}
	}
	return data, err
}

// add counts bytes of a kind that are taken, or given back.
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
	if far := held - b.told; b.process && (far > b.limit/64 || far < -b.limit/64) {
		b.told = held
		debug.SetMemoryLimit(max(b.hard-held, b.limit/8))
	}
}

// Use returns what the budget has given out.
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

// String is for people: who holds what, and what is free.
func (u Use) String() string {
	var parts []string
	for _, h := range u.Kinds {
		if h.Memory > 0 {
			parts = append(parts, h.Kind+" "+Text(h.Memory))
		}
	}
	text := fmt.Sprintf("of the limit of %s %s are held", Text(u.Limit), Text(u.Memory+u.Heap))
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

// refuse says that the budget has no room for an array, and why it could not be spilled.
func (b *Budget) refuse(kind string, bytes int64, spill error) error {
	kind = cmp.Or(kind, other)
	text := fmt.Sprintf("%s: %v, %s are free", kind, b.Use(), Text(b.Free()))
	err := errors.New(text)
	switch {
	case spill != nil:
		err = fmt.Errorf("%s; spilling: %w", text, spill)
	case b.dir == "":
		err = errors.New(text + "; there is nowhere to spill to")
	}
	return &Exhausted{Bytes: bytes, Err: err, Budget: true}
}

// process is the budget of arenas that have none of their own.
var process atomic.Pointer[Budget]

// SetProcess makes a budget that of the whole process: arenas that have none of their own count in
// it, and Go's collector keeps the heap to what they leave. nil is none.
func SetProcess(b *Budget) {
	if b != nil {
		b.process, b.done = true, make(chan struct{})
		b.before = debug.SetMemoryLimit(b.hard)
		go b.watch(b.done)
	}
	if old := process.Swap(b); old != nil && old != b {
		close(old.done)
		if b == nil {
			debug.SetMemoryLimit(old.before)
		}
	}
}

// Process returns the budget of the process, or nil.
func Process() *Budget { return process.Load() }

// DefaultLimit returns how many bytes a process may take if nobody says it, and whose limit that
// is; 0 if nobody knows: the least of the memory of the machine, of the limits of its control
// groups, and of GOMEMLIMIT.
func DefaultLimit() (bytes int64, from string) {
	bytes, from = systemLimit()
	if n := goLimit(); n > 0 && (bytes == 0 || n < bytes) {
		return n, "GOMEMLIMIT"
	}
	return bytes, from
}

// spillShare is how many times the limit may be spilled by what is known beforehand: with more, a
// run would only wait for the disk.
const spillShare = 4

// Room returns how many bytes the process can still have, in memory or spilled to files, or 0 if
// unknown. It frees the spares first: who asks is about to take much.
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

// withFiles returns so many bytes in memory and those that may still be spilled.
func (b *Budget) withFiles(free int64) int64 { return max(free, 1) + b.Files() }

// Files returns how many bytes the budget has for arrays in files of the spill directory: as many
// as the disk has free, and a few times the limit at most.
func (b *Budget) Files() int64 {
	if b == nil || b.dir == "" {
		return 0
	}
	free, _ := DiskRoom(b.dir)
	return min(free, max(spillShare*b.limit-b.spilled.Load(), 0))
}

// RoomText words what Room has returned, what there is in memory apart from files.
func RoomText(room int64) string { return Apart(room, Process().Files()) }

// Apart words so many bytes, of which some are in files.
func Apart(room, files int64) string {
	if files = min(files, room); files <= 0 {
		return Text(room)
	}
	return Text(room-files) + " in memory and " + Text(files) + " in files to spill to"
}

// SpillDir checks that a directory is of use to spill to: files in memory, as of a tmpfs, save
// none.
func SpillDir(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is no directory", dir)
	case !canSpill:
		return errors.New("files cannot be mapped to be written on this system")
	case inMemory(dir):
		return fmt.Errorf("%s is in memory itself, a tmpfs", dir)
	}
	return nil
}
