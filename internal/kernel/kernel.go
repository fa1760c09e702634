// Package kernel is the interface between the engine and the combiners, below package pregel: the
// bulk loops of a combiner over one partition ([Kernel]), their input ([Lists], [Slots]) and output
// ([Inbox], [Bins], [Outbox]), and the cells of aggregators. A pregel.VertexID is a uint64 here.
package kernel

import (
	"math/bits"
	"reflect"
	"slices"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/mem"
)

// Weighing is a combiner that wants edge weights: of kind float32, float64, or Invalid for none.
type Weighing interface{ Weights() reflect.Kind }

// Binding has the parameters of a kernel.
type Binding struct {
	// Sources are the slots messages come from; Capacity, a multiple of 64, is how many there are.
	Sources  *Slots
	Capacity int
	// Lists are the weighted lists that a semiring's kernel walks; their weights' type must be the
	// messages'.
	Lists []*Lists
	// Monotone asks the kernel to leave out messages that are no better than one the receiver has
	// had before.
	Monotone bool
	// Deterministic asks for results that do not depend on the order in which messages come.
	Deterministic bool
	// Arena allocates the kernel's memory until the job ends; nil uses Go's heap.
	Arena *mem.Arena
}

// Traits say what the engine may do with a kernel.
type Traits struct {
	// AnyOne: any one message is enough, so a pull ends at the first sender.
	AnyOne bool
	// Terminal: a pull may end early, at a value that nothing changes (SuiteSparse GraphBLAS's
	// word).
	Terminal bool
	// Bytes is the size of a message to all neighbours in a column; 0 if presence is the message.
	Bytes int
	// Self: the only message a vertex may send to all its neighbours is its own id. M is
	// pregel.VertexID.
	Self bool
	// Ordered: the result depends on the order of the messages (sums of floats).
	Ordered bool
	// Weighted: messages change by the weight of the edge they cross.
	Weighted bool
	// Raw: messages hold no pointers.
	Raw bool
	// Each: two messages of a vertex to all neighbours cannot be combined at the sender (Count).
	Each bool
	// Monotone: the kernel can leave out messages that are no better than one the receiver has had
	// before.
	Monotone bool
}

// Kernel is a combiner bound to one partition: it holds the column of messages to all neighbours
// (HM of Ueno13, by source slot, one being written while the other is read) and the loops over it.
// w is always the index of a word: 64 vertices or slots. Methods that take different words may be
// called by several goroutines at once, unless they say not.
type Kernel[M any] interface {
	Broadcast
	// Window returns the array that the messages of word w are written to: the column's own, or
	// scratch, for Store.
	Window(w int, scratch *[64]M) *[64]M
	// Store stores the messages sent from out, which Window returned. It returns the index of a
	// vertex whose message the combiner refuses, or -1.
	Store(w int, sent uint64, out *[64]M) int

	// Pull folds, for each vertex of need, the messages of its in-neighbours into in, adding to
	// those of found, and returns found with the vertices added that now have a message, and the
	// number of edges walked.
	Pull(p *Pull, w int, need, found uint64, in *[64]M) (uint64, int)
	// Push folds the messages that cross some rows straight into the inbox. Ranges of different
	// calls at once are disjoint.
	Push(p *Push, rows []Row, into *Inbox[M])
	// Emit appends the messages that cross some rows, edge by edge, to the bins.
	Emit(p *Push, rows []Row, bins *Bins[M])
	// Fold folds pairs of receiver and message into an inbox. Receivers of different calls at once
	// must lie in different runs of 4096.
	Fold(to []uint32, msg []M, into *Inbox[M])
}

// Broadcast is the part of a Kernel that does not depend on the type of messages: the column of
// messages to all neighbours.
type Broadcast interface {
	Traits() Traits
	// Reset restores the state before superstep 0.
	Reset()
	// Swap exchanges the column being written and the one being read. Not for concurrent use.
	Swap()
	// Pack makes c the column's values of those present in a list, in order.
	Pack(present *bitmap.Frontier, list *bitmap.List, c *Packed)
	// PackNext is Pack of the column being written.
	PackNext(present *bitmap.Frontier, list *bitmap.List, c *Packed)
	// Next is the column being written, by slot; nil if presence is the message. It may be
	// written to.
	Next() Column
	// Unpack writes c's values to the slots from first on at the ones of present, in order. One
	// call per range of slots.
	Unpack(c *Packed, present []uint64, first uint32)
}

// Claimer is a kernel of AnyOne, whose goroutines can push into the inbox concurrently.
type Claimer[M any] interface {
	// Claim pushes the messages that cross some rows to the receivers that have none and are not
	// skipped, with one atomic operation for each. An already claimed receiver costs one load.
	Claim(p *Push, rows []Row, into *Inbox[M])
}

// Lifter is a kernel that converts messages to single vertices. It panics for one that the sender
// may not send.
type Lifter[M any] interface {
	Lift(from uint64, m M) M
}

// Normalizing is a kernel that may bring messages into one form when they are sent, so that its
// loops need not look for odd ones.
type Normalizing[M any] interface {
	// Normalizer returns a function that changes, in place, what some vertices of a word send, and
	// returns those of them whose messages are sent. It is nil if all are, as they are. It does not
	// depend on the kernel's state.
	Normalizer() func(sent uint64, out *[64]M) uint64
}

// Remembering is a kernel that, in a monotone program, knows the best message that each slot has
// had.
type Remembering interface {
	// Best is these messages, by slot; nil where the kernel leaves out none. It may be written to.
	Best() Column
}

// Bounded is a kernel that, in a monotone program, can do without the arcs that are too heavy to
// bring a receiver a better message than the best it has had (Pull.Lightest). No weight is
// negative.
type Bounded interface {
	// Least returns the least of the messages of those present in some words of the column that is
	// being read, or, with next, of that being written: infinity if there is none.
	Least(present []uint64, lo, hi int, next bool) float64
	// Bound sets the least of all messages that pulls will meet. Not for concurrent use.
	Bound(least float64)
	// CountPull returns about how many arcs Pull would look at for the vertices of need in word w.
	CountPull(p *Pull, w int, need uint64) int
	// Thin adds to arcs those over which a message, no less than the bound, could be better than
	// the best that a vertex of need in word w has had.
	Thin(p *Pull, w int, need uint64, arcs *ArcBins)
	// Length returns the length of a path that a message of the kernel's type holds.
	Length(m any) float64
	// Share lets pulls that are under way read the messages just sent by vertices of word w. The
	// vertices of before already have messages that are being read: better ones replace them.
	// Messages of the others are read once the caller has marked these as present, by an atomic
	// write.
	Share(w int, sent, before uint64)
}

// Arc is an arc between slots.
type Arc struct {
	From, To uint32
	Weight   float64
}

// ArcBins are arcs by their sender's slot >> Shift.
type ArcBins struct {
	Store *mem.Arena // of large arrays, or nil
	Shift uint
	Arcs  [][]Arc
}

// Add adds an arc.
func (b *ArcBins) Add(a Arc) {
	bin := &b.Arcs[a.From>>b.Shift]
	if len(*bin) == cap(*bin) {
		*bin = mem.Grow(b.Store, *bin, 1)
	}
	*bin = append(*bin, a)
}

// Pull is a traversal from receivers to senders.
type Pull struct {
	*Lists
	// Present marks the source slots that sent. Others may be marked while a pull by the lightest
	// arcs is under way (Bounded.Share).
	Present []uint64
	// All says that every slot in the lists sent, so that Present is not read.
	All bool
	// Lightest, if not nil, has the lightest arcs of each list, lightest first. Only of kernels
	// that are Bounded.
	Lightest *Lists
}

// Push is a traversal from senders to receivers.
type Push struct {
	*Lists
	// Present marks the source slots that sent.
	Present []uint64
	// Skip marks the receivers that want no message.
	Skip []uint64
	// From and To, multiples of 64, bound the receivers that Push sends to, if Ranged. The lists
	// must then rise by slot.
	From, To uint32
	Ranged   bool
}

// Row is the list of a sender in Adj[Lo:Hi], or the part of it with the receivers in range.
type Row struct{ From, Lo, Hi uint32 }

// Senders adds the senders of word w to rows, for Find: Lo is the number of the row.
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

// Rows adds the senders of words from one on and below a limit to rows, until these may be full. It
// returns where it has come to.
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

// Find finds the rows of senders, and returns how many edges they have.
func (p *Push) Find(rows []Row) (edges int) {
	for i := range rows { // without anything else, so that the processor waits for many at once
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

// Fetch reads the first receiver of each row: the processor waits for many at once, and not for one
// after the other between messages.
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

// Mark notes that word w of an inbox may now hold a one.
func (p *Push) Mark(has *bitmap.Frontier, w uint32) {
	if p.Ranged {
		markShared(has, w) // others push, too
	} else {
		has.Top[w>>6] |= 1 << (w & 63)
	}
}

//go:noinline
func markShared(has *bitmap.Frontier, w uint32) { has.MarkShared(int(w)) }

// search returns the first place in Adj[lo:hi] of a slot not below s.
func (p *Push) search(lo, hi, s uint32) uint32 {
	i, _ := slices.BinarySearch(p.Adj[lo:hi], s)
	return lo + uint32(i)
}

// Inbox is a column of combined messages by destination slot, with their presence.
type Inbox[M any] struct {
	Msg []M
	Has *bitmap.Frontier
}

// Bins are runs of pairs of receiver and message, by the receiver's slot >> Shift, so that a bin's
// receivers fit in a cache and no two goroutines fold into the same ones.
type Bins[M any] struct {
	Receivers
	Msg  [][]M
	view Vec[M] // see Messages
}

// Receivers are the receivers of the messages in Bins.
type Receivers struct {
	Store *mem.Arena // of large arrays, or nil
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

// Packed is the values of a column that are present, in order: as raw little-endian bytes, or, of a
// type with pointers, as a slice.
type Packed struct {
	Raw []byte
	Ref any
	N   int
}
