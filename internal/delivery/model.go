package delivery

import (
	"math"

	"github.com/superstep-go/superstep/internal/graph"
)

// Load has the model's inputs: the messages that a superstep delivers, their receivers, and the graph.
type Load struct {
	Vertices, Arcs      int
	Partitions, Threads int
	Grid                graph.Grid // of the partitions; N x 1 for every flat one
	SubSteps            int        // of a ring pull, by owner
	Listed              int        // vertices on all expand lists: the values of a full expand
	Ghosts              int        // destination ghosts of all partitions: the values of a full fold
	Classes             [33]int    // receivers' lists by length: Classes[i] counts those of 2^(i-1) to 2^i - 1 edges
	Untransposed        int        // arcs to be transposed before the first mirrored push

	Senders, SenderEdges        int
	Unfinished, UnfinishedEdges int
	Active                      int

	AnyOne    bool
	Bytes     int // of a value in an expand column
	FoldBytes int // and in a fold column
}

// Add adds the partitions of another process.
func (l *Load) Add(other *Load) {
	l.Threads += other.Threads
	l.Arcs += other.Arcs
	for i, n := range other.Classes {
		l.Classes[i] += n
	}
	l.Untransposed += other.Untransposed
	l.Listed += other.Listed
	l.Ghosts += other.Ghosts
}

// Rates are the model's coefficients, in seconds, for one thread. Probe, Edge, EdgeAll and Push are measured when a job
// is made, on its own graph and with its own kernel, and Row where one message is as good as all; the others, and all
// of them for small graphs and list programs, are constants (engine.measure).
type Rates struct {
	Row       float64 // to open a receiver's list
	Probe     float64 // to look at an in-neighbour that did not send
	Edge      float64 // to fold a message in a pull, where some senders are absent
	EdgeAll   float64 // and where all are present
	Push      float64 // to push a message along an edge
	Transpose float64 // to transpose an arc
	Value     float64 // to pack and unpack a value of a column
	Word      float64 // to skip a word of vertices
	Miss      float64 // a cache miss on the first adjacency list of a word
	Compute   float64 // to run the program for a vertex
	Alpha     float64 // to send a byte to another partition
	Beta      float64 // to send a frame (T = alpha n + beta, Matsumoto15)
	ForkJoin  float64 // to start and end a parallel loop
}

// Costs are predicted seconds by scheme; infinite for a scheme that the grid or program excludes.
type Costs [schemes]float64

// Into puts the finite costs into m, by the schemes' names.
func (c *Costs) Into(m map[string]float64) {
	for s, seconds := range c {
		if !math.IsInf(seconds, 1) {
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
			c[Mirrored] = push + expand + float64(l.Untransposed)*r.Transpose/min(threads, float64(l.Partitions))
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

// push is the time of walking the senders' edges. A small frontier is walked by one thread.
func (r *Rates) push(l *Load, threads float64) float64 {
	t := float64(l.Senders)*r.Row + float64(l.SenderEdges)*r.Push
	if small := t; small < 2*r.ForkJoin {
		return small
	}
	return t/threads + r.ForkJoin
}

// pull is the time of walking the receivers' edges, in all threads together.
func (r *Rates) pull(l *Load) float64 {
	rows, edges := float64(l.open()), float64(l.UnfinishedEdges)
	t := rows*r.Row + float64(l.Vertices)/64*r.Word
	if !l.AnyOne {
		if l.SenderEdges == l.Arcs {
			return t + edges*r.EdgeAll
		}
		return t + edges*r.Edge
	}
	return t + l.probes()*r.Probe + min(rows, float64(l.Vertices)/64)*r.Miss
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

// probes is the expected number of in-edges looked at before a sender is met. Each comes from a sender with probability
// q, the senders' share of all edges; a list of d edges then takes (1-(1-q)^d)/q probes. Long lists take a few, so the
// distribution of lengths matters: it is that of all lists, of which the finished vertices are taken to have the longest.
func (l *Load) probes() float64 {
	rows, edges := max(l.open(), 1), float64(l.UnfinishedEdges)
	q := float64(l.SenderEdges) / float64(max(l.Arcs, 1))
	if q <= 0 || edges == 0 {
		return edges
	}
	probes, sum, left := 0.0, 0.0, rows
	for i, n := range l.Classes[1:] {
		n = min(n, left)
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

// expand is the time of the columns of senders' messages, along lines of so many blocks. A sender of degree d has an edge
// into (1-(1-1/L)^d) of the L blocks (gamma of Ueno13, 3.1).
func (r *Rates) expand(l *Load, line int, threads float64) float64 {
	if line <= 1 || l.Senders == 0 {
		return 0
	}
	n := float64(line)
	degree := float64(l.SenderEdges) / float64(l.Senders)
	values := min(float64(l.Senders)*(n-1)*-math.Expm1(degree*math.Log1p(-1/n)), float64(l.Listed))
	return r.columns(l, line, values, float64(l.Listed), float64(l.Bytes), threads)
}

// fold is the time of the columns of partial results, along lines of so many blocks: pushing e edges at random into g
// ghosts reaches g(1-exp(-e/g)).
func (r *Rates) fold(l *Load, line int, threads float64) float64 {
	ghosts := float64(l.Ghosts)
	if line <= 1 || ghosts == 0 {
		return 0
	}
	values := ghosts * -math.Expm1(-float64(l.SenderEdges)*float64(line-1)/float64(line)/ghosts)
	return r.columns(l, line, values, ghosts, float64(l.FoldBytes), threads)
}

// columns is the time of one column between any two partitions of the same line of so many, over lists of so many in
// all, with so many values of so many bytes.
func (r *Rates) columns(l *Load, line int, values, listed, bytes, threads float64) float64 {
	presence := min(listed/8, 2*values)
	work := values*r.Value + listed/64*r.Word
	p := float64(l.Partitions)
	return (work+p*float64(line-1)*r.Beta)/min(threads, p) + r.Alpha*(presence+values*bytes)
}

// Policy chooses the scheme of each superstep: the fastest one by the model's prediction, corrected by what supersteps took before.
type Policy struct {
	Force Choice
	Rates Rates

	// Predicted and Chosen are of the last decision.
	Predicted Costs
	Chosen    Scheme

	factor  [schemes]float64 // measured over predicted time; 0 before the first
	pulling bool             // state of Beamer's rule: the last superstep was pulled
	before  int              // and had so many senders
}

// Choose returns the scheme for a load.
func (p *Policy) Choose(l *Load) Scheme {
	p.Predicted = p.Rates.Predict(l)
	for s, f := range p.factor {
		if f != 0 {
			p.Predicted[s] *= f
		}
	}
	p.Chosen = p.best()
	if p.Force == ChooseBeamer {
		p.Chosen = p.beamer(l)
	}
	return p.Chosen
}

// best returns the scheme of the least predicted time among those allowed.
func (p *Policy) best() Scheme {
	best := None
	for s := Naive; s < schemes; s++ {
		if !p.Force.Allows(s) {
			continue
		}
		if best == None || p.Predicted[s] < p.Predicted[best] {
			best = s
		}
	}
	return best
}

// beamerAlpha and beamerBeta are the rule's two numbers, as Beamer found them.
const beamerAlpha, beamerBeta = 14, 24

// beamer is the rule of Beamer 2012: pull once the senders' edges exceed 1/14 of those of the unfinished, push again
// once the senders are fewer than 1/24 of the vertices and their number falls.
func (p *Policy) beamer(l *Load) Scheme {
	switch {
	case !p.pulling && l.SenderEdges*beamerAlpha > l.UnfinishedEdges:
		p.pulling = true
	case p.pulling && l.Senders*beamerBeta < l.Vertices && l.Senders < p.before:
		p.pulling = false
	}
	p.before = l.Senders
	switch {
	case p.pulling && !l.Grid.Flat() && l.AnyOne:
		return RingPull
	case p.pulling:
		return Pull
	case !l.Grid.Flat():
		return Push
	default:
		return Naive
	}
}

// noise is the time in seconds below which Learn ignores a delivery.
const noise = 50e-6

// Learn corrects the predictions by the seconds that the chosen delivery took.
func (p *Policy) Learn(took float64) {
	predicted := p.Predicted[p.Chosen]
	if p.Chosen == None || took < noise || predicted <= 0 || math.IsInf(predicted, 1) {
		return
	}
	f := p.factor[p.Chosen]
	if f == 0 {
		f = 1
	}
	// Half way to the right factor, within bounds: one superstep on a busy machine must not decide.
	p.factor[p.Chosen] = min(max(f*math.Sqrt(took/predicted), 0.25), 4)
}

// Begin starts a run: what was learnt in the runs before it is kept.
func (p *Policy) Begin() { p.pulling, p.before, p.Chosen = false, 0, None }
