package engine

import (
	"context"
	"math"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/pregel"
)

// A monotone program whose messages grow by weights that are not negative, such as SSSP, is pulled by the lightest arcs of each receiver first
// (graph.Partition.Lightest): of a list most arcs are too heavy to matter. How many arcs a pull looks at depends on the distances, so the
// partition finds out on a sample of its vertices, and tells it with its report: else the model would think of whole lists.

const (
	// sampledAll is how many words of vertices, the first ones, with the longest lists, are all looked at, and sampledPart the part of the others:
	// one word in so many.
	sampledAll, sampledPart = 16, 64
)

// lightest is the state of pulls by the lightest arcs, and of pushes through what they leave of the lists.
type lightest struct {
	kernel kernel.Bounded // nil if pulls walk whole lists
	rows   int
	at     int  // the superstep whose messages the bound is of: only then are lists thinned that it allows
	shares bool // pulls deliver at once what is sent, see share
	least  []float64
	read   bool // of the column being read; else of the one being written
	words  int
	next   parallel.Counter

	// Once few arcs are left that can matter to anyone, as long as no message is less than bound, pushes walk lists of these alone.
	thin      *graph.Adjacency // by sender; nil before
	bound     float64
	bins      []*kernel.ArcBins // by worker
	lists     graph.Adjacency
	pushEdges int // that the coming push walks, about
	few       int // supersteps of this run in which few arcs were left
	made      int // how often lists have been thinned
	// Tests lower these.
	fewArcs, thinFrom int
}

// forget begins a run.
func (l *lightest) forget() {
	l.thin, l.few, l.at = nil, 0, -1
	l.emptyBins()
}

// emptyBins empties the bins and keeps their memory.
func (l *lightest) emptyBins() {
	for _, b := range l.bins {
		for k := range b.Arcs {
			b.Arcs[k] = b.Arcs[k][:0]
		}
	}
}

// bindLightest has pulls look at the lightest arcs first, if the program and the graph allow that.
func (r *runner) bindLightest(ctx context.Context) error {
	r.light = lightest{}
	bounded, ok := r.kernel.(kernel.Bounded)
	if !ok || !r.job.methods.traits.Monotone || !r.job.methods.traits.NonNegative || r.changing.on || len(r.pulls) != 1 || r.job.direction != pregel.Out {
		return nil
	}
	lists, err := r.part.Lightest(ctx, r.team, func(bytes int64) bool { return !r.job.budget().Tight(bytes) })
	if lists == nil {
		return err
	}
	r.pulls[0].Lightest = lists
	r.light = lightest{
		kernel: bounded, rows: len(lists.Starts) - 1, at: -1, least: make([]float64, r.team.Size()), fewArcs: fewArcs, thinFrom: thinFrom,
		shares: r.job.methods.traits.Asynchronous && !r.job.options.Deterministic && r.part.Of == 1,
	}
	return nil
}

// share delivers what the vertices of word w have just sent, in the pull that is under way: to the receivers that come after them, in place of what
// they sent before. Vertices are in degree order, so that a message to a hub mostly goes on to the hub's neighbours in the same superstep. In the next
// superstep all of it is delivered to everyone: a message that is no better than one before has no effect. Only a partition that is alone does it, as
// what others have recorded of a partition for its recovery must not depend on when it pulls.
func (r *runner) share(w int, sent uint64) {
	before := r.read.Words[w]
	r.light.kernel.Share(w, sent, before)
	if before|sent != before {
		atomic.StoreUint64(&r.read.Words[w], before|sent)
	}
}

// leastRun is how many words a worker takes at a time.
const leastRun = 512

// leastOf returns the least message of a column's senders.
func (r *runner) leastOf(read bool, words int) float64 {
	l := &r.light
	l.read, l.words = read, words
	l.next.Reset(0)
	for i := range l.least {
		l.least[i] = math.Inf(1)
	}
	if r.team.Size() > 1 && words > leastRun {
		r.team.Run(r.tasks.least)
	} else {
		r.leastTask(0)
	}
	least := math.Inf(1)
	for _, x := range l.least {
		least = min(least, x)
	}
	return least
}

func (r *runner) leastTask(worker int) {
	l := &r.light
	present := r.write.Words
	if l.read {
		present = r.read.Words
	}
	for lo := l.next.Take(leastRun); lo < l.words; lo = l.next.Take(leastRun) {
		l.least[worker] = min(l.least[worker], l.kernel.Least(present, lo, min(lo+leastRun, l.words), !l.read))
	}
}

// estimate finds out how many arcs a pull of the messages just sent would look at, where there are so many of them that one may be chosen, and how
// many a push through thinned lists.
func (r *runner) estimate() error {
	l, p := &r.light, &r.report
	p.PullEdges, p.PushEdges = 0, 0
	if l.kernel == nil || p.SenderEdges == 0 || l.thin == nil && p.SenderEdges <= l.rows/4 {
		return nil
	}
	words := r.part.Words()
	least := r.leastOf(false, words)
	l.kernel.Bound(least)
	l.at = r.command.Superstep + 1
	if least < l.bound {
		l.thin = nil
	}
	if l.thin != nil {
		p.PushEdges = max(1, r.sampled(words, func(w int) int { return through(l.thin, w, r.write.Words[w]) }))
		l.pushEdges = p.PushEdges
	}
	if p.SenderEdges <= l.rows/4 {
		return nil
	}
	pull := &r.pulls[0].Pull
	p.PullEdges = max(1, min(r.sampled(words, func(w int) int { return l.kernel.CountPull(pull, w, ^r.finished[w]) }), p.UnfinishedEdges))
	if l.thin == nil && r.part.Of == 1 && p.PullEdges < r.inEdges/l.fewArcs && p.SenderEdges > p.PullEdges {
		if l.few++; l.few >= l.thinFrom && !r.job.budget().Tight(int64(p.PullEdges)*thinBytes+int64(r.layout.Count)*4) {
			return r.makeThin(least)
		}
	}
	return nil
}

// sampled adds up what count says of some words of vertices, as if of all.
func (r *runner) sampled(words int, count func(w int) int) int {
	sum, some, seen := 0, 0, 0
	for w := range min(sampledAll, words) {
		sum += count(w)
	}
	for w := sampledAll + r.command.Superstep%sampledPart; w < words; w += sampledPart {
		some += count(w)
		seen++
	}
	if seen > 0 {
		sum += some * (words - sampledAll) / seen
	}
	return sum
}

// through is how many arcs the senders of a word have.
func through(a *graph.Adjacency, w int, senders uint64) (n int) {
	for senders &= a.Bits[w]; senders != 0; senders &= senders - 1 {
		lo, hi := a.Row(uint32(w<<6 + bits.TrailingZeros64(senders)))
		n += int(hi - lo)
	}
	return n
}

const (
	// fewArcs: lists are thinned when fewer than one in so many arcs can matter, in the thinFrom-th superstep of a run in which that is so.
	fewArcs, thinFrom = 16, 3
	// thinBytes is about how many bytes an arc takes while lists are thinned: in bins that double, and in the lists.
	thinBytes = 2*16 + 12
	// arcBins is about how many bins arcs are sorted into.
	arcBins = 64
)

// makeThin thins the lists: it keeps the arcs over which messages that are no less than bound can still matter.
func (r *runner) makeThin(bound float64) error {
	start := time.Now()
	l := &r.light
	if l.bins == nil {
		shift := uint(max(bits.Len(uint(r.layout.Count/arcBins)), 6))
		for range r.threads {
			l.bins = append(l.bins, &kernel.ArcBins{Store: r.store, Shift: shift, Arcs: make([][]kernel.Arc, (r.layout.Count-1)>>shift+1)})
		}
	}
	if err := r.run(r.team.Size() > 1, r.ownChunks(), r.tasks.thin); err != nil {
		return err
	}
	graph.Thinned(&l.lists, l.bins, r.pulls[0].Lists, r.layout.Count, r.team, r.store)
	l.emptyBins()
	l.thin, l.bound = &l.lists, bound
	l.made++
	r.report.PushEdges = max(1, r.sampled(r.part.Words(), func(w int) int { return through(l.thin, w, r.write.Words[w]) }))
	l.pushEdges = r.report.PushEdges
	r.report.Aside = time.Since(start).Seconds()
	return nil
}

func (r *runner) thinTask(worker int) {
	l := &r.light
	r.eachChunk(func(lo, hi int) bool {
		for w := lo; w < hi; w++ {
			l.kernel.Thin(&r.pulls[0].Pull, w, ^r.finished[w], l.bins[worker])
		}
		return true
	})
}

// thinned returns the lists that are pushed through instead of the whole ones, or nil.
func (r *runner) thinned() *graph.Adjacency {
	if r.light.at != r.command.Superstep || r.uncombined() {
		return nil
	}
	return r.light.thin
}

// bound tells the kernel the least message that a pull will meet.
func (r *runner) bound(p *pull) error {
	l := &r.light
	if l.shares { // vertices may send first whose words the summary leaves out, and whose messages p.All would have read before
		p.from.read.All, p.All = true, false
	}
	if l.kernel == nil || p.Lightest == nil || r.part.Of == 1 && l.at == r.command.Superstep {
		return nil
	}
	l.kernel.Bound(r.leastOf(true, len(p.from.read.Words)))
	return nil
}
