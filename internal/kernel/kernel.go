// Package kernel is the interface between the engine and the combiners, below package pregel. It
// has the bulk loops of a combiner over one partition ([Kernel]), their input ([Lists], [Slots])
// and output ([Inbox], [Bins], [Outbox]), and the cells of aggregators. Here a pregel.VertexID is a
// uint64. Read kernel.go first, then erased.go, through which the engine calls a program.
package kernel

import (
	"math/bits"
	"reflect"
	"slices"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/mem"
)

// Weighing is a combiner that needs edge weights, of kind float32 or float64, or Invalid for none.
type Weighing interface{ Weights() reflect.Kind }

// Binding has the parameters of a kernel.
type Binding struct {
	// Sources has the slots that send messages. Capacity is their number, a multiple of 64.
	Sources  *Slots
	Capacity int
	// Lists has the weighted lists that a semiring's kernel walks. Their weights must have the
	// messages' type.
	Lists []*Lists
	// Monotone makes the kernel drop messages that are not better than an earlier message to the
	// same receiver.
	Monotone bool
	// Deterministic requests results that do not depend on the order of messages.
	Deterministic bool
	// Arena allocates the kernel's memory until the job ends; nil uses Go's heap.
	Arena *mem.Arena
}

// Traits tell the engine how it may use a kernel.
type Traits struct {
	// AnyOne: any one message is enough, so a pull ends at the first sender.
	AnyOne bool
	// Terminal: a pull may end early, at a value that no other message changes (the term of
	// SuiteSparse GraphBLAS).
	Terminal bool
	// Bytes is the size of a message to all neighbours in a column; 0 if only presence matters.
	Bytes int
	// Self: a vertex may send its neighbours only its own id. M is pregel.VertexID.
	Self bool
	// Ordered: the result depends on the order of the messages (sums of floats).
	Ordered bool
	// Weighted: a message changes by the weight of the edge that it crosses.
	Weighted bool
	// Raw: messages contain no pointers.
	Raw bool
	// Each: a vertex's messages to all neighbours cannot be combined at the sender (Count).
	Each bool
	// Monotone: the kernel can drop messages that are not better than an earlier message to the
	// same receiver.
	Monotone bool
}

// Kernel is a combiner bound to one partition. It has the column of messages to all neighbours and
// the loops over it. The column is HM of Ueno13, by source slot: one array is written while another
// is read. w is the index of a word of 64 vertices or slots. Several goroutines may call methods
// for different words at once, unless documented otherwise.
type Kernel[M any] interface {
	Broadcast
	// Window returns the array for the messages of word w. It is a part of the column, or scratch,
	// which Store then copies.
	Window(w int, scratch *[64]M) *[64]M
	// Store stores the messages of the vertices sent; out is the result of Window. It returns the
	// index of a vertex whose message the combiner rejects, or -1.
	Store(w int, sent uint64, out *[64]M) int

	// Pull folds the messages of in-neighbours of the vertices need into in. Vertices in found
	// already have a message there. It returns found with the vertices added that now have a
	// message, and the number of edges walked.
	Pull(p *Pull, w int, need, found uint64, in *[64]M) (uint64, int)
	// Push folds the messages that cross some rows into the inbox. Concurrent calls must have
	// disjoint ranges.
	Push(p *Push, rows []Row, into *Inbox[M])
	// Emit appends the messages that cross some rows to the bins, one pair per edge.
	Emit(p *Push, rows []Row, bins *Bins[M])
	// Fold folds pairs of receiver and message into an inbox. Concurrent calls must not
	// have receivers in the same block of 4096, aligned to 4096.
	Fold(to []uint32, msg []M, into *Inbox[M])
}

// Broadcast is the part of a Kernel that does not depend on the type of messages: the column of
// messages to all neighbours.
type Broadcast interface {
	Traits() Traits
	// Reset restores the state before superstep 0.
	Reset()
	// Swap exchanges the array being written and the one being read. It must not be called
	// concurrently.
	Swap()
	// Column returns the messages by slot: the array being written if next is set, otherwise the
	// one being read. The caller may write to it. The result is valid until Swap. If only presence
	// matters, the column has no elements, of a type without size.
	Column(next bool) Column
}

// Claimer is a kernel with AnyOne that allows concurrent pushes into the inbox.
type Claimer[M any] interface {
	// Claim pushes the messages that cross some rows to receivers that have none and are not
	// skipped. Each such receiver costs one atomic operation. An already claimed receiver costs one
	// load.
	Claim(p *Push, rows []Row, into *Inbox[M])
}

// Lifter is a kernel that converts messages to single vertices. It panics if the sender may not
// send the message.
type Lifter[M any] interface {
	Lift(from uint64, m M) M
}

// Normalizing is a kernel that may normalize messages when they are sent, so that its loops need no
// special cases.
type Normalizing[M any] interface {
	// Normalizer returns a function that normalizes the messages of the vertices sent, in place,
	// and returns the vertices whose messages are really sent. The function does not depend on the
	// kernel's state. It is nil if no message needs it.
	Normalizer() func(sent uint64, out *[64]M) uint64
}

// Remembering is a kernel that, in a monotone program, stores the best message so far of each slot.
type Remembering interface {
	// Best returns these messages, by slot; nil if the kernel drops no messages. The caller may
	// write to it.
	Best() Column
}

// Bounded is a kernel that, in a monotone program, can skip arcs that are too heavy to bring their
// receiver a better message (Pull.Lightest). No weight is negative.
type Bounded interface {
	// Least returns the least message of the present vertices in words [lo, hi), or infinity if
	// there is none. next selects the array being written, otherwise it is the one being read.
	Least(present []uint64, lo, hi int, next bool) float64
	// Bound sets a lower bound of all messages in the next pulls. It must not be called
	// concurrently.
	Bound(least float64)
	// CountPull returns the approximate number of arcs that Pull would visit for the vertices need
	// of word w.
	CountPull(p *Pull, w int, need uint64) int
	// Thin adds arcs to vertices of need in word w: the arcs over which a message that is not less
	// than the bound could improve the receiver.
	Thin(p *Pull, w int, need uint64, arcs *ArcBins)
	// Share makes the messages just sent by vertices of word w visible to running pulls. Vertices
	// in before already have messages that are being read; better messages replace these. Messages
	// of the other vertices are read after the caller has marked them as present by an atomic
	// write.
	Share(w int, sent, before uint64)
}

// Arc is an arc between slots.
type Arc struct {
	From, To uint32
	Weight   float64
}

// ArcBins has arcs by their sender's slot >> Shift.
type ArcBins struct {
	Store *mem.Arena // arena of large arrays, or nil
	Shift uint
	Arcs  [][]Arc
}

func (b *ArcBins) Add(a Arc) {
	bin := &b.Arcs[a.From>>b.Shift]
	if len(*bin) == cap(*bin) {
		*bin = mem.Grow(b.Store, *bin, 1)
	}
	*bin = append(*bin, a)
}

// Pull describes a traversal from receivers to senders.
type Pull struct {
	*Lists
	// Present marks the source slots that sent. While a pull by the lightest arcs runs, more may be
	// marked (Bounded.Share).
	Present []uint64
	// All means that every slot in the lists sent, so Present is not read.
	All bool
	// Lightest, if not nil, has the lightest arcs of each list, in ascending order of weights. Only
	// Bounded kernels use it.
	Lightest *Lists
}

// Push describes a traversal from senders to receivers.
type Push struct {
	*Lists
	// Present marks the source slots that sent.
	Present []uint64
	// Skip marks the receivers that need no message.
	Skip []uint64
	// If Ranged, Push sends only to receivers in [From, To), both multiples of 64. Then the lists
	// must be in ascending order of slots.
	From, To uint32
	Ranged   bool
	// Listing is set only together with Ranged. The receivers that get their first message are then
	// appended to Listed, and the inbox's summary does not name their words. Its bitmap has those of
	// Skip from the beginning.
	Listing bool
	Listed  []uint32
}

// Row is the list of a sender, Adj[Lo:Hi], or its part with the receivers in the range.
type Row struct{ From, Lo, Hi uint32 }

// Senders appends the senders of word w to rows, for Find. It sets Lo to the number of the row.
func (p *Push) Senders(rows []Row, w int) []Row {
	lists, rank := p.Bits[w], p.Rank[w]
	for senders := p.Present[w] & lists; senders != 0; senders &= senders - 1 {
		i := bits.TrailingZeros64(senders) & 63
		before := lists & (1<<i - 1)
		rows = append(rows,
			Row{From: uint32(w<<6 + i), Lo: rank + uint32(bits.OnesCount64(before))})
	}
	return rows
}

// Rows appends the senders of words [from, limit) to rows. It stops when the next word might not
// fit, and returns the next word.
func (p *Push) Rows(rows []Row, senders *bitmap.Frontier, from, limit int) (_ []Row, next int) {
	limit = min(limit, len(senders.Words))
	for from < limit {
		top := senders.Summary(from>>6) &^ bitmap.Low(from&63)
		for ; top != 0; top &= top - 1 {
			w := from&^63 + bits.TrailingZeros64(top)
			if w >= limit {
				return rows, limit
			}
			if len(rows) > cap(rows)-64 {
				return rows, w
			}
			if p.Present[w] != 0 {
				rows = p.Senders(rows, w)
			}
		}
		from = from&^63 + 64
	}
	return rows, limit
}

// Find sets the ranges of rows, and returns their number of edges.
func (p *Push) Find(rows []Row) (edges int) {
	for i := range rows { // nothing else in this loop, so that many cache misses overlap
		row := &rows[i]
		row.Lo, row.Hi = p.Starts[row.Lo], p.Starts[row.Lo+1]
	}
	for i := range rows {
		row := &rows[i]
		if p.Ranged && row.Lo < row.Hi && (p.Adj[row.Lo] < p.From || p.Adj[row.Hi-1] >= p.To) {
			row.Lo, row.Hi = p.search(row.Lo, row.Hi, p.From), p.search(row.Lo, row.Hi, p.To)
		}
		edges += int(row.Hi - row.Lo)
	}
	return edges
}

// Fetch reads the first receiver of each row, so that many cache misses overlap instead of one
// between messages.
//
//go:noinline
func (p *Push) Fetch(rows []Row) (read uint32) {
	for _, row := range rows {
		if row.Lo < row.Hi {
			read += p.Adj[row.Lo]
		}
	}
	return read
}

// Mark records that slot d of an inbox, which had no message, has one.
func (p *Push) Mark(has *bitmap.Frontier, d uint32) {
	if p.Ranged {
		p.markRanged(has, d)
	} else {
		has.Top[d>>12] |= 1 << (d >> 6 & 63)
	}
}

//go:noinline
func (p *Push) markRanged(has *bitmap.Frontier, d uint32) {
	if p.Listing {
		p.Listed = append(p.Listed, d)
	} else {
		has.MarkShared(int(d >> 6)) // other goroutines push too
	}
}

// search returns the first index in Adj[lo:hi] of a slot that is not below s.
func (p *Push) search(lo, hi, s uint32) uint32 {
	i, _ := slices.BinarySearch(p.Adj[lo:hi], s)
	return lo + uint32(i)
}

// Inbox has combined messages by destination slot, and which slots have one.
type Inbox[M any] struct {
	Msg []M
	Has *bitmap.Frontier
	// Listed, if not empty, has the messages of the receivers in Push.Listed, in place of Msg.
	Listed []M
}

// Bins has pairs of receiver and message, by the receiver's slot >> Shift. The receivers of a bin
// fit in a cache, and no two goroutines fold into the same ones.
type Bins[M any] struct {
	Receivers
	Msg  [][]M
	view Vec[M] // see Messages
}

// Receivers has the receivers of the messages in Bins.
type Receivers struct {
	Store *mem.Arena // arena of large arrays, or nil
	Shift uint
	To    [][]uint32
}

// NewBins makes bins for receivers below slots.
func NewBins[M any](slots int, shift uint) *Bins[M] {
	n := max((slots-1)>>shift+1, 1)
	return &Bins[M]{Receivers: Receivers{Shift: shift, To: make([][]uint32, n)}, Msg: make([][]M,
		n)}
}

// Len returns the number of pairs.
func (b *Receivers) Len() (n int) {
	for _, to := range b.To {
		n += len(to)
	}
	return n
}

// Reset empties the bins and keeps their memory.
func (b *Bins[M]) Reset() {
	for i := range b.To {
		b.To[i], b.Msg[i] = b.To[i][:0], b.Msg[i][:0]
	}
}

// Packed has the present values of a column, in order: as raw little-endian bytes, or as a slice if
// the type contains pointers.
type Packed struct {
	Raw []byte
	Ref any
	N   int
}
