package delivery

import (
	"math"
	"reflect"

	"github.com/superstep-go/superstep/internal/graph"
)

// Load has the inputs of the cost model: the messages to be delivered, their receivers, and the
// graph.
type Load struct {
	Vertices, Arcs      int
	Partitions, Threads int
	Processes           int        // processes of the partitions
	Grid                graph.Grid // grid of the partitions; N x 1 for every flat grid
	SubSteps            int        // parts of an owner's vertices in a ring pull
	Listed              int        // vertices on all lists of expand: the values of a full expand
	// ghosts on the receivers' side in all partitions: the values of a full fold
	Ghosts int
	// Classes[i] is the number of receivers' lists with 2^(i-1) to 2^i - 1 edges
	Classes      [33]int
	Untransposed int // arcs to transpose before the first mirrored push
	// Hubs[k] describes the first 2^k words of each partition; zero if they have all vertices.
	Hubs [MostHubs]Hubs

	Senders, SenderEdges        int
	Unfinished, UnfinishedEdges int
	// Edges that a pull looks at, if weights end the lists early and this number is known; else 0.
	PullEdges int
	// Edges that a push walks, if known; else 0. It is SenderEdges unless lists have been thinned.
	PushEdges int
	Active    int

	AnyOne    bool
	Bytes     int // of a value in a column of expand
	FoldBytes int // of a value in a column of fold
}

// MostHubs is the number of thresholds of the scheme Lalp.
const MostHubs = 26

// Hubs describes the vertices that Lalp mirrors with one threshold.
type Hubs struct {
	Edges  int // of the hubs
	Listed int // hubs on all lists of expand
	Ghosts int // ghosts on the receivers' side to which an edge leads from a vertex that is no hub
	Degree int // of the last hub
}

// Add adds the load of another process.
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
	l.AddHubs(&other.Hubs)
}

// AddHubs adds the hubs of another block or process.
func (l *Load) AddHubs(other *[MostHubs]Hubs) {
	for k, o := range other {
		h := &l.Hubs[k]
		h.Edges, h.Listed, h.Ghosts = h.Edges+o.Edges, h.Listed+o.Listed, h.Ghosts+o.Ghosts
		h.Degree = max(h.Degree, o.Degree)
	}
}

// Rates has the model's coefficients, in seconds, for one thread. When a job is made, the engine
// measures Probe, the four Edge rates and Push on the job's graph with the job's kernel, and Row if
// one message is enough. The others are constants. For small graphs and list programs all are
// constants (engine.measure). Alpha, Beta and Gap are for messages between processes, T = alpha n +
// beta (Matsumoto15). They are measured when workers connect.
type Rates struct {
	Row         float64 // to open a receiver's list
	Probe       float64 // to look at an in-neighbour that did not send
	EdgeFew     float64 // to walk an edge in a pull if the fraction Few of the in-neighbours sent
	Edge        float64 // to walk an edge if half sent: branches are mispredicted most often
	EdgePresent float64 // to walk an edge if nearly all sent; presence is tested
	EdgeAll     float64 // to walk an edge if all sent; presence is not tested
	Push        float64 // to push a message along an edge
	Transpose   float64 // to transpose an arc
	Value       float64 // to pack and unpack a value of a column
	Word        float64 // to skip a word of vertices
	Miss        float64 // a cache miss on a word's first adjacency list
	Compute     float64 // to run the program for a vertex
	Copy        float64 // to copy a byte to another partition of the same process
	Frame       float64 // to send and receive a frame, within a process or not
	ForkJoin    float64 // to start and end a parallel loop

	Alpha float64 // to send a byte to another process
	Beta  float64 // from sending a frame until it arrives in another process
	Gap   float64 // least time between two frames sent to another process
}

// Few is the fraction of senders at which Rates.EdgeFew is measured. If the first sender ends a
// list, EdgeFew excludes the time to open the list. Already at this fraction, weights are read from
// memory as if more vertices had sent.
const Few = 1. / 16

// Slowest returns the rates of all processes together. Each rate is that of the process that needs
// the most time for its part of the load. A process's part of the load is assumed to be its
// fraction of the arcs. So a rate divided among all threads gives the time of that process.
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
		before, to, from := most, reflect.ValueOf(&most).Elem(), reflect.ValueOf(*r)
		for k := range to.NumField() {
			to.Field(k).SetFloat(max(to.Field(k).Float(), part*from.Field(k).Float()))
		}
		// These are not divided among threads.
		most.ForkJoin, most.Alpha = max(before.ForkJoin, r.ForkJoin), max(before.Alpha, r.Alpha)
		most.Beta, most.Gap = max(before.Beta, r.Beta), max(before.Gap, r.Gap)
	}
	return most
}

// edge returns the time per edge in a pull if senders have the fraction q of all edges. It
// interpolates between the measured rates.
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

// probe returns the time to look at an in-neighbour if the first sender ends the list, without the
// time to open the list. It is highest with few senders, because branches are mispredicted.
func (r *Rates) probe(q float64) float64 {
	if q < Few {
		return line(q, 0, Few, r.Probe, r.EdgeFew)
	}
	return line(q, Few, 1, r.EdgeFew, r.Probe)
}

// line returns the value at q of the line through (from, a) and (to, b).
func line(q, from, to, a, b float64) float64 { return a + (b-a)*(q-from)/(to-from) }

// Costs are predicted seconds by scheme. The cost of a scheme that the grid or the program excludes
// is infinite.
type Costs [schemes]float64

// Into stores the finite costs in m, by the schemes' names.
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
			push += float64(l.Untransposed) * r.Transpose / min(threads, float64(l.Partitions))
			c[Mirrored] = push + expand
			if l.senderFraction() >= lalpSenders {
				hubs, _ := r.lalp(l)
				c[Lalp] = push + hubs
			}
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

// thinnedArc is the time of a push over an arc of thinned lists, relative to an arc of whole lists.
// Over whole lists, most messages of a monotone program are dropped at once. Over thinned lists,
// most messages are delivered.
const thinnedArc = 4

// SerialEdges is the number of edges up to which one thread of a partition is faster at a push than
// its team. The other threads would have to fetch from that thread's caches the data that it wrote
// in the previous superstep.
const SerialEdges = 16 << 10

// push returns the time to walk the senders' edges.
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

// pull returns the time to walk the receivers' edges, summed over all threads.
func (r *Rates) pull(l *Load) float64 {
	rows, edges := float64(l.open()), float64(l.UnfinishedEdges)
	t := rows*r.Row + float64(l.Vertices)/64*r.Word
	// A miss for each row, because the end of a list of a few arcs cannot be predicted.
	if l.PullEdges > 0 {
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

// probes returns the expected number of in-edges that a pull looks at if the first sender ends a
// list. Each in-edge comes from a sender with probability q, the senders' fraction of all edges.
// Then a list of d edges takes (1-(1-q)^d)/q probes. Long lists take few probes per edge, so the
// distribution of lengths matters. The model takes the distribution of all lists, and assumes that
// the finished vertices have the longest.
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
	if sum == 0 { // lengths are unknown
		return float64(rows) * -math.Expm1(-q*edges/float64(rows)) / q
	}
	return min(probes*edges/sum, edges)
}

// expand returns the time of the columns of expand, along lines of line blocks. A sender of degree
// d has an edge into L(1-(1-1/L)^d) of the L blocks (gamma in Ueno13, 3.1).
func (r *Rates) expand(l *Load, line int, threads float64) float64 {
	if line <= 1 || l.Senders == 0 {
		return 0
	}
	n := float64(line)
	degree := float64(l.SenderEdges) / float64(l.Senders)
	values := min(float64(l.Senders)*(n-1)*-math.Expm1(degree*math.Log1p(-1/n)), float64(l.Listed))
	listed := min(float64(l.Listed), 64*placeWords*values)
	return r.columns(l, line, values, listed, float64(l.Bytes), threads)
}

// fold returns the time of the columns of fold, along lines of line blocks. If e edges lead at
// random into g ghosts, they reach g(1-exp(-e/g)) of the ghosts.
func (r *Rates) fold(l *Load, line int, threads float64) float64 {
	ghosts := float64(l.Ghosts)
	if line <= 1 || ghosts == 0 {
		return 0
	}
	values := ghosts * -math.Expm1(-float64(l.SenderEdges)*float64(line-1)/float64(line)/ghosts)
	ghosts = min(ghosts, 64*placeWords*values)
	return r.columns(l, line, values, ghosts, float64(l.FoldBytes), threads)
}

// lalpSenders is the fraction of all edges that messages must cross before Lalp is chosen. With fewer
// senders, the model does not know which are hubs.
const lalpSenders = .9

// lalp returns the time of both exchanges of Lalp with the best threshold, and the threshold: 2^k
// words of each partition are hubs. The transfer of the hubs' messages overlaps with the push of
// the others, so there is one delay. Hubs and other vertices are assumed to have equal fractions of
// senders.
func (r *Rates) lalp(l *Load) (least float64, k int) {
	least = math.Inf(1)
	threads := float64(max(l.Threads, 1))
	q, n := min(l.senderFraction(), 1), float64(l.Partitions)
	for i := range l.Hubs {
		h := &l.Hubs[i]
		if h.Listed == 0 || h.Ghosts == 0 {
			continue
		}
		listed, ghosts := float64(h.Listed), float64(h.Ghosts)
		edges := float64(l.Arcs-h.Edges) * (n - 1) / n // a ghost has edges/ghosts of them
		folded := ghosts * (1 - math.Pow(1-q, max(edges/ghosts, 1)))
		t := r.columns(l, l.Partitions, q*listed, listed, float64(l.Bytes), threads) + r.ForkJoin +
			r.columns(l, l.Partitions, folded, float64(l.Ghosts), float64(l.FoldBytes), threads) -
			r.delay(l)
		if t < least {
			least, k = t, i
		}
	}
	return least, k
}

// columns returns the time of the columns between all pairs of partitions in the same line of the
// given length. Together the columns have values values of bytes bytes, over lists of listed
// vertices.
func (r *Rates) columns(l *Load, line int, values, listed, bytes, threads float64) float64 {
	presence := min(listed/8, 2*values)
	p := float64(l.Partitions)
	work := values*r.Value + listed/64*r.Word + p*float64(line-1)*r.Frame
	return work/min(threads, p) + r.carry(l, p*float64(line-1), presence+values*bytes) + r.delay(l)
}

// carry returns the time to transfer frames with bytes bytes in all. All processes send their part
// of the bytes between processes at the same time.
func (r *Rates) carry(l *Load, frames, bytes float64) float64 {
	if l.Processes <= 1 {
		return bytes * r.Copy
	}
	p, n := float64(l.Partitions), float64(l.Processes)
	cross := min((p-p/n)/max(p-1, 1), 1)
	return bytes*(1-cross)*r.Copy/n + (bytes*r.Alpha+frames*r.Gap)*cross/n
}

// delay returns the time until the last frame arrives.
func (r *Rates) delay(l *Load) float64 {
	if l.Processes <= 1 {
		return 0
	}
	return r.Beta
}
