package graph

import (
	"context"
	"fmt"
	"slices"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/parallel"
)

// Survey is what can be said of an input without building it.
type Survey struct {
	Vertices, Tuples int
	Loops            int // tuples from a vertex to itself
	Duplicates       int // tuples that join the same vertices, the same way, as one before
	Isolated         int // vertices without an edge, loops counted
	Directed         bool
	Weighted         bool

	// Degrees of the vertices that have any, all tuples counted; in a directed graph out plus in.
	LeastDegree, MedianDegree, LargestDegree int
	MeanDegree                               float64
	Largest                                  uint64 // input id of a vertex of LargestDegree

	// ListBytes is the memory of the tuples as they are held, GraphBytes of the built graph, LoadBytes of both and what
	// building takes at its peak.
	ListBytes, GraphBytes, LoadBytes int64
}

// Inspect surveys an input.
func Inspect(ctx context.Context, in *edges.Input, team *parallel.Team) (*Survey, error) {
	b := &builder{
		assembler: newAssembler(&Graph{N: in.Vertices, Directed: in.Directed}, Options{Duplicates: LeastDuplicate, Team: team}),
		list:      in.Edges, labels: in.Labels,
	}
	defer b.end(false)
	defer b.uniqueArena.Close()
	if err := b.discover(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", in.Name, err)
	}
	// Degrees, twice, and a word for each tuple.
	if err := Enough("counting its edges", 8*float64(b.g.N)+8*float64(b.list.Len())); err != nil {
		return nil, fmt.Errorf("%s: %w", in.Name, err)
	}
	if err := b.count(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", in.Name, err)
	}
	if err := b.distinct(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", in.Name, err)
	}
	s := &Survey{
		Vertices: b.g.N, Tuples: b.list.Len(), Loops: b.loops, Duplicates: int(b.dropped.Load()), Directed: in.Directed, Weighted: b.list.Weighted(),
	}
	s.degrees(b)
	s.memory(b)
	return s, nil
}

func (s *Survey) degrees(b *builder) {
	all := make([]uint32, 0, b.g.N)
	sum := 0
	for i := range b.g.N {
		d := b.raw.out[i]
		if b.g.Directed {
			d += b.raw.in[i]
		}
		if d == 0 {
			s.Isolated++
			continue
		}
		if int(d) > s.LargestDegree {
			s.LargestDegree, s.Largest = int(d), b.labels.Of(uint64(i))
		}
		sum += int(d)
		all = append(all, d)
	}
	if len(all) == 0 {
		return
	}
	slices.Sort(all)
	s.LeastDegree, s.MedianDegree, s.MeanDegree = int(all[0]), int(all[len(all)/2]), float64(sum)/float64(len(all))
}

// memory predicts what the graph takes, duplicates kept: neighbours and, if any, weights; for each vertex its handle and
// back, degree, first neighbour and start of its list.
func (s *Survey) memory(b *builder) {
	edge, sides := int64(4), int64(1)
	if s.Weighted {
		edge += 8
	}
	arcs := 2 * int64(s.Tuples)
	if s.Directed {
		arcs, sides = arcs/2, 2
	}
	n := int64(s.Vertices)
	if p, ok := b.list.(*edges.Packed); ok {
		s.ListBytes = p.Bytes()
	}
	s.GraphBytes = sides*(arcs*edge+12*n) + 8*n
	build := sides * 12 * n
	s.LoadBytes = s.ListBytes + s.GraphBytes + build
}
