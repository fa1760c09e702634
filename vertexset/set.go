// Package vertexset has sets of vertices as Roaring bitmaps. A set belongs to one graph: it has the
// fingerprint of the graph's numbering of vertices, and is refused with any other graph.
//
//	Of, ReadList, superstep run --select --save-set --> Set --> Union, Intersect, Minus
//	Set --WriteFile--> file --ReadFile--> Set --> Graph.Within; sources, columns
//
// A program that imports the package fills columns from files of sets, too (superstep.FromFile with
// FILE.vset). [Union] and [UnionOf] combine messages that are sets.
//
// Read set.go first, then file.go, which has the format of files.
package vertexset

import (
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/superstep-go/superstep/pregel"
)

// Graph is a graph with numbered vertices, such as *superstep.Graph.
type Graph interface {
	// Numbering returns the fingerprint of the graph's numbering, and a bound of its VertexIDs.
	// Both are 0 if the graph is closed.
	Numbering() (fingerprint uint64, ids int)
	// Vertex and Named find a vertex by its input id or by its name.
	Vertex(id uint64) (pregel.VertexID, bool)
	Named(name string) (pregel.VertexID, bool)
}

// Set is a set of vertices. It never changes, so it may be shared and sent. The zero Set is empty
// and belongs to no graph, like the sets that [Single] makes: a program that runs on one graph may
// combine them. [Set.Bind] binds them to a graph.
type Set struct {
	bits        *roaring.Bitmap // nil if the set is empty
	fingerprint uint64          // of the numbering; 0 means none
	ids         uint64          // all VertexIDs are below it; 0 if there is no fingerprint
}

var (
	// ErrOther is the error for sets of different graphs.
	ErrOther = errors.New("the vertex sets belong to different graphs, or to different numberings of one graph")

	errElsewhere = errors.New("a vertex set needs the numbering of its graph, but the graph is closed, or its cluster does not know it")
)

// Of makes a set of vertices of a graph. It returns an error if a VertexID is not one of the
// graph's.
func Of(g Graph, vertices iter.Seq[pregel.VertexID]) (Set, error) {
	s := Set{bits: roaring.New()}
	var wrong error
	vertices(func(v pregel.VertexID) bool {
		if v > math.MaxUint32 {
			wrong = fmt.Errorf("vertex %v: expected a vertex of the graph", v)
			return false
		}
		s.bits.Add(uint32(v))
		return true
	})
	if wrong != nil {
		return Set{}, wrong
	}
	s.bits.RunOptimize()
	return s.Bind(g)
}

// Single makes a set of one vertex, which belongs to no graph. It panics if v cannot be a vertex,
// such as [pregel.None].
func Single(v pregel.VertexID) Set {
	if v > math.MaxUint32 {
		panic(fmt.Sprintf("vertexset: Single(%d): expected a vertex", v))
	}
	return Set{bits: roaring.BitmapOf(uint32(v))}
}

// Bind returns the set bound to a graph. It returns ErrOther if the set belongs to another one.
func (s Set) Bind(g Graph) (Set, error) {
	fingerprint, ids := g.Numbering()
	switch {
	case fingerprint == 0:
		return Set{}, errElsewhere
	case s.fingerprint != 0 && (s.fingerprint != fingerprint || s.ids != uint64(ids)):
		return Set{}, ErrOther
	}
	return Set{s.bits, fingerprint, uint64(ids)}.within()
}

// within returns the set, or an error if it belongs to a graph and has a vertex that is not there.
func (s Set) within() (Set, error) {
	if s.fingerprint != 0 && s.Len() > 0 && uint64(s.bits.Maximum()) >= s.ids {
		return Set{}, fmt.Errorf("vertex %d: the graph has %d", s.bits.Maximum(), s.ids)
	}
	return s, nil
}

// Numbering returns the fingerprint of the numbering that the set is bound to, and its number of
// ids. Both are 0 if the set belongs to no graph.
func (s Set) Numbering() (fingerprint uint64, ids int) { return s.fingerprint, int(s.ids) }

// Len returns the number of vertices.
func (s Set) Len() int {
	if s.bits == nil {
		return 0
	}
	return int(s.bits.GetCardinality())
}

// Contains reports whether a vertex is in the set.
func (s Set) Contains(v pregel.VertexID) bool {
	return s.bits != nil && v <= math.MaxUint32 && s.bits.Contains(uint32(v))
}

// All yields the vertices by rising VertexID.
func (s Set) All() iter.Seq[pregel.VertexID] {
	return func(yield func(pregel.VertexID) bool) {
		if s.bits != nil {
			s.bits.Iterate(func(v uint32) bool { return yield(pregel.VertexID(v)) })
		}
	}
}

// Union returns the vertices that are in either set.
func (s Set) Union(o Set) (Set, error) { return s.with(o, roaring.Or) }

// Intersect returns the vertices that are in both sets.
func (s Set) Intersect(o Set) (Set, error) { return s.with(o, roaring.And) }

// Minus returns the vertices that are in s and not in o.
func (s Set) Minus(o Set) (Set, error) { return s.with(o, roaring.AndNot) }

// with combines two sets of one graph. A set of no graph takes the graph of the other.
func (s Set) with(o Set, combine func(a, b *roaring.Bitmap) *roaring.Bitmap) (Set, error) {
	switch {
	case s.fingerprint == 0:
		s.fingerprint, s.ids = o.fingerprint, o.ids
	case o.fingerprint != 0 && (s.fingerprint != o.fingerprint || s.ids != o.ids):
		return Set{}, ErrOther
	}
	s.bits = combine(s.content(), o.content())
	return s.within()
}

// Equal reports whether two sets have the same vertices and belong to the same graph.
func (s Set) Equal(o Set) bool {
	return s.fingerprint == o.fingerprint && s.ids == o.ids && s.content().Equals(o.content())
}

// String describes the set for people.
func (s Set) String() string { return fmt.Sprintf("a set of %d vertices", s.Len()) }

func (s Set) content() *roaring.Bitmap {
	if s.bits == nil {
		return roaring.New()
	}
	return s.bits
}
