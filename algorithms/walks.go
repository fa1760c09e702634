package algorithms

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/superstep-go/superstep/pregel"
)

// Walks makes random walks from every vertex. Each step chooses one of the out-edges with equal
// probability; each parallel edge counts. A walk ends after Length steps, or earlier at a vertex
// without out-edges. With P and Q other than 1 they are the walks of node2vec (Grover and Leskovec
// 2016): from v, after a step from t to v, the probability of x is proportional to 1/P if x is t, 1
// if t and x are neighbours, and else 1/Q. P and Q need an undirected graph.
//
// The value of a vertex has the walks that start there: the vertices in order, with blanks between
// vertices and "; " between walks. In names a backslash precedes blanks, colons, semicolons and
// backslashes. A walker is a message. Its receiver reports the step to the start of the walk: a
// step takes two messages and a superstep. With P and Q the candidate x decides, by rejection
// sampling as in KnightKing (Yang et al. 2019): it looks for t among its own edges, and if it
// rejects the walker, v chooses again. This takes two more supersteps and messages each time, on
// average at most about max(Q, 1/Q) times.
//
// Walks depend on the run's seed, and not on partitions and threads. It is a list program: pass it
// as pregel.List(Walks{}). It looks at edges, so it cannot run in a grid of partitions with more
// than one row and column: use --grid Nx1.
type Walks struct {
	Length int     `param:"length" default:"10" zero:"refused" help:"number of steps of a walk"`
	Walks  int     `param:"walks" default:"1" zero:"refused" help:"number of walks from each vertex"`
	P      float64 `param:"p" default:"1" zero:"refused" help:"a lower p makes a walk return to the previous vertex more often (node2vec)"`
	Q      float64 `param:"q" default:"1" zero:"refused" help:"a lower q makes a walk move away from the previous vertex more often (node2vec)"`
}

// walker is the message type for all purposes.
type walker struct {
	Kind   walkerKind
	Number uint32 // the number of the walk, of those with the same start
	Step   uint32 // the step of the walk, from 1
	Start  ID
	// From is the sender. Before, from step 2 on, is the vertex before the sender. In news, From is
	// the vertex of the step.
	From, Before ID
}

type walkerKind uint8

const (
	candidate walkerKind = iota // the receiver may accept it
	sure                        // the receiver must accept it
	refused                     // the receiver must choose again
	news                        // a step, for the start of the walk
)

// maxWalks bounds the length and the number of walks, because all walks are in memory.
const maxWalks = 1 << 20

// secondOrder reports whether a step depends on the one before.
func (p Walks) secondOrder() bool { return p.P != 1 || p.Q != 1 }

// Validate checks the numbers. It rejects directed graphs for node2vec, where only one of two
// vertices knows an edge between them.
func (p Walks) Validate(g *pregel.GraphInfo) error {
	var errs []error
	if p.secondOrder() {
		errs = append(errs, undirected(g, "walks with p and q"))
	}
	for _, n := range []struct {
		name  string
		value int
	}{{"length", p.Length}, {"walks", p.Walks}} {
		if n.value < 0 || n.value > maxWalks {
			errs = append(errs, fmt.Errorf("%s is %d, want 1 to %d", n.name, n.value, maxWalks))
		}
	}
	for _, x := range []struct {
		name  string
		value float64
	}{{"p", p.P}, {"q", p.Q}} {
		if x.value != 0 && !(x.value >= 1e-3 && x.value <= 1e3) {
			errs = append(errs, fmt.Errorf("%s is %g, want 0.001 to 1000", x.name, x.value))
		}
	}
	return errors.Join(errs...)
}

// OutputLabels writes the walks of a vertex: blanks between vertices, and "; " between walks.
func (Walks) OutputLabels(dst []byte, walks [][]ID, label func(dst []byte, id ID) []byte) []byte {
	for i, walk := range walks {
		if i > 0 {
			dst = append(dst, "; "...)
		}
		for j, at := range walk {
			if j > 0 {
				dst = append(dst, ' ')
			}
			dst = label(dst, at)
		}
	}
	return dst
}

// Compute starts walks, continues those that are here, and records the steps of those that began
// here.
func (p Walks) Compute(v *pregel.Vertex[[][]ID, walker], walkers []walker) {
	v.VoteToHalt()
	if v.Superstep() == 0 {
		walks := make([][]ID, p.Walks)
		for i := range walks {
			walks[i] = []ID{v.ID()}
			p.step(v, walker{Number: uint32(i), Step: 1, Start: v.ID()})
		}
		v.Set(walks)
		return
	}
	// Sort, so that every run uses the same random numbers.
	slices.SortFunc(walkers, func(a, b walker) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Start, b.Start),
			cmp.Compare(a.Number, b.Number), cmp.Compare(a.Step, b.Step))
	})
	for _, w := range walkers {
		switch {
		case w.Kind == news:
			walk := &v.Value()[w.Number]
			*walk = append(*walk, w.From)
		case w.Kind == refused:
			p.step(v, w)
		case p.takes(v, w):
			v.Send(w.Start,
				walker{Kind: news, Number: w.Number, Step: w.Step, Start: w.Start, From: v.ID()})
			if int(w.Step) < p.Length {
				p.step(v,
					walker{Number: w.Number, Step: w.Step + 1, Start: w.Start, Before: w.From})
			}
		default:
			from := w.From
			w.Kind, w.From = refused, 0
			v.Send(from, w)
		}
	}
}

// Traits returns the traits. MaxSupersteps: one at the start, one for each step, and one to report
// the last step. It is unknown for node2vec, where walkers may be rejected.
func (p Walks) Traits() pregel.Traits {
	if p.secondOrder() {
		return traits{}
	}
	return traits{MaxSupersteps: mostSupersteps(p.Length, 1, 2)}
}

// bound is the greatest weight of a candidate in rejection sampling. step handles a greater weight
// of going back.
func (p Walks) bound() float64 { return max(1, 1/p.Q) }

// step sends a walker along an edge.
func (p Walks) step(v *pregel.Vertex[[][]ID, walker], w walker) {
	degree := v.OutDegree()
	if degree == 0 {
		return
	}
	choice := v.Rand().IntN(degree)
	w.Kind, w.From = candidate, v.ID()
	if w.Step > 1 && p.secondOrder() {
		first, edges := edgesTo(v, w.Before)
		if more := float64(edges) * (1/p.P - p.bound()); more > 0 &&
			v.Rand().Float64()*(more+float64(degree)*p.bound()) < more {
			w.Kind, choice = sure, first
		}
	}
	v.SendAlongEdge(choice, w)
}

// edgesTo returns the number of edges to a vertex, and the index of the first.
func edgesTo(v *pregel.Vertex[[][]ID, walker], to ID) (first, edges int) {
	degree := v.OutDegree()
	first = sort.Search(degree, func(i int) bool { return v.Edge(i).To >= to })
	for first+edges < degree && v.Edge(first+edges).To == to {
		edges++
	}
	return first, edges
}

// takes reports whether v accepts a walker.
func (p Walks) takes(v *pregel.Vertex[[][]ID, walker], w walker) bool {
	if w.Kind == sure || w.Step == 1 || !p.secondOrder() {
		return true
	}
	share := 1 / p.Q
	if w.Before == v.ID() {
		share = 1 / p.P
	} else if _, edges := edgesTo(v, w.Before); edges > 0 {
		share = 1
	}
	return v.Rand().Float64()*p.bound() < share
}
