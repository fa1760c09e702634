package graph

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/bits"
	"regexp"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/names"
	"github.com/superstep-go/superstep/pregel"
)

// VertexSet is a set of vertices of the graph with the same Numbering.
type VertexSet interface {
	Numbering() (fingerprint uint64, ids int)
	Len() int
	Contains(id pregel.VertexID) bool
}

// ReadSet reads the file of a vertex set. Package vertexset sets it when a program imports it.
var ReadSet func(ctx context.Context, path string) (VertexSet, error)

// SetPrefix begins vertices in a parameter that are those of a vertex set's file.
const SetPrefix = "set:"

var setName = regexp.MustCompile(`\.vset(\.(gz|zst|bz2|xz))?$`)

// IsSet reports whether a file of values is a vertex set, perhaps compressed, by its name.
func IsSet(path string) bool { return setName.MatchString(path) }

// OpenSet reads the file of a vertex set.
func OpenSet(ctx context.Context, path string) (VertexSet, error) {
	if ReadSet == nil {
		return nil, errors.New("this program cannot read vertex sets: import _ \"github.com/superstep-go/superstep/vertexset\"")
	}
	return ReadSet(ctx, path)
}

// Fingerprint returns a checksum of the partition's vertices: of their numbers, input ids and
// degrees. Removed vertices are left out.
func (p *Partition) Fingerprint(label func(id pregel.VertexID) uint64) (sum uint64) {
	for v := range uint32(p.Owned) {
		if p.Absent != nil && bitmap.Get(p.Absent, v) {
			continue
		}
		id := p.Global(v)
		x := uint64(id)*0x9e3779b97f4a7c15 ^ bits.RotateLeft64(label(id)*0xc2b2ae3d27d4eb4f, 31)
		x ^= (uint64(p.OutDegrees[v])<<32 | uint64(p.InDegrees[v])) * 0x165667b19e3779f9
		x = (x ^ x>>29) * 0xbf58476d1ce4e5b9
		sum += x ^ x>>32
	}
	return sum
}

// Numbering returns the fingerprint of the graph's vertices, with their names, and its number of
// ids. For a part of a graph they are those of the whole graph. They are 0 without the partitions
// of all processes.
func (g *Graph) Numbering() (fingerprint uint64, ids int) {
	if g.whole != nil {
		return g.whole.fingerprint, g.whole.n
	}
	for _, p := range g.Parts {
		if p == nil || p.graph == nil {
			return 0, 0
		}
		fingerprint += p.Fingerprint(g.Label)
	}
	if g.Names != nil {
		all := fnv.New64a()
		for c := g.Names.Cursor(0, uint64(g.Names.Len())); c.Next(); {
			_, _ = all.Write(append(c.Name(), 0))
		}
		fingerprint += all.Sum64()
	}
	return max(fingerprint, 1), g.N
}

// whole has the numbering of the graph of which another one is a part.
type whole struct {
	fingerprint uint64
	n           int
	ids         []uint32 // in the whole graph, by input vertex of the part
}

// Has returns an error if a set does not belong to the graph.
func (g *Graph) Has(set VertexSet) error {
	own, n := g.Numbering()
	switch other, of := set.Numbering(); {
	case other == 0:
		return errors.New("found a vertex set that belongs to no graph, expected one of this graph")
	case own == 0 || own != other || n != of:
		return fmt.Errorf("found a set of another graph, with %d vertices, expected one of %s: a set fits the graph it was made of, loaded with the same options", of, g.Name)
	}
	return nil
}

// Within returns the edges between the vertices of a set. The caller closes the result. If vertices
// have names, their input ids are the positions among the names that are left.
func (g *Graph) Within(ctx context.Context, set VertexSet) (*edges.Input, error) {
	in, err := g.inputOf(ctx, func(id pregel.VertexID) bool {
		return !g.Absent(id) && set.Contains(id)
	})
	if err != nil || g.Names == nil {
		return in, err
	}
	if last := in.Vertices - 1; last >= 0 && in.Labels.Of(uint64(last)) >= uint64(g.Names.Len()) {
		in.Close()
		return nil, fmt.Errorf("vertex %d has no name: it was added to a graph of names",
			in.Labels.Of(uint64(last)))
	}
	var left names.Builder
	for v := range uint64(in.Vertices) {
		if err := left.Add(g.Names.Append(nil, in.Labels.Of(v))); err != nil {
			in.Close()
			return nil, err
		}
	}
	in.Names, in.Labels = left.Dictionary(), edges.Labels{}
	return in, nil
}

// PartOf records that g was made from edges between vertices of all: vertex sets of all fit g, and
// new vertices of g get input ids that all does not have.
func (g *Graph) PartOf(all *Graph) {
	fingerprint, n := all.Numbering()
	w := &whole{fingerprint, n, make([]uint32, g.N)}
	for v := range w.ids {
		label := g.Labels.Of(uint64(v))
		if g.Names != nil {
			label, _ = all.Names.Find(g.Names.Name(label))
		}
		id, _ := all.Find(label)
		w.ids[v] = uint32(id)
	}
	g.whole = w
	if all.N > 0 {
		last := all.Labels.Of(uint64(all.N - 1))
		g.least = max(last, last+1)
	}
}

// Number returns the number in vertex sets of the vertex with an input id.
func (g *Graph) Number(label uint64) (pregel.VertexID, bool) {
	id, ok := g.Find(label)
	if v, _ := g.Labels.Find(label, g.N); ok && g.whole != nil {
		id = pregel.VertexID(g.whole.ids[v])
	}
	return id, ok
}

// Members returns the input ids of the vertices of a set, in ascending order. If g is a part of the
// set's graph, it returns those that g has.
func (g *Graph) Members(set VertexSet) ([]uint64, error) {
	if err := g.Has(set); err != nil {
		return nil, err
	}
	labels := make([]uint64, 0, min(set.Len(), g.N))
	for v, id := range g.IDs {
		number := id
		if g.whole != nil {
			number = g.whole.ids[v]
		}
		if set.Contains(pregel.VertexID(number)) && !g.Absent(pregel.VertexID(id)) {
			labels = append(labels, g.Labels.Of(uint64(v)))
		}
	}
	return labels, nil
}
