package kernel

import (
	"reflect"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/mem"
)

// Erased is a program whose types V and M are erased: the engine has no type parameters. ID is
// pregel.VertexID.
type Erased[ID ~uint64] struct {
	// Program is the program, or the list program that List wraps.
	Program any
	// Value and Message are the types V and M.
	Value, Message reflect.Type
	// Wrap erases another value of the program's type, such as one with other parameters.
	Wrap func(program any) Erased[ID]
	// Complete says that the parameters' defaults are filled in: a field that is zero is meant.
	Complete bool
	// Inspect finds the optional methods whose signatures have V or M. It calls Combiner and
	// Report.
	Inspect func() *Methods[ID]
}

// Methods are the optional methods of a program whose signatures have V or M.
type Methods[ID ~uint64] struct {
	List bool
	// Found and Wanted are the methods that the program has, and the signatures of all, by name.
	Found  map[string]bool
	Wanted map[string]reflect.Type
	// NoCombiner says that the method Combiner returns nil. Combiner is the combiner's name, or
	// empty, and Weights the kind of edge weights that it wants.
	NoCombiner bool
	Combiner   string
	Weights    reflect.Kind
	// Score, Reached, Group and Number say which functions the program's Report has.
	Score, Reached, Group, Number bool
	ScoreName                     string
	// Instance makes the state of a partition.
	Instance func() Instance[ID]
}

// Has reports whether the program has a method.
func (m *Methods[ID]) Has(name string) bool { return m.Found[name] }

// Named is a program with its name: a pregel.Registered.
type Named[ID ~uint64] struct {
	Name    string
	Program Erased[ID]
}

// ProgramName returns the name.
func (n Named[ID]) ProgramName() string { return n.Name }

// Pregel is how the engine reaches unexported parts of package pregel, which sets it.
var Pregel struct {
	// Aggregate describes a pregel.Aggregate, and Property a pregel.Column.
	Aggregate func(listed any) Aggregate
	Property  func(listed any) Property
	// Coordinator makes the *pregel.Coordinator of a run, with the aggregators' totals, indexed by
	// their numbers, also for a pregel.Context of these. log, if not nil, takes its lines.
	Coordinator func(vertices, edges uint64, totals []Cell, log func(line string)) any
	// End returns how a *pregel.Coordinator ended the run, if it did, to be read and reset.
	End func(coordinator any) *End
}

// The engine reaches everything of type V or M through an Instance, which belongs to a partition,
// and its Lanes, which belong to a goroutine each. It calls them once for a word of 64 vertices,
// for up to 64 words, for a chunk, for a bin or for a frame, and never for an edge
// (docs/design/erasure.md).

// Instance holds what a partition has of types V and M: the vertices' values, the columns of
// messages, and the messages that came.
type Instance[ID ~uint64] interface {
	// Place makes values, columns and inbox for a partition, as they are before superstep 0.
	Place(p *Placement) error
	// Rebind replaces the program by another one of the same type.
	Rebind(m *Methods[ID])
	NewLane(label func(ID) uint64, s State, changes *Requests) Lane[ID]

	// Values are those of the vertices, Messages is an empty column of messages.
	Values() Column
	Messages() Column
	// BeginFill calls the program's Start; Fill sets the values of vertices in [lo, hi) to the one
	// that it returned, or to zero if there is none. Sources are the vertices that it returned.
	BeginFill()
	Sources() []ID
	Fill(lo, hi int)

	// Broadcast returns a column of messages to all neighbours: one of the kernel's loops.
	Broadcast(way int) Broadcast
	// Claims reports whether goroutines can push into the inbox concurrently.
	Claims() bool
	// Combine appends one message for each receiver to to, and the receivers to positions, which
	// it returns. keys are sorted: the receiver, and the message's place in from in the low half.
	Combine(keys []uint64, from, to Column, positions []uint32) []uint32

	// MakeInbox makes the inbox at its first use. Inbox returns it; Has is nil before.
	MakeInbox()
	Inbox() (messages Column, has *bitmap.Frontier)
	// Take takes messages that reached their receivers' owner: into the inbox, or one by one.
	Take(to []uint32, messages Column)
	// Sort sorts messages of a list program by their receivers, before these run. Drop drops
	// those to some receivers, and Forget all.
	Sort(owned int)
	Drop(which func(to uint32) bool)
	Forget()
	// Gather takes what the senders present sent to the vertices below owned that are not
	// finished, of a list program, and returns how many edges it looked at.
	Gather(p *Pull, way, owned int, finished []uint64) (walked int)

	// SetPulls says what Lane.PullOne and Lane.Pull go through: lists, and the column that is
	// delivered through each; and whether they take the inbox, or the sums of tiles.
	SetPulls(pulls []ColumnPull, inbox bool, tiled []uint64)
	// Tiles reports whether pulls of all messages can go by tiles. ApartBytes is how many bytes
	// their sums take. MakeSums makes them in an arena, or, with nil, forgets them. ClearSums
	// makes the sums of words [lo, hi) zero.
	Tiles() bool
	ApartBytes() int64
	MakeSums(a *mem.Arena)
	ClearSums(lo, hi int)
	// FoldBins folds bin k of some lanes into the inbox, and empties it.
	FoldBins(lanes []Lane[ID], k int)

	// Output appends a vertex's value as the program writes it.
	Output(dst []byte, local uint32, label func(dst []byte, id ID) []byte) []byte
	// Score, Reached and Group are those of the program's Report, of a vertex's value.
	Score(local uint32) float64
	Reached(local uint32) bool
	Group(local uint32) (key uint64, in bool)
	// Resolve calls the program's Resolve. Values are elements of a column; the one that Resolve
	// returns is appended to it.
	Resolve(id ID, exists, remove bool, value int, add []int, of Column) (exist bool)
}

// Lane is one goroutine's share of an Instance.
type Lane[ID ~uint64] interface {
	State() *State
	// Interrupted reports whether the program was running, and for which vertex, when a method
	// panicked. It can be called once.
	Interrupted() (running bool, at ID)
	// Equip follows Place.
	Equip()
	Reset()

	// PullOne pulls one word through the only lists and runs it: the vertices of need are pulled
	// for, open are not finished, active awake. It returns who ran, who had a message, who sent,
	// halted and finished, and the number of edges walked.
	PullOne(w int, need, open,
		active uint64) (run, received, sent, halted, finished uint64, walked int)
	// Pull is PullOne for any number of lists, and for messages in the inbox or in tiles' sums.
	Pull(w int, open, active uint64) (run, received, sent, halted, finished uint64, walked int)
	// Lists is Pull for a list program: pull says whether lists are pulled through, or only
	// messages that came one by one are delivered.
	Lists(w int, open, active uint64,
		pull bool) (run, received, sent, halted, finished uint64, walked int)
	// SentBack returns the vertices of the last word that sent to in-neighbours apart.
	SentBack() uint64
	// Start runs a word in superstep 0, and Resend sends a word's messages of the last superstep
	// again, which Store then stores.
	Start(w int, run uint64) (sent, halted, finished uint64)
	Resend(w int, run, active uint64) (sent, back uint64)
	Store(w int, sent, back uint64)
	// Sweep runs n words of the batch, whose messages are in the inbox.
	Sweep(n int)
	Batch() *Batch

	// TryPull pulls for vertices of a word, and drops the result.
	TryPull(p *Pull, w int) (walked int)
	// PullInto pulls into the inbox. If any one message is enough, no vertex of need has one.
	PullInto(p ColumnPull, w int, need uint64) (walked int)
	// Push pushes the messages that cross some rows into the inbox, Claim to receivers that have
	// none yet, and Emit into bins.
	Push(p *Push, way int, rows []Row)
	Claim(p *Push, way int, rows []Row)
	Emit(p *Push, way int, rows []Row)
	// Pairs are the bins, made with this shift at first use; nil if not made and shift is 0.
	Pairs(shift uint) Pairs
	// Reserve makes room in the bins for so many pairs each.
	Reserve(counts []int)
	// AddTile adds the messages that cross a tile to the sums from word w on.
	AddTile(t *Tile, w int)

	// Sends are the messages to single vertices; Count how many, settled by Settle.
	Sends() Sends
	Settle() int
	ResetSends()
	KeepsSenders() bool
	// AddSend puts message i of a column into the outbox, for a run that goes on.
	AddSend(owner int, local uint32, from uint64, messages Column, i int)
	// AddedValues are the values that go with requests to add vertices.
	AddedValues() Column
	ResetRequests()

	// BeginLists and EndLists bound calls of Lists whose time is measured. ListTimes returns how
	// long they gathered messages and ran the program, in seconds.
	BeginLists()
	EndLists()
	ListTimes() (gathering, running float64)
	// Watch has f, if not nil, called with each message when it is sent, and a list program get
	// messages that it cannot keep.
	Watch(f func(from ID, message any))
}
