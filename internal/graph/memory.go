package graph

import (
	"fmt"
	"math"

	"github.com/superstep-go/superstep/internal/mem"
)

// LeastBytes returns a lower bound of the memory for building a graph, in addition to the list of
// tuples: the neighbours and weights of every arc, including duplicates; the maps between ids and
// input vertices, the degrees, and the starts of lists.
func LeastBytes(vertices uint64, tuples int, directed bool, o Options) int64 {
	arc := 4 + float64(WeightBytes(o.Weights))
	arcs, vertex := 2*float64(tuples), 8.0+12
	if directed {
		vertex += 12
	}
	if directed && o.Duplicates != KeepDuplicates {
		arcs = float64(tuples) // in the other direction, only arcs that are not duplicates
	}
	if !directed && o.Duplicates == KeepDuplicates && !o.Grid.Flat() {
		arcs *= 2 // by receiver and by sender
	}
	return int64(min(arc*arcs+vertex*float64(vertices), math.MaxInt64/4))
}

// LeastShare is LeastBytes for a process that has own of all partitions.
func LeastShare(own, all int, vertices uint64, tuples int, directed bool, o Options) int64 {
	mine := float64(own) / float64(max(all, 1))
	return LeastBytes(uint64(float64(vertices)*mine), int(float64(tuples)*mine), directed, o)
}

// little is the number of bytes below which Enough, without a budget, does not ask the system for
// its free memory, because that would take longer than building such a graph.
const little = 1 << 20

// Enough returns an error if need bytes are more than the available memory. If there is a budget,
// the error lists its use.
func Enough(what string, need float64) error {
	if need < little && mem.Process() == nil {
		return nil
	}
	free := mem.Room()
	if free <= 0 || need <= float64(free) {
		return nil
	}
	err := fmt.Errorf("%s needs %s of memory, %s are available", what, mem.Text(int64(need)),
		mem.RoomText(free))
	if b := mem.Process(); b != nil {
		err = fmt.Errorf("%w: %v", err, b.Use())
	}
	return err
}
