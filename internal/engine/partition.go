package engine

import (
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
)

// partition is the state that the parts of a runner share: a partition of the graph, the states and
// columns of its vertices, the threads that run them, and the current superstep.
//
// Invariant: between supersteps, active &^ finished == active; every bit beyond Owned is zero in
// all bitmaps.
type partition struct {
	job      *Job
	loaded   *graph.Partition // as the graph was loaded
	part     *graph.Partition // as it is after changes
	layout   graph.Layout     // for the program's direction
	arena    *mem.Arena       // for allocations of place: the job's, unless the graph may change
	store    *mem.Arena       // for messages that are stored one by one
	changing changing

	instance Instance      // the partition's data that have the program's types
	traits   kernel.Traits // of both columns
	list     bool          // the program is a list program
	// In a list program, 1 more than the last vertex with so many messages that they need memory of
	// their own.
	hub atomic.Uint64

	// The column of messages to all neighbours, and for direction Either a second column of
	// messages to in-neighbours.
	column
	back    *column
	columns []*column // one or both of them
	inEdges int       // number of edges over which messages may reach all owned vertices

	active     []uint64
	awake      *bitmap.Frontier // active with a summary
	finished   []uint64         // by slot; ghosts are never set in a flat grid
	inbox      delivery.Inbox   // made at first use
	shared     *sharedPart
	properties []kernel.Column // the program's properties in shared, by their numbers

	team        *parallel.Team
	threads     []*thread
	outboxes    []kernel.Sends // of the threads
	lanes       []Lane         // of the threads
	chunks      parallel.Counter
	words       []uint32 // borders of the chunks being handed out
	serialEdges int      // number of edges above which the team shares a superstep's work

	exchange *delivery.Exchange
	sinking  delivery.Sink // the method value sink, made once
	folding  delivery.Sink // the method value Take of the instance, made once
	received int           // messages to single vertices, in the last superstep that delivered any

	command *bsp.Command
	report  bsp.Report
	stop    *atomic.Bool
	failure atomic.Pointer[bsp.ProgramError]
}

// run calls a task on the team, or only on the caller, over chunks of words.
func (r *partition) run(many bool, chunks []uint32, task func(worker int)) error {
	r.words = chunks
	r.chunks.Reset(0)
	if many {
		r.team.Run(task)
	} else {
		task(0)
	}
	return r.failed()
}

// failed returns the reason why the superstep cannot continue: the program's failure, or another
// partition's.
func (r *partition) failed() error {
	if err := r.failure.Load(); err != nil {
		return err
	}
	if err := r.job.over.Load(); err != nil {
		return *err
	}
	if r.stop.Load() {
		return errStopped
	}
	return nil
}

// eachRun is eachChunk for chunks that may take less time than taking them one by one, as in a pull
// that visits few of their edges.
func (r *partition) eachRun(f func(lo, hi int) bool) {
	n := len(r.words) - 1
	for {
		from, to := r.chunks.TakePart(n, runsEach*len(r.threads))
		if from == to {
			return
		}
		for ; from < to; from++ {
			if r.stop.Load() {
				return
			}
			f(int(r.words[from]), int(r.words[from+1]))
		}
	}
}

// eachChunk takes chunks of words and calls f for them, until f returns false.
func (r *partition) eachChunk(f func(lo, hi int) bool) {
	for {
		chunk := r.chunks.Take(1)
		if chunk >= len(r.words)-1 || r.stop.Load() {
			return
		}
		if !f(int(r.words[chunk]), int(r.words[chunk+1])) {
			return
		}
	}
}

// probe counts work for an experiment.
func (r *partition) probe(kind delivery.Work, n int) {
	if f := r.job.options.Probe; f != nil {
		f(kind, n)
	}
}

// uncombined reports whether pushed messages are sent one by one.
func (r *partition) uncombined() bool { return r.list || r.job.options.Uncombined }
