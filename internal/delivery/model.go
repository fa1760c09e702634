package delivery

import (
	"math"

	"github.com/superstep-go/superstep/internal/graph"
)

// Load has the model's inputs: the messages that a superstep delivers, their receivers, and the
// graph.
type Load struct {
	Vertices, Arcs      int
	Partitions, Threads int
	Processes           int        // that have the partitions
	Grid                graph.Grid // of the partitions; N x 1 for every flat one
	SubSteps            int        // of a ring pull, by owner
	Listed              int        // vertices on all expand lists: the values of a full expand
	// destination ghosts of all partitions: the values of a full fold
	Ghosts int
	// receivers' lists by length: Classes[i] counts those of 2^(i-1) to 2^i - 1 edges
	Classes      [33]int
	Untransposed int // arcs to be transposed before the first mirrored push

	Senders, SenderEdges        int
	Unfinished, UnfinishedEdges int
	// that a pull looks at, where weights end lists early and that was found out; else 0
	PullEdges int
	PushEdges int // that a push walks: SenderEdges, if not 0, where lists have not been thinned
	Active    int

	AnyOne    bool
	Bytes     int // of a value in an expand column
	FoldBytes int // and in a fold column
}

// Add adds the partitions of another process.
func (l *Load) Add(other *Load) {
	l.Threads += other.Threads
	l.Processes += other.Processes
	l.Arcs += other.Arcs
	for i, n := range other.Classes {
		l.Classes[i] += n
	}
	l.Untransposed += other.Untransposed
	l.Listed += other.Listed
	l.Ghosts += other.Ghosts
}

// Rates are the model's coefficients, in seconds, for one thread. Probe, the four of Edge and Push
// are measured when a job is made, on its own graph and with its own kernel, and Row where one
// message is as good as all; the others, and all of them for small graphs and list programs, are
// constants (engine.measure). Alpha, Beta and Gap are those of messages between processes, T =
// alpha n + beta (Matsumoto15), measured when workers connect.
type Rates struct {
	Row         float64 // to open a receiver's list
	Probe       float64 // to look at an in-neighbour that did not send
	EdgeFew     float64 // to walk an edge in a pull where Few of the in-neighbours sent
	Edge        float64 // where half of them did, so that branches are mispredicted
	EdgePresent float64 // where nearly all did, and each is looked at
	EdgeAll     float64 // and where all did, so that none is
	Push        float64 // to push a message along an edge
	Transpose   float64 // to transpose an arc
	Value       float64 // to pack and unpack a value of a column
	Word        float64 // to skip a word of vertices
	Miss        float64 // a cache miss on the first adjacency list of a word
	Compute     float64 // to run the program for a vertex
	Copy        float64 // to pass on a byte to another partition of the process
	Frame       float64 // to send and take a frame, in any
	ForkJoin    float64 // to start and end a parallel loop

	Alpha float64 // to send a byte to another process
	Beta  float64 // until a frame has come to another process
	Gap   float64 // to send a frame to another process, until the next one can be
}

// Few is the fraction of senders at which Rates.EdgeFew is measured, where a list ends at the first
// of them beyond opening it: with it, weights are fetched from memory as if more had sent.
const Few = 1. / 16

// Slowest returns the rates of all processes together: each is that of the process that takes
// longest with its part of the load, which is taken to be its part of the arcs. A rate over all
// threads then gives that process's time.
func Slowest(rates []Rates, loads []*Load) Rates {
	if len(rates) == 1 {
		return rates[0]
	}
	var all Load
	for _, l := range loads {
		all.Add(l)
	}
	var most Rates
	for i := range rates {
		r, l := &rates[i], loads[i]
		part := 1 / float64(len(loads))
		if all.Arcs > 0 {
			part = float64(l.Arcs) / float64(all.Arcs)
		}
		part *= float64(max(all.Threads, 1)) / float64(max(l.Threads, 1))
		for _, x := range []struct{ most, of *float64 }{
			{&most.Row, &r.Row},
			{&most.Probe, &r.Probe},
			{&most.EdgeFew, &r.EdgeFew},
			{&most.Edge, &r.Edge},
			{&most.EdgePresent, &r.EdgePresent},
			{&most.EdgeAll, &r.EdgeAll},
			{&most.Push, &r.Push},
			{&most.Transpose, &r.Transpose},
			{&most.Value, &r.Value},
			{&most.Word, &r.Word},
			{&most.Miss, &r.Miss},
			{&most.Compute, &r.Compute},
			{&most.Copy, &r.Copy},
			{&most.Frame, &r.Frame},
		} {
			*x.most = max(*x.most, part**x.of)
		}
		most.ForkJoin = max(most.ForkJoin, r.ForkJoin)
		most.Alpha, most.Beta, most.Gap = max(most.Alpha, r.Alpha), max(most.Beta, r.Beta),
			max(most.Gap, r.Gap)
	}
	return most
}

// edge is what an edge takes in a pull, where this fraction of all edges is senders': between two
// that were measured.
func (r *Rates) edge(q float64) float64 {
	switch {
	case q < Few:
		return line(q, 0, Few, r.Probe, r.EdgeFew)
	case q < .5:
		return line(q, Few, .5, r.EdgeFew, r.Edge)
	default:
		return line(q, .5, 1, r.Edge, r.EdgePresent)
	}
}

// probe is what it takes to look at an in-neighbour, beyond opening the list, where the first
// sender ends it: few senders make branches mispredicted.
func (r *Rates) probe(q float64) float64 {
	if q < Few {
		return line(q, 0, Few, r.Probe, r.EdgeFew)
	}
	return line(q, Few, 1, r.EdgeFew, r.Probe)
}

// line is the value at q of the line between two points.
func line(q, from, to, a, b float64) float64 { return a + (b-a)*(q-from)/(to-from) }

// Costs are predicted seconds by scheme; infinite for a scheme that the grid or program excludes.
type Costs [schemes]float64

// Into puts the finite costs into m, by the schemes' names.
func (c *Costs) Into(m map[string]float64) {
	for s, seconds := range c {
		if seconds < math.Inf(1) {
			m[Scheme(s).String()] = seconds
		}
	}
}

// Predict returns the predicted costs of a load.
func (r *Rates) Predict(l *Load) Costs {
	var c Costs
	for s := range c {
		c[s] = math.Inf(1)
	}
	threads := float64(max(l.Threads, 1))
	push := r.push(l, threads)
	if l.Grid.Flat() {
		c[Naive] = push + r.fold(l, l.Partitions, threads)
		expand := r.expand(l, l.Partitions, threads)
		if l.Partitions > 1 {
			c[Mirrored] = push + expand + float64(l.Untransposed)*r.Transpose/min(threads,
				float64(l.Partitions))
		}
		c[Pull] = r.pull(l)/threads + r.ForkJoin + expand
		return c
	}
	expand := r.expand(l, l.Grid.Rows, threads)
	c[Push] = expand + push + r.fold(l, l.Grid.Columns, threads)
	c[Pull] = expand + r.blockPull(l, threads) + r.ForkJoin
	if l.AnyOne {
		c[RingPull] = expand + r.ringPull(l, threads) + r.ForkJoin
	}
	return c
}

// thinnedArc is how much longer it takes to push over an arc of thinned lists: most messages of a
// monotone program are dropped at once, those over the arcs that were kept mostly come to a
// receiver.
const thinnedArc = 4

// SerialEdges is the number of edges up to which a partition pushes on one thread, faster than on
// its team: what one thread wrote in the superstep before the others would have to get from its
// caches.
const SerialEdges = 16 << 10

// push is the time of walking the senders' edges.
func (r *Rates) push(l *Load, threads float64) float64 {
	walked, arc := l.SenderEdges, 1.
	if l.PushEdges > 0 && l.PushEdges < l.SenderEdges {
		walked, arc = l.PushEdges, thinnedArc
	}
	t := float64(l.Senders)*r.Row + arc*float64(walked)*r.Push
	if parts := max(l.Partitions, 1); walked <= SerialEdges*parts {
		return t / min(threads, float64(parts))
	}
	return t/threads + r.ForkJoin
}

// pull is the time of walking the receivers' edges, in all threads together.
func (r *Rates) pull(l *Load) float64 {
	rows, edges := float64(l.open()), float64(l.UnfinishedEdges)
	t := rows*r.Row + float64(l.Vertices)/64*r.Word
	if l.PullEdges > 0 { // a list of a few arcs ends where nobody can tell
		return t + rows*r.Miss + float64(l.PullEdges)*r.edge(l.senderFraction())
	}
	if !l.AnyOne {
		if l.SenderEdges == l.Arcs {
			return t + edges*r.EdgeAll
		}
		return t + edges*r.edge(l.senderFraction())
	}
	return t + l.probes()*r.probe(l.senderFraction()) + min(rows, float64(l.Vertices)/64)*r.Miss
}

// open estimates the number of unfinished vertices that have in-edges.
func (l *Load) open() int {
	n, lists := min(l.Unfinished, l.UnfinishedEdges), 0
	for _, rows := range l.Classes[1:] {
		lists += rows
	}
	if lists > 0 {
		n = min(n, lists)
	}
	return n
}

// probes is the expected number of in-edges looked at before a sender is met. Each comes from a
// sender with probability q, the senders' share of all edges; a list of d edges then takes
// (1-(1-q)^d)/q probes. Long lists take a few, so the distribution of lengths matters: it is that
// of all lists, of which the finished vertices are taken to have the longest.
func (l *Load) probes() float64 {
	rows, edges := max(l.open(), 1), float64(l.UnfinishedEdges)
	q := l.senderFraction()
	if q <= 0 || edges == 0 {
		return edges
	}
	probes, sum, left := 0.0, 0.0, rows
	for i, n := range l.Classes[1:] {
		if n = min(n, left); n == 0 {
			continue
		}
		left -= n
		d := 1.0
		if i > 0 {
			d = math.Ldexp(math.Sqrt2, i)
		}
		probes += float64(n) * -math.Expm1(-q*d) / q
		sum += float64(n) * d
	}
	if sum == 0 { // the lengths are unknown
		return float64(rows) * -math.Expm1(-q*edges/float64(rows)) / q
	}
	return min(probes*edges/sum, edges)
}

// expand is the time of the columns of senders' messages, along lines of so many blocks. A sender
// of degree d has an edge into (1-(1-1/L)^d) of the L blocks (gamma of Ueno13, 3.1).
func (r *Rates) expand(l *Load, line int, threads float64) float64 {
	if line <= 1 || l.Senders == 0 {
		return 0
	}
	n := float64(line)
	degree := float64(l.SenderEdges) / float64(l.Senders)
	values := min(float64(l.Senders)*(n-1)*-math.Expm1(degree*math.Log1p(-1/n)), float64(l.Listed))
	return r.columns(l, line, values, float64(l.Listed), float64(l.Bytes), threads)
}

// fold is the time of the columns of partial results, along lines of so many blocks: pushing e
// edges at random into g ghosts reaches g(1-exp(-e/g)).
func (r *Rates) fold(l *Load, line int, threads float64) float64 {
	ghosts := float64(l.Ghosts)
	if line <= 1 || ghosts == 0 {
		return 0
	}
	values := ghosts * -math.Expm1(-float64(l.SenderEdges)*float64(line-1)/float64(line)/ghosts)
	return r.columns(l, line, values, ghosts, float64(l.FoldBytes), threads)
}

// columns is the time of one column between any two partitions of the same line of so many, over
// lists of so many in all, with so many values of so many bytes.
func (r *Rates) columns(l *Load, line int, values, listed, bytes, threads float64) float64 {
	presence := min(listed/8, 2*values)
	p := float64(l.Partitions)
	work := values*r.Value + listed/64*r.Word + p*float64(line-1)*r.Frame
	return work/min(threads, p) + r.carry(l, p*float64(line-1), presence+values*bytes) + r.delay(l)
}

// carry is the time that frames of so many bytes in all take, of which the part that crosses
// processes leaves all of these at once.
func (r *Rates) carry(l *Load, frames, bytes float64) float64 {
	if l.Processes <= 1 {
		return bytes * r.Copy
	}
	p, n := float64(l.Partitions), float64(l.Processes)
	cross := min((p-p/n)/max(p-1, 1), 1)
	return bytes*(1-cross)*r.Copy/n + (bytes*r.Alpha+frames*r.Gap)*cross/n
}

// delay is how long what is sent last is under way.
func (r *Rates) delay(l *Load) float64 {
	if l.Processes <= 1 {
		return 0
	}
	return r.Beta
}
