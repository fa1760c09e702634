package engine

import (
	"context"
	"math/bits"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/trace"
)

// What Given, JoinList, SplitList and FormOf do is said in given.go and paramvalues.go.
var (
	Given     = given
	JoinList  = joinList
	SplitList = splitList
	FormOf    = formOf
)

// Watch prepares that the next runs are recorded for a sink, or not at all if it is nil. One job
// can so be compared with itself: two that lie elsewhere in memory differ by more than what a
// record costs. It returns what does it.
func (j *Job) Watch(to trace.Journal, facts *bsp.Facts) (again func()) {
	o := j.options
	o.Trace = to
	d, err := bsp.New(j.methods.describe(o.Deterministic), o.driver(j.graph), []*bsp.Facts{facts})
	if err != nil {
		panic(err)
	}
	return func() {
		j.driver, j.options.Trace = d, to
		for _, r := range j.runners {
			r.exchange.Tracing = to != nil
		}
	}
}

// ShareWork makes work of more than so many edges shared among threads, and bins folded when a
// worker has put so many pairs into them, for graphs smaller than those for which that pays.
func (j *Job) ShareWork(edges, round int) {
	for _, r := range j.runners {
		r.serialEdges, r.push.round = edges, round
	}
}

// SharedPushes counts the tasks of pushes that the threads of a team share, of the job's runs.
func (j *Job) SharedPushes() (tasks *atomic.Int64) {
	tasks = new(atomic.Int64)
	for _, r := range j.runners {
		for _, task := range []*func(int){&r.push.ranging, &r.push.claiming, &r.push.emitting} {
			run := *task
			*task = func(worker int) { tasks.Add(1); run(worker) }
		}
	}
	return tasks
}

// CutColumns has columns go in parts of so few bytes.
func (j *Job) CutColumns(bytes int) {
	for _, r := range j.runners {
		r.exchange.PartBytes = bytes
	}
}

// CutChunks cuts the rows of senders, and those that are pulled, into chunks of one word each, as
// if they had a chunk's cost of edges: what is shared among threads in rounds is then shared in
// many.
func (j *Job) CutChunks(ctx context.Context) error {
	for _, r := range j.runners {
		for _, ways := range r.layout.Blocks {
			for _, b := range []*graph.Block{ways.Push, ways.Pull} {
				senders, err := r.part.SendersView(ctx, b)
				if err != nil {
					return err
				}
				for _, a := range []*graph.Adjacency{senders, b.ByReceiver} {
					if a == nil {
						continue
					}
					owned, words := a.Chunks[a.Owned], a.Chunks[len(a.Chunks)-1]
					a.Chunks, a.Owned = nil, int(owned)
					for w := range words + 1 {
						a.Chunks = append(a.Chunks, w)
					}
				}
			}
		}
	}
	return nil
}

// EarlyOrder returns in which order a pull runs chunks whose borders are these if it sends its
// columns meanwhile, and which words it says have run when so many of them have.
func EarlyOrder(hubs, tail int, chunks []uint32) (order []int, ran func(k int) delivery.Ran) {
	e := early{hubs: hubs, tail: tail}
	for k := range len(chunks) - 1 {
		order = append(order, e.chunk(k, len(chunks)-1))
	}
	return order, func(k int) delivery.Ran { return e.ran(k, chunks) }
}

// PushTasks returns how many edges each task has in a push by so many threads from these senders,
// by bitmap, along all their edges: those of the ranges of receivers for hubs, and those of the
// chunks of the other senders. Without hubs none are pushed apart.
func (j *Job) PushTasks(ctx context.Context, senders []uint64, hubs bool) ([]int, error) {
	r := &j.runners[0].push
	r.through = r.layout.Blocks[0].Push
	a, err := r.part.SendersView(ctx, r.through)
	if err != nil {
		return nil, err
	}
	r.sending, r.hubs = &r.column, 0
	copy(r.read.Words, senders)
	r.read.Tighten()
	r.pushing = kernel.Push{Lists: &a.Lists, Present: r.read.Words}
	edges := 0
	each := func(from, to int, f func(of []uint32)) {
		r.senderWords(from, to, func(w int) bool {
			bitmap.Each(r.read.Words[w:w+1], func(i uint32) {
				lo, hi := a.Row(uint32(w)<<6 + i)
				f(a.Adj[lo:hi])
			})
			return true
		})
	}
	each(0, len(a.Bits), func(of []uint32) { edges += len(of) })
	var tasks []int
	words := 0
	if hubs {
		n, part := 0, 0
		if words, n, part = r.hubWords(edges); words > 0 {
			r.cutRanges(n, part)
			tasks = make([]int, len(r.borders)-1)
			each(0, words, func(of []uint32) {
				k := 0
				for _, to := range of {
					for to >= r.borders[k+1] {
						k++
					}
					tasks[k]++
				}
			})
		}
	}
	for k := range len(a.Chunks) - 1 {
		own := 0
		each(max(words, int(a.Chunks[k])), int(a.Chunks[k+1]), func(of []uint32) { own += len(of) })
		tasks = append(tasks, own)
	}
	return tasks, nil
}

// Tile has full pulls of sums go by tiles of this size, however small the graph is; of none, by
// whole lists.
func (j *Job) Tile(size graph.TileSize) {
	for _, r := range j.runners {
		r.tiles.forgetTiles()
		r.tiles.size, r.tiles.never = size, size.Senders == 0
	}
}

// PlaceAgain places what every partition has of the job in a new arena, as when a graph that a plan
// changed is as it was loaded again, and reports whether tiles were left that lie in the old one.
func (j *Job) PlaceAgain(ctx context.Context) (left bool, err error) {
	for _, r := range j.runners {
		if r.arena != j.arena {
			r.changing.left = append(r.changing.left, r.arena.Close)
		}
		r.arena = j.newArena()
		if err := r.place(ctx, r.part); err != nil {
			return false, err
		}
		left = left || r.tiles.tiles != nil || r.tiles.of != nil
		r.exchange.Become(r.part)
		r.freeLeft()
		for _, t := range r.threads {
			r.equip(t)
		}
	}
	return left, nil
}

// ByTiles reports whether the last pull of every partition went by tiles.
func (j *Job) ByTiles() bool {
	for _, r := range j.runners {
		if !r.tiles.on {
			return false
		}
	}
	return true
}

// WholeLists has pulls walk whole lists, where they would look at the lightest arcs first.
func (j *Job) WholeLists() {
	for _, r := range j.runners {
		for i := range r.pull.pulls {
			r.pull.pulls[i].Lightest = nil
		}
		r.light.bounded, r.light.shares = nil, false
	}
}

// Synchronous has every message wait for the next superstep.
func (j *Job) Synchronous() {
	for _, r := range j.runners {
		r.light.shares = false
	}
}

// Shares reports whether messages may come in the superstep in which they are sent.
func (j *Job) Shares() bool { return j.runners[0].light.shares }

// ThinEarly has lists thinned as soon as a part of the arcs does not matter, and reports whether
// there are lightest arcs to begin with.
func (j *Job) ThinEarly() bool {
	for _, r := range j.runners {
		if r.light.bounded == nil {
			return false
		}
		r.light.fewArcs, r.light.thinFrom = 1, 1
	}
	return true
}

// Thinned reports whether pushes of the last run went through thinned lists at its end, and how
// often these were made.
func (j *Job) Thinned() (now bool, made int) {
	l := &j.runners[0].light
	return l.thin != nil, l.made
}

// SetMostPlaces lowers how many edges of a partition can be numbered, until reset is called.
func SetMostPlaces(n int) (reset func()) {
	before := mostPlaces
	mostPlaces = n
	return func() { mostPlaces = before }
}

// PushesMeasured returns over how many edges pushes were measured, if they were when the job was
// made.
func (j *Job) PushesMeasured() int {
	r := j.runners[0]
	r.push.measure()
	return r.threads[0].count.walked
}

// AwakeWords returns how many words of vertices a superstep would look at because some may be
// awake, and how many there are.
func (j *Job) AwakeWords() (looked, of int) {
	a := j.runners[0].awake
	for top := range a.Top {
		looked += bits.OnesCount64(a.Summary(top))
	}
	return looked, len(a.Words)
}
