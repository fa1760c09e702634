package build

import (
	"context"
	"math"
	"slices"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/parallel"
)

// Survey has the facts about an input that are known without building a graph.
type Survey struct {
	Vertices, Tuples int
	Loops            int // tuples from a vertex to itself
	Duplicates       int // tuples with the same ends, in the same direction, as an earlier one
	Isolated         int // vertices without an edge; a loop counts as an edge
	Directed         bool
	Weighted         bool

	// Degrees of the vertices that have edges, counting all tuples. In a directed graph a degree is
	// out-degree plus in-degree.
	LeastDegree, MedianDegree, LargestDegree int
	MeanDegree                               float64
	Largest                                  uint64 // input id of a vertex with LargestDegree

	// ListBytes is the memory of the list of tuples, GraphBytes that of the built graph, and
	// LoadBytes the peak during loading.
	ListBytes, GraphBytes, LoadBytes int64
}

// Inspect surveys an input.
func Inspect(ctx context.Context, in *edges.Input, team *parallel.Team) (*Survey, error) {
	b, err := newBuilder(collective.Alone(), 0, alone(in), nil,
		graph.Options{Duplicates: graph.LeastDuplicate, Team: team})
	if err != nil {
		return nil, err
	}
	defer b.close()
	if err := b.survey(ctx); err != nil {
		return nil, named(in.Name, err)
	}
	s := &Survey{
		Vertices: b.sizes[0], Tuples: b.all.tuples, Loops: b.loops, Duplicates: b.dropped,
		Directed: in.Directed, Weighted: in.Edges.Weighted(),
	}
	s.degrees(b)
	s.memory(b)
	return s, nil
}

// survey runs the build up to the degrees.
func (b *builder) survey(ctx context.Context) error {
	if err := b.begin(ctx); err != nil {
		return err
	}
	// degrees, twice, and about a word for each tuple
	if err := graph.Enough("counting its edges",
		8*float64(b.end)+8*float64(b.all.tuples)); err != nil {
		return err
	}
	return b.collect(ctx)
}

func (s *Survey) degrees(b *builder) {
	all := make([]uint32, 0, s.Vertices)
	sum := 0
	for i := range uint32(s.Vertices) {
		d := int(b.tuples.raw.out[i])
		if s.Directed {
			d += int(b.tuples.raw.in[i])
		}
		if d == 0 {
			s.Isolated++
			continue
		}
		if d > s.LargestDegree {
			s.LargestDegree, s.Largest = d, b.label(i)
		}
		sum += d
		// for the least degree and the median
		all = append(all, uint32(min(d, math.MaxUint32)))
	}
	if len(all) == 0 {
		return
	}
	slices.Sort(all)
	s.LeastDegree, s.MedianDegree, s.MeanDegree = int(all[0]), int(all[len(all)/2]),
		float64(sum)/float64(len(all))
}

// memory estimates the memory of the graph, including duplicates.
func (s *Survey) memory(b *builder) {
	var o graph.Options
	sides := int64(1)
	if s.Weighted {
		o.Weights = edges.Float64
	}
	if s.Directed {
		sides = 2
	}
	if p, ok := b.in.Edges.(*edges.Packed); ok {
		s.ListBytes = p.Bytes()
	}
	s.GraphBytes = graph.LeastBytes(uint64(s.Vertices), s.Tuples, s.Directed, o)
	s.LoadBytes = s.ListBytes + s.GraphBytes + sides*12*int64(s.Vertices)
}
