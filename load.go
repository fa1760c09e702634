package superstep

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/parallel"
)

// LoadOptions say how a graph is read and stored. The zero value takes it as it is, in one
// partition.
type LoadOptions struct {
	// Format is the file's format, by a name in docs/reference/formats.md, such as el or csv; empty
	// means to find out.
	Format string
	// Directed edges point from the first vertex to the second, Undirected ones join both ways.
	// With neither they are as the file or generator says; edge lists, which do not say, are
	// directed.
	Directed, Undirected bool
	// Partitions is the number of partitions, 1 if 0. With more than one, messages between them
	// travel as columns.
	Partitions int
	// Grid is how the partitions are laid out, in a column if it is not set. With both sides above
	// 1 each speaks with those of its row and column alone, and programs cannot call Edges.
	Grid       Grid
	Duplicates Duplicates
	SelfLoops  SelfLoops
	Weights    Weights
	// UnitWeights makes every weight 1.
	UnitWeights bool
	// SkipBad is how many malformed lines of a text file are left out, which Graph.Skipped then
	// tells; one more is an error.
	SkipBad int
	// Vertices are ids of vertices there are besides those that edges name; for FromEdges alone.
	Vertices []uint64
	// Threads is how many threads load the graph; 0 is one for each processor.
	Threads int
	// Progress, if not nil, is told what is being done and how much of it.
	Progress func(stage string, done, total int64)
}

// stored says how a graph is stored.
func (o LoadOptions) stored(team *parallel.Team) graph.Options {
	weights, _ := o.weights()
	return graph.Options{
		Partitions: o.Partitions, Grid: graph.Grid(o.Grid),
		Duplicates: graph.Duplicates(o.Duplicates), DropLoops: o.SelfLoops == DropSelfLoops,
		Weights: weights, UnitWeights: o.UnitWeights, Team: team, Progress: o.Progress,
	}
}

func (o LoadOptions) directed() *bool {
	if !o.Directed && !o.Undirected {
		return nil
	}
	return &o.Directed
}

func (o LoadOptions) weights() (kind edges.Weights, ifAny bool) {
	switch o.Weights {
	case NoWeights:
		return edges.Unweighted, false
	case Float32:
		return edges.Float32, false
	case Float64:
		return edges.Float64, false
	default:
		return edges.Float64, true
	}
}

// Validate returns what is wrong with the options, as whoever takes them does.
func (o LoadOptions) Validate() error {
	if o.Partitions < 0 {
		return fmt.Errorf("superstep: LoadOptions.Partitions: found %d, expected 0, for one, or more", o.Partitions)
	}
	if o.SkipBad < 0 || o.SkipBad > math.MaxInt32 {
		return fmt.Errorf("superstep: LoadOptions.SkipBad: found %d, expected 0 or more", o.SkipBad)
	}
	if o.Directed && o.Undirected {
		return errors.New("superstep: LoadOptions: Directed and Undirected contradict each other")
	}
	if o.Weights > Float32 || o.Duplicates > ErrorDuplicates || o.SelfLoops > DropSelfLoops {
		return fmt.Errorf("superstep: LoadOptions: there are no Weights %d with Duplicates %d and SelfLoops %d",
			o.Weights, uint8(o.Duplicates), o.SelfLoops)
	}
	return validThreads("LoadOptions", o.Threads)
}

// fromEdges numbers the vertices of a list by rising id.
func fromEdges(list []Edge, o LoadOptions) (*edges.Input, error) {
	ids := make([]uint64, 0, 2*len(list))
	weighted := false
	for _, e := range list {
		if w := float64(float32(e.Weight)); math.IsNaN(e.Weight) || math.IsInf(e.Weight, 0) ||
			o.Weights == Float32 && math.IsInf(w, 0) {
			return nil,
				fmt.Errorf("superstep: the edge from %d to %d has weight %v, want a finite number",
					e.From, e.To, e.Weight)
		}
		ids = append(ids, e.From, e.To)
		weighted = weighted || e.Weight != 0
	}
	ids = append(ids, o.Vertices...)
	slices.Sort(ids)
	ids = slices.Clip(slices.Compact(ids))
	labels := edges.NewLabels(ids)
	tuples := make([][2]uint64, len(list))
	var weights []float64
	if weighted || o.Weights == Float64 || o.Weights == Float32 {
		weights = make([]float64, len(list))
	}
	for i, e := range list {
		u, _ := labels.Find(e.From, len(ids))
		v, _ := labels.Find(e.To, len(ids))
		tuples[i] = [2]uint64{u, v}
		if weights != nil {
			weights[i] = e.Weight
		}
	}
	packed := edges.Pack(uint64(len(ids)), tuples, weights)
	return &edges.Input{
		Name: "edges", Edges: packed, Vertices: len(ids), Labels: labels, Directed: !o.Undirected,
		Account: []string{fmt.Sprintf("%d edges in memory, %d vertices", len(list), len(ids))},
		Free:    packed.Close,
	}, nil
}
