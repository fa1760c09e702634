package algorithms

import (
	"errors"
	"fmt"
	"slices"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/plan"
	"github.com/superstep-go/superstep/pregel"
)

// origins chooses the vertices where a plan's searches start: the given vertices, or else a sample.
// The sample has the vertices with the least hashes of their input ids, so it is the same for any
// partitions. In a smaller graph it has all vertices.
type origins struct {
	given   []ID
	sample  int
	sampled bool // the number was given
}

// chosen returns the given vertices, or a sample of n.
func chosen(given []ID, n int) origins { return origins{given, n, n != 0} }

// maxOrigins bounds the list that is sorted and sent to choose a sample.
const maxOrigins = 1 << 16

// check returns an error for an invalid number or invalid sources.
func (o origins) check() error {
	switch {
	case o.sample < 0 || o.sample > maxOrigins:
		return fmt.Errorf("samples is %d, want 1 to %d: the sample is sorted in one place",
			o.sample, maxOrigins)
	case o.sampled && len(o.given) > 0:
		return errors.New("found sources and samples, expected one of the two: the vertices to start from, or how many to choose")
	}
	return checkSources(o.given)
}

// checkSources returns an error if there are too many sources, or if one is given twice.
func checkSources(sources []ID) error {
	if len(sources) > maxOrigins {
		return fmt.Errorf("there are %d sources, want at most %d", len(sources), maxOrigins)
	}
	seen := map[ID]bool{}
	for _, id := range sources {
		if id != pregel.None && seen[id] {
			return errors.New("a source is given twice")
		}
		seen[id] = true
	}
	return nil
}

// count returns the number of searches in a graph of a number of vertices.
func (o origins) count(vertices uint64) int {
	if len(o.given) > 0 {
		return len(o.given)
	}
	return int(min(uint64(o.sample), vertices))
}

var (
	// search is the number of the remaining search that starts at the vertex, from 1. It is less if
	// that search is done, or if none starts here.
	search = pregel.NewVertexColumn[int]("search").Private()
	left   = pregel.MaxOf("left", 0).Persistent().Unreported() // number of remaining searches

	leastHashes = pregel.NewAggregator("least hashes", nil,
		func(a, b []uint64) []uint64 { return append(slices.Clip(a), b...) }).Unreported()
)

// estimated is in the report of programs that estimate values of all vertices from the searches of
// some.
var estimated = pregel.AnyOf("estimated").Persistent()

// tellEstimates writes to the log and the report that values are estimates, unless searches start
// at all vertices.
func (o origins) tellEstimates(c *pregel.Coordinator) {
	if n := uint64(o.count(c.NumVertices)); n < c.NumVertices && c.Superstep == 0 {
		estimated.Replace(c, true)
		c.Logf("the values are estimates: paths from %d of %d vertices", n, c.NumVertices)
	}
}

// noneLeft reports whether all searches are done.
func noneLeft(r *plan.Round) bool { return left.Value(r) <= 0 }

// Combiner is required, although there are no messages.
func (origins) Combiner() pregel.Combiner[bool] { return combiners.Or() }

func (origins) Traits() traits {
	return traits{Aggregators: aggregates{leastHashes}, Columns: columns{search}}
}

// Coordinate keeps the least hashes of all partitions.
func (o origins) Coordinate(c *pregel.Coordinator) {
	if c.Superstep == 1 {
		all := slices.Sorted(slices.Values(leastHashes.Value(c)))
		leastHashes.Replace(c, all[:min(len(all), o.sample)])
	}
}

// Compute numbers the vertices where searches start. A sample is numbered by its hashes' order, in
// superstep 1.
func (o origins) Compute(v *pregel.Vertex[struct{}, bool], _ bool) {
	switch {
	case len(o.given) > 0:
		search.Set(v, 1+slices.Index(o.given, v.ID()))
		v.VoteToHalt()
	case v.Superstep() == 0:
		least := leastHashes.Cell(v)
		*least = insert(*least, hash(v.Label()), o.sample)
	default:
		if i, found := slices.BinarySearch(leastHashes.Value(v), hash(v.Label())); found {
			search.Set(v, 1+i)
		}
		v.VoteToHalt()
	}
}

// insert adds x to an ascending list of the least numbers, of at most most elements.
func insert(list []uint64, x uint64, most int) []uint64 {
	if len(list) == most {
		if x > list[most-1] {
			return list
		}
		list = list[:most-1]
	}
	i, _ := slices.BinarySearch(list, x)
	return slices.Insert(list, i, x)
}
