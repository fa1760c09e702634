package superstep

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/load"
	"github.com/superstep-go/superstep/internal/parallel"
)

// LoadOptions select how a graph is read and stored. The zero value keeps the input unchanged, in
// one partition.
type LoadOptions struct {
	// Format is the name of the file's format in docs/reference/formats.md, such as el or csv. If
	// it is empty, Load detects the format.
	Format string
	// Directed edges go from the first vertex to the second. Undirected edges go both ways. With
	// neither option the file or generator decides; edge lists are then directed.
	Directed, Undirected bool
	// Partitions is the number of partitions; 0 means 1. With more than one, messages between
	// partitions are sent as columns.
	Partitions int
	// Grid is the layout of the partitions; by default a single column. If both sides are above 1,
	// a partition exchanges messages only with its row and its column, and programs cannot call
	// Edges.
	Grid       Grid
	Duplicates Duplicates
	SelfLoops  SelfLoops
	Weights    Weights
	// UnitWeights makes every weight 1.
	UnitWeights bool
	// SkipBad is the number of malformed lines of a text file that may be skipped; Graph.Skipped
	// lists them. One more is an error.
	SkipBad int
	// Vertices are the ids of additional vertices. Only FromEdges allows them.
	Vertices []uint64
	// Threads is the number of threads that load the graph; 0 means one per processor.
	Threads int
	// Progress, if not nil, is called with the current stage and its progress.
	Progress func(stage string, done, total int64)
}

// source returns the description of a graph to load with the options.
func (o LoadOptions) source(name string) *job.Source {
	s := &job.Source{
		Input: name, Format: o.Format, Duplicates: o.Duplicates.String(),
		UnitWeights: o.UnitWeights, SkipBad: uint32(o.SkipBad),
		Weights: [...]string{"", "none", "float64", "float32"}[o.Weights],
	}
	if o.Directed || o.Undirected {
		s.Directed = &o.Directed
	}
	if o.SelfLoops == DropSelfLoops {
		s.SelfLoops = "drop"
	}
	return s
}

// resolved returns what to load in this process, and how to store it.
func (o LoadOptions) resolved(
	name string, team *parallel.Team,
) (load.Request, graph.Options, error) {
	r, g, err := load.From(o.source(name))
	r.Team, r.Progress = team, o.Progress
	g.Team, g.Progress, g.Partitions, g.Grid = team, o.Progress, o.Partitions, graph.Grid(o.Grid)
	return r, g, err
}

// Validate returns an error if the options are invalid. Load and FromEdges do the same check.
func (o LoadOptions) Validate() error {
	if o.Partitions < 0 {
		return fmt.Errorf(
			"superstep: LoadOptions.Partitions: found %d, expected 0 or more", o.Partitions)
	}
	if o.SkipBad < 0 || o.SkipBad > math.MaxInt32 {
		return fmt.Errorf("superstep: LoadOptions.SkipBad: found %d, expected 0 or more", o.SkipBad)
	}
	if o.Directed && o.Undirected {
		return errors.New("superstep: LoadOptions: Directed and Undirected contradict each other")
	}
	if o.Weights > Float32 || o.Duplicates > ErrorDuplicates || o.SelfLoops > DropSelfLoops {
		return fmt.Errorf(
			"superstep: LoadOptions: there are no Weights %d with Duplicates %d and SelfLoops %d",
			o.Weights, uint8(o.Duplicates), o.SelfLoops)
	}
	return validThreads("LoadOptions", o.Threads)
}

// fromEdges makes an input of a list of edges. It numbers the vertices in ascending order of their
// ids.
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
