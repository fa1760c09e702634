package kernel

import (
	"reflect"

	"github.com/superstep-go/superstep/internal/bitmap"
)

// Erased is a program with erased types V and M, because the engine has no type parameters
// (docs/design/erasure.md). ID is pregel.VertexID.
type Erased[ID ~uint64] struct {
	// Program is the program. For a list program it is the one that List wraps.
	Program any
	// Value and Message are the types V and M.
	Value, Message reflect.Type
	// Wrap erases another value of the program's type, for example one with other parameters.
	Wrap func(program any) Erased[ID]
	// Complete means that the parameters' defaults are filled in already: zero fields are intended.
	Complete bool
	// Inspect finds the optional methods that have V or M in their signatures. It calls the
	// program's Combiner and Report.
	Inspect func() *Methods[ID]
}

// Methods describes the optional methods of a program that have V or M in their signatures.
type Methods[ID ~uint64] struct {
	List bool
	// Found has the names of the methods that the program has. Wanted has the signatures of all
	// optional methods, by name.
	Found  map[string]bool
	Wanted map[string]reflect.Type
	// NoCombiner means that the method Combiner returns nil. Combiner is the combiner's name, or
	// empty. Weights is the kind of edge weights that it needs.
	NoCombiner bool
	Combiner   string
	Weights    reflect.Kind
	// Score, Reached, Group and Number tell which functions the program's Report has.
	Score, Reached, Group, Number bool
	ScoreName                     string
	// Instance makes the state of a partition.
	Instance func() Instance[ID]
}

// Has reports whether the program has a method.
func (m *Methods[ID]) Has(name string) bool { return m.Found[name] }

// Named is a program with its name; it implements pregel.Registered.
type Named[ID ~uint64] struct {
	Name    string
	Program Erased[ID]
}

func (n Named[ID]) ProgramName() string { return n.Name }

// Pregel has functions of package pregel that need its unexported parts. Package pregel sets them.
var Pregel struct {
	// Aggregate describes a pregel.Aggregate, and Property a pregel.Column.
	Aggregate func(listed any) Aggregate
	Property  func(listed any) Property
	// Coordinator makes the *pregel.Coordinator of a run. totals has the aggregators' totals,
	// indexed by their numbers; a pregel.Context reads them too. log, if not nil, gets the lines of
	// Logf.
	Coordinator func(vertices, edges uint64, totals []Cell, log func(line string)) any
	// End returns how a *pregel.Coordinator ended the run, if it did. The caller may reset it.
	End func(coordinator any) *End
}

// The engine uses all data of types V and M through an Instance, which belongs to a partition, and
// its Lanes, one for each goroutine. One call is for a word of 64 vertices, up to 64 words, a
// chunk, a bin or a frame. There is no call per edge (docs/design/erasure.md).

// Instance has the data of a partition that have types V and M: the vertices' values, the columns
// of messages, and the received messages.
type Instance[ID ~uint64] interface {
	// Place makes the columns of a partition before superstep 0, and drops the inbox. The values
	// are not initialized.
	Place(p *Placement) error
	// Rebind replaces the program by another one of the same type.
	Rebind(m *Methods[ID])
	NewLane(label func(ID) uint64, s State, changes *Requests) Lane[ID]

	// Values returns the vertices' values. Messages returns an empty column of messages.
	Values() Column
	Messages() Column
	// BeginFill calls the program's Start. Fill sets the values of the vertices in [lo, hi) to the
	// value that Start returned, or to zero if the program has no Start. Sources returns the source
	// vertices that Start returned.
	BeginFill()
	Sources() []ID
	Fill(lo, hi int)

	// Broadcast returns a column of messages to all neighbours: one of the combiner's kernels.
	Broadcast(way int) Broadcast
	// Claims reports whether several goroutines may push into the inbox at once.
	Claims() bool
	// Combine combines messages to single vertices. keys is sorted; a key is receiver<<32 | index
	// of a message in from. Combine appends one message per receiver to the column to. It appends
	// the receivers to positions and returns positions.
	Combine(keys []uint64, from, to Column, positions []uint32) []uint32

	// Inbox returns the inbox. It makes it at its first use.
	Inbox() (messages Column, has *bitmap.Frontier)
	// Take receives messages for owned vertices. It puts them into the inbox, or keeps them one by
	// one.
	Take(to []uint32, messages Column)
	// Sort sorts the messages of a list program by receivers, before the receivers run. Drop drops
	// the messages to some receivers. Forget drops all messages.
	Sort(owned int)
	Drop(which func(to uint32) bool)
	Forget()
	// Gather collects messages of a list program. It visits the in-edges of each vertex below owned
	// that is not finished, and copies the messages of senders in p.Present. It returns the number
	// of visited edges.
	Gather(p *Pull, way, owned int, finished []uint64) (walked int)

	// SetPulls sets what Lane.PullOne and Lane.Pull read: the lists, with the column that is
	// delivered through each, and possibly the inbox, or the sums of tiles.
	SetPulls(pulls []ColumnPull, inbox bool, tiled []uint64)
	// Tiles reports whether full pulls can use tiles. ClearSums zeroes the sums of words [lo, hi),
	// which are in the column being written.
	Tiles() bool
	ClearSums(lo, hi int)
	// FoldBins folds bin k of these lanes into the inbox, and empties it.
	FoldBins(lanes []Lane[ID], k int)

	// Output appends a vertex's value in the program's output format.
	Output(dst []byte, local uint32, label func(dst []byte, id ID) []byte) []byte
	// Score, Reached and Group call the functions of the program's Report with a vertex's value.
	Score(local uint32) float64
	Reached(local uint32) bool
	Group(local uint32) (key uint64, in bool)
	// Resolve calls the program's Resolve. The arguments value and add are indices of values in the
	// column of. Resolve appends the new value to the column, and reports whether the vertex exists
	// afterwards.
	Resolve(id ID, exists, remove bool, value int, add []int, of Column) (exist bool)
}

// Lane is the part of an Instance that one goroutine uses.
type Lane[ID ~uint64] interface {
	State() *State
	// Interrupted reports whether the program was running, and for which vertex, when a method
	// panicked. It can be called once.
	Interrupted() (running bool, at ID)
	// Equip allocates the lane's buffers, after Place.
	Equip()
	Reset()

	// PullOne pulls one word through a single list and runs it. need are the vertices that need
	// messages, open the unfinished ones, active the awake ones. It returns the vertices that ran,
	// received a message, sent, halted and finished, and the number of edges walked.
	PullOne(w int, need, open,
		active uint64) (run, received, sent, halted, finished uint64, walked int)
	// Pull is PullOne for any number of lists, and for messages in the inbox or in the sums of
	// tiles.
	Pull(w int, open, active uint64) (run, received, sent, halted, finished uint64, walked int)
	// Lists is Pull for a list program. If pull is false, it delivers only messages that were
	// received one by one.
	Lists(w int, open, active uint64,
		pull bool) (run, received, sent, halted, finished uint64, walked int)
	// SentBack returns the vertices of the last word that sent separate messages to in-neighbours.
	SentBack() uint64
	// Start runs a word in superstep 0. Resend makes a word's messages of the last superstep again,
	// and Store stores these.
	Start(w int, run uint64) (sent, halted, finished uint64)
	Resend(w int, run, active uint64) (sent, back uint64)
	Store(w int, sent, back uint64)
	// Sweep runs n words of the batch, whose messages are in the inbox.
	Sweep(n int)
	Batch() *Batch
	// RunFew runs vertices that were asleep and got a message, whose index in Push.Listed is at and
	// more. It appends what they do to f. The messages stay in the inbox.
	RunFew(to []uint32, at int, f *Few)

	// TryPull pulls for vertices of a word and drops the result, for a measurement.
	TryPull(p *Pull, w int) (walked int)
	// PullInto pulls into the inbox. If any one message is enough, no vertex of need may have one.
	PullInto(p ColumnPull, w int, need uint64) (walked int)
	// Push pushes the messages that cross some rows into the inbox. Claim does so for receivers
	// that have no message yet. Emit puts the messages into bins.
	Push(p *Push, way int, rows []Row)
	Claim(p *Push, way int, rows []Row)
	Emit(p *Push, way int, rows []Row)
	// Pairs returns the bins. If shift is not 0, it makes them at first use; otherwise it may
	// return nil.
	Pairs(shift uint) Pairs
	// Reserve grows the bins for counts[i] more pairs in bin i.
	Reserve(counts []int)
	// AddTile adds the messages that cross a tile to the sums from word w on.
	AddTile(t *Tile, w int)

	// Sends returns the messages to single vertices. Settle looks up the receivers of messages
	// along edges, and returns the number of messages.
	Sends() Sends
	Settle() int
	ResetSends()
	KeepsSenders() bool
	// AddSend puts message i of a column into the outbox, when a run continues from a checkpoint.
	AddSend(owner int, local uint32, from uint64, messages Column, i int)
	// AddedValues returns the values of the vertices that the program asked to add.
	AddedValues() Column
	ResetRequests()

	// BeginLists and EndLists enclose calls of Lists that are timed. ListTimes returns the seconds
	// spent gathering messages and running the program.
	BeginLists()
	EndLists()
	ListTimes() (gathering, running float64)
	// Watch is for tests. A list program then gets a copy of its messages, which is cleared after
	// Compute. If f is not nil, the lane calls it with each message when it is sent, and again with
	// a vertex's combined message to all neighbours.
	Watch(f func(from ID, message any))
}
