package build

import (
	"context"
	"slices"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/pregel"
)

// Directory finds vertices by their input ids, and input ids of vertices, on all ranks. A rank has
// the ids for the directory entries that it owns, and the input ids for the vertices of its
// partitions. It asks other ranks for the rest.
type Directory struct {
	rank   int
	graph  *graph.Graph
	ranks  []int // by partition
	ranges *ranges
	first  uint64       // input id of place 0 of all places, if ids are dense
	labels *edges.Index // of the range, if ids are not dense
	ids    []uint32
	arena  *mem.Arena
	// Names has the names of the graph's vertices, if it has any.
	Names *Names
}

func (b *builder) directory() *Directory {
	d := &Directory{
		rank: b.rank, graph: b.g, ranks: b.owner, ranges: b.ranges, labels: b.labels,
		ids: b.ids, arena: b.kept, Names: b.names,
	}
	d.first, _ = b.in.Labels.First()
	return d
}

// Bytes returns the bytes of the directory's arrays.
func (d *Directory) Bytes() int64 { return d.arena.Bytes() + d.Names.Bytes() }

// Close frees the directory.
func (d *Directory) Close() {
	d.ids, d.labels = nil, nil
	d.arena.Close()
}

// Share returns this rank's range of the vertices, in ascending order of input ids, and the rank.
// The ranges of the ranks follow one another. labels is nil if the input ids are consecutive
// numbers from first on.
func (d *Directory) Share() (rank int, ids []uint32, labels []uint64, first uint64) {
	if d.labels != nil {
		return d.rank, d.ids, d.labels.IDs(), 0
	}
	first = d.first + d.ranges.starts[d.rank]
	if !slices.Contains(d.ids, noID) {
		return d.rank, d.ids, nil, first
	}
	labels = []uint64{}
	for place, id := range d.ids {
		if id != noID {
			ids, labels = append(ids, id), append(labels, first+uint64(place))
		}
	}
	return d.rank, ids, labels, 0
}

// Local returns the vertex with an input id, if this rank owns its entry. Exactly one rank owns the
// entry of each input id.
func (d *Directory) Local(label uint64) (pregel.VertexID, bool) {
	if d.owner(label) != d.rank {
		return pregel.None, false
	}
	place := label - d.first - d.ranges.starts[d.rank]
	if d.labels != nil {
		at, ok := d.labels.Find(label)
		if !ok {
			return pregel.None, false
		}
		place = at
	}
	if place >= uint64(len(d.ids)) || d.ids[place] == noID {
		return pregel.None, false
	}
	return pregel.VertexID(d.ids[place]), true
}

// owner returns the rank that owns an input id's entry, or -1 if there is none.
func (d *Directory) owner(label uint64) int {
	if label < d.first || label-d.first >= d.ranges.end {
		return -1
	}
	return d.ranges.of(label - d.first)
}

// Labels returns the input ids of vertices, or all ones for an id that is not a vertex. It is a
// collective of the ranks that built the graph. Each rank calls it with its own vertices, as many
// as fit into messages.
func (d *Directory) Labels(
	ctx context.Context, group *collective.Group, call collective.Call, ids []pregel.VertexID,
) ([]uint64, error) {
	n := pregel.VertexID(d.graph.N)
	of := func(id pregel.VertexID) int {
		if id >= n {
			return -1
		}
		q, _ := d.graph.Deal.Of(uint32(id))
		return d.ranks[q]
	}
	return askNumbers(ctx, group, call, ids, of, d.graph.Label)
}
