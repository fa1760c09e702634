package algorithms

import (
	"errors"
	"fmt"
	"slices"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/plan"
	"github.com/superstep-go/superstep/pregel"
)

// origins are the vertices that a plan's searches start from: those given, or else a sample of so
// many, the vertices with the least hashes of their input ids, so that they are the same for any
// partitions. Of a smaller graph the sample is all.
type origins struct {
	given   []ID
	sample  int
	sampled bool // the number was given
}

// chosen are those given, or a sample of n.
func chosen(given []ID, n int) origins { return origins{given, n, n != 0} }

// maxOrigins bounds the list that is sorted and sent to choose a sample.
const maxOrigins = 1 << 16

// check refuses numbers that make no sense.
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

// checkSources refuses sources that are too many, or not all different.
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

// count returns how many searches there are in a graph of so many vertices.
func (o origins) count(vertices uint64) int {
	if len(o.given) > 0 {
		return len(o.given)
	}
	return int(min(uint64(o.sample), vertices))
}

var (
	// search is in which of the searches to come the one that starts at the vertex is, from 1; less
	// if it has been, or there is none.
	search = pregel.NewVertexColumn[int]("search").Private()
	left   = pregel.MaxOf("left", 0).Persistent().Unreported() // how many searches are to come

	leastHashes = pregel.NewAggregator("least hashes", nil, func(a, b []uint64) []uint64 { return append(slices.Clip(a), b...) }).Unreported()
)

// estimated is in the reports of programs that search from some vertices to find something of all.
var estimated = pregel.AnyOf("estimated").Persistent()

// tellEstimates logs and reports that a run's values are estimates, unless its searches start at
// all vertices.
func (o origins) tellEstimates(c *pregel.Coordinator) {
	if n := uint64(o.count(c.NumVertices)); n < c.NumVertices && c.Superstep == 0 {
		estimated.Replace(c, true)
		c.Logf("the values are estimates: paths from %d of %d vertices", n, c.NumVertices)
	}
}

// noneLeft says that all searches have been.
func noneLeft(r *plan.Round) bool { return left.Value(r) <= 0 }

// Combiner is there for form: there are no messages.
func (origins) Combiner() pregel.Combiner[bool] { return combiners.Or() }

func (origins) Traits() traits {
	return traits{Aggregators: aggregates{leastHashes}, Columns: columns{search}}
}

// Coordinate keeps of the partitions' least hashes the least.
func (o origins) Coordinate(c *pregel.Coordinator) {
	if c.Superstep == 1 {
		all := slices.Sorted(slices.Values(leastHashes.Value(c)))
		leastHashes.Replace(c, all[:min(len(all), o.sample)])
	}
}

// Compute numbers the vertices to start from, samples in superstep 1 by their hashes' order.
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

// insert adds a number to a rising list of the least.
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
