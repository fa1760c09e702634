package engine

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/pregel"
)

// In a monotone program whose messages grow by weights that are not negative, such as SSSP, a pull
// visits the lightest arcs of each receiver first (graph.Partition.Lightest). Most arcs of a list
// are too heavy to matter. The number of arcs that a pull visits depends on the distances. So the
// partition estimates it from a sample of its vertices, and reports the estimate. Without it, the
// cost model would assume whole lists.

const (
	// The first sampledAll words, whose vertices have the longest lists, are all sampled. Of the
	// other words, one in sampledPart is sampled.
	sampledAll, sampledPart = 16, 64
)

// lightest is the state of pulls by the lightest arcs, and of pushes through thinned lists.
type lightest struct {
	*partition
	leastTask, thinTask func(worker int)
	bounded             kernel.Bounded // nil if pulls walk whole lists
	pull                *kernel.Pull   // the pull that visits the lightest arcs first
	rows                int
	// The superstep that the bound was computed for. Thinned lists are only valid for it.
	at     int
	shares bool // pulls deliver messages in the superstep that sends them: see share
	least  []float64
	ofRead bool // leastOf reads the column being read, else the one being written
	end    int  // leastOf reads the words below end
	next   parallel.Counter

	// When only few arcs can still matter, as long as no message is less than bound, pushes walk
	// lists of these arcs only.
	thin      *graph.Adjacency // by sender; nil if lists are not thinned
	bound     float64
	bins      []*kernel.ArcBins // by worker
	lists     graph.Adjacency
	pushEdges int // estimated edges that the next push walks
	few       int // number of supersteps of this run with few such arcs
}

// emptyBins empties the bins and keeps their memory.
func (l *lightest) emptyBins() {
	for _, b := range l.bins {
		for k := range b.Arcs {
			b.Arcs[k] = b.Arcs[k][:0]
		}
	}
}

// bindLightest makes pulls visit the lightest arcs first, if the program and the graph allow it.
func (l *lightest) bindLightest(ctx context.Context, pulls []pull) error {
	*l = lightest{partition: l.partition, leastTask: l.leastTask, thinTask: l.thinTask}
	o := &l.job.options
	bounded, ok := l.kernel.(kernel.Bounded)
	if !ok || !l.job.methods.traits.Monotone || !l.job.methods.traits.NonNegative ||
		o.WholeLists || l.changing.on || len(pulls) != 1 || l.job.direction != pregel.Out {
		return nil
	}
	lists, err := l.part.Lightest(ctx, l.team,
		func(bytes int64) bool { return !l.job.budget().Tight(bytes) })
	if lists == nil {
		return err
	}
	pulls[0].Lightest = lists
	l.bounded, l.pull, l.rows, l.at = bounded, &pulls[0].Pull, len(lists.Starts)-1, -1
	l.least = make([]float64, l.team.Size())
	l.shares = l.job.methods.traits.Asynchronous && !o.Deterministic &&
		!o.Synchronous && l.part.Of == 1
	return nil
}

// share delivers messages just sent by the vertices of word w in the running pull, to receivers
// that run later, in place of the vertices' previous messages. Vertices are in degree order, so a
// message to a hub mostly reaches the hub's neighbours in the same superstep. The next superstep
// delivers all messages to all receivers again; a message that is not better than an earlier one
// has no effect. share requires a single partition, because what other partitions record for a
// recovery must not depend on the order of the pull.
func (l *lightest) share(w int, sent uint64) {
	before := l.read.Words[w]
	l.bounded.Share(w, sent, before)
	if before|sent != before {
		atomic.StoreUint64(&l.read.Words[w], before|sent)
	}
}

// leastRun is the number of words that a worker takes at a time.
const leastRun = 512

// leastOf returns the least message of a column's senders.
func (l *lightest) leastOf(read bool, words int) float64 {
	l.ofRead, l.end = read, words
	l.next.Reset(0)
	for i := range l.least {
		l.least[i] = math.Inf(1)
	}
	if l.team.Size() > 1 && words > leastRun {
		l.team.Run(l.leastTask)
	} else {
		l.findLeast(0)
	}
	least := math.Inf(1)
	for _, x := range l.least {
		least = min(least, x)
	}
	return least
}

func (l *lightest) findLeast(worker int) {
	present := l.write.Words
	if l.ofRead {
		present = l.read.Words
	}
	for lo := l.next.Take(leastRun); lo < l.end; lo = l.next.Take(leastRun) {
		l.least[worker] = min(l.least[worker], l.bounded.Least(present, lo, min(lo+leastRun, l.end),
			!l.ofRead))
	}
}

// estimate estimates how many arcs a pull of the messages just sent would visit, if there are so
// many messages that a pull may be chosen. It also estimates how many arcs a push through thinned
// lists would walk.
func (l *lightest) estimate() error {
	p, sizes := &l.report, &l.job.options.Sizes
	p.PullEdges, p.PushEdges = 0, 0
	if l.bounded == nil || p.SenderEdges == 0 || l.thin == nil && p.SenderEdges <= l.rows/4 {
		return nil
	}
	words := l.part.Words()
	least := l.leastOf(false, words)
	l.bounded.Bound(least)
	l.at = l.command.Superstep + 1
	if least < l.bound {
		l.thin = nil
	}
	if l.thin != nil {
		p.PushEdges = max(1, l.sampled(words, l.through))
		l.pushEdges = p.PushEdges
	}
	if p.SenderEdges <= l.rows/4 {
		return nil
	}
	pulled := l.sampled(words,
		func(w int) int { return l.bounded.CountPull(l.pull, w, ^l.finished[w]) })
	p.PullEdges = max(1, min(pulled, p.UnfinishedEdges))
	if l.thin == nil && l.part.Of == 1 && p.PullEdges < l.inEdges/cmp.Or(sizes.FewArcs, fewArcs) &&
		p.SenderEdges > p.PullEdges {
		if l.few++; l.few >= cmp.Or(sizes.ThinFrom, thinFrom) &&
			!l.job.budget().Tight(int64(p.PullEdges)*thinBytes+int64(l.layout.Count)*4) {
			return l.makeThin(least)
		}
	}
	return nil
}

// sampled estimates the sum of count over all words from a sample of words.
func (l *lightest) sampled(words int, count func(w int) int) int {
	sum, some, seen := 0, 0, 0
	for w := range min(sampledAll, words) {
		sum += count(w)
	}
	for w := sampledAll + l.command.Superstep%sampledPart; w < words; w += sampledPart {
		some += count(w)
		seen++
	}
	if seen > 0 {
		sum += some * (words - sampledAll) / seen
	}
	return sum
}

// through returns the number of arcs in the thinned lists of the senders of a word.
func (l *lightest) through(w int) int {
	p := kernel.Push{Lists: &l.thin.Lists, Present: l.write.Words}
	return p.Find(p.Senders(l.threads[0].rows[:0], w))
}

const (
	// Lists are thinned when fewer than one in fewArcs arcs can matter, for the thinFrom-th time in
	// a run.
	fewArcs, thinFrom = 16, 3
	// thinBytes is the approximate number of bytes per arc while lists are thinned: in bins, which
	// double when they grow, and in the lists.
	thinBytes = 2*16 + 12
	// arcBins is the approximate number of bins into which arcs are sorted.
	arcBins = 64
)

// makeThin thins the lists: it keeps the arcs over which messages not less than bound can still
// matter.
func (l *lightest) makeThin(bound float64) error {
	start := time.Now()
	if l.bins == nil {
		shift := uint(max(bits.Len(uint(l.layout.Count/arcBins)), 6))
		for range l.threads {
			l.bins = append(l.bins,
				&kernel.ArcBins{Store: l.store, Shift: shift, Arcs: make([][]kernel.Arc,
					(l.layout.Count-1)>>shift+1)})
		}
	}
	if err := l.run(l.team.Size() > 1, l.ownChunks(), l.thinTask); err != nil {
		return err
	}
	graph.Thinned(&l.lists, l.bins, l.pull.Lists, l.layout.Count, l.team, l.store)
	l.emptyBins()
	l.thin, l.bound = &l.lists, bound
	l.probe(delivery.ThinnedLists, 1)
	l.report.PushEdges = max(1, l.sampled(l.part.Words(), l.through))
	l.pushEdges = l.report.PushEdges
	l.report.Aside = time.Since(start).Seconds()
	return nil
}

func (l *lightest) thinLists(worker int) {
	l.eachChunk(func(lo, hi int) bool {
		for w := lo; w < hi; w++ {
			l.bounded.Thin(l.pull, w, ^l.finished[w], l.bins[worker])
		}
		return true
	})
}

// thinned returns the thinned lists for the push of this superstep, or nil if it walks whole lists.
func (l *lightest) thinned() *graph.Adjacency {
	if l.at != l.command.Superstep || l.uncombined() {
		return nil
	}
	return l.thin
}

// boundPull sets the kernel's lower bound of the messages in a pull.
func (l *lightest) boundPull(p *pull) error {
	// Vertices may send for the first time while this pull runs. The summary would omit their
	// words, and with p.All their messages would be read before they are sent.
	if l.shares {
		p.from.read.All, p.All = true, false
		l.probe(delivery.SharedPulls, 1)
	}
	if l.bounded == nil || p.Lightest == nil || l.part.Of == 1 && l.at == l.command.Superstep {
		return nil
	}
	l.bounded.Bound(l.leastOf(true, len(p.from.read.Words)))
	return nil
}
