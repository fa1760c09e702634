package graph

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"iter"
	"math/bits"
	"regexp"
	"slices"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/names"
	"github.com/superstep-go/superstep/pregel"
)

// VertexSet is a set of vertices of the graph with the same Numbering.
type VertexSet interface {
	Numbering() (fingerprint uint64, ids int)
	Len() int
	Contains(id pregel.VertexID) bool
}

// ReadSet reads the file of a vertex set. SetHeader returns a set without its vertices from the first
// HeaderOfSet bytes or more of the set, and its size in bytes. DecodeSet returns a set, and takes over
// its bytes. Package vertexset sets these functions when a program imports it.
var (
	ReadSet   func(ctx context.Context, path string) (VertexSet, error)
	SetHeader func(data []byte) (of VertexSet, size int, err error)
	DecodeSet func(data []byte) (VertexSet, error)
)

// HeaderOfSet is the number of bytes before the vertices of a set.
const HeaderOfSet = 48

// errUnread is the error for vertex sets in a program that does not import package vertexset.
var errUnread = errors.New("this program cannot read vertex sets: import _ \"github.com/superstep-go/superstep/vertexset\"")

// SetPrefix begins vertices in a parameter that are those of a vertex set's file.
const SetPrefix = "set:"

var setName = regexp.MustCompile(`\.vset(\.(gz|zst|bz2|xz))?$`)

// IsSet reports whether a file of values is a vertex set, perhaps compressed, by its name.
func IsSet(path string) bool { return setName.MatchString(path) }

// OpenSet reads the file of a vertex set.
func OpenSet(ctx context.Context, path string) (VertexSet, error) {
	if ReadSet == nil {
		return nil, errUnread
	}
	return ReadSet(ctx, path)
}

// CopySet reads the file of a vertex set, writes the set for a SetReceiver, and returns its size.
func CopySet(ctx context.Context, w io.Writer, path string) (vertices int, err error) {
	set, err := OpenSet(ctx, path)
	if err != nil {
		return 0, err
	}
	_, err = set.(io.WriterTo).WriteTo(w)
	return set.Len(), err
}

// SetReceiver collects the bytes of a vertex set of a graph, which CopySet has written.
type SetReceiver struct {
	Graph *Graph
	data  []byte
	size  int // of the set; 0 until its header is known
}

// Take appends bytes. It refuses the set of another graph before it allocates memory for the set. It
// panics with a *mem.Exhausted if there is no memory for it.
func (r *SetReceiver) Take(some []byte) error {
	if SetHeader == nil {
		return errUnread
	}
	if r.size > 0 && len(r.data)+len(some) > r.size {
		return fmt.Errorf("found more than the %d bytes of the vertex set", r.size)
	}
	r.data = append(r.data, some...)
	if r.size > 0 || len(r.data) < HeaderOfSet {
		return nil
	}
	of, size, err := SetHeader(r.data)
	if err == nil {
		err = r.Graph.Has(of)
	}
	if err != nil {
		return err
	}
	had := r.data
	mem.Ask("vertex sets", int64(size))
	r.size, r.data = size, make([]byte, 0, size)
	return r.Take(had)
}

// Set returns the set. The receiver must not be used afterwards.
func (r *SetReceiver) Set() (VertexSet, error) {
	if DecodeSet == nil {
		return nil, errUnread
	}
	return DecodeSet(r.data)
}

// Fewer is a line about a set of which a part of the graph has fewer vertices.
func Fewer(file string, n, of int) string {
	return fmt.Sprintf("%s: %d of %d vertices", file, n, of)
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
	}
	fingerprint = g.FingerprintHere()
	if g.Names != nil {
		all := fnv.New64a()
		for c := g.Names.Cursor(0, uint64(g.Names.Len())); c.Next(); {
			_, _ = all.Write(append(c.Name(), 0))
		}
		fingerprint += all.Sum64()
	}
	return max(fingerprint, 1), g.N
}

// FingerprintHere returns the share of the fingerprint, without names, of the partitions in this
// process.
func (g *Graph) FingerprintHere() (sum uint64) {
	for p := range g.here() {
		sum += p.Fingerprint(g.Label)
	}
	return sum
}

// whole has the numbering that a graph's vertex sets belong to, if the graph is a part of another
// one, or has partitions in other processes.
type whole struct {
	fingerprint uint64
	n           int
	// numbers has the numbers in the whole graph of a part's vertices, by partition and local
	// vertex. It is nil if the graph is no part.
	numbers [][]uint32
}

// Numbered records the fingerprint that all processes with partitions of the graph have computed.
func (g *Graph) Numbered(fingerprint uint64) { g.whole = &whole{fingerprint: fingerprint, n: g.N} }

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
		return !g.Absent(id) && set.Contains(g.SetNumber(id))
	})
	if err != nil || g.Names == nil {
		return in, err
	}
	if last := in.Vertices - 1; last >= 0 && in.Labels.Of(uint64(last)) >= uint64(g.Names.Len()) {
		defer in.Close()
		return nil, Unnamed(in.Labels.Of(uint64(last)))
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

// Unnamed is the error for a vertex without a name in a graph with names.
func Unnamed(label uint64) error {
	return fmt.Errorf("vertex %d has no name: it was added to a graph of names", label)
}

// PartOf records that g was made from edges between vertices of all: vertex sets of all fit g, and
// new vertices of g get input ids that all does not have.
func (g *Graph) PartOf(all *Graph) {
	last := uint64(0)
	if all.N > 0 {
		last = all.Labels.Of(uint64(all.N - 1))
	}
	g.PartHere(all, last, func(label uint64) pregel.VertexID {
		if g.Names != nil {
			label, _ = all.Names.Find(g.Names.Name(label))
		}
		id, _ := all.Find(label)
		return all.SetNumber(id)
	})
}

// PartHere is PartOf for the partitions in this process. last is the largest input id of all, and
// number returns the number in sets of all of the vertex with an input id of g.
func (g *Graph) PartHere(all *Graph, last uint64, number func(label uint64) pregel.VertexID) {
	w := &whole{numbers: make([][]uint32, len(g.Parts))}
	w.fingerprint, w.n = all.Numbering()
	for p := range g.here() {
		numbers := make([]uint32, p.Owned)
		for v := range numbers {
			numbers[v] = uint32(number(g.Label(p.Global(uint32(v)))))
		}
		w.numbers[p.Index] = numbers
	}
	g.whole = w
	if all.N > 0 {
		g.least = max(last, last+1)
	}
}

// SetNumber returns the number in vertex sets of a loaded vertex of a partition in this process.
func (g *Graph) SetNumber(id pregel.VertexID) pregel.VertexID {
	if g.whole == nil || g.whole.numbers == nil {
		return id
	}
	q, local := g.Deal.Of(uint32(id))
	return pregel.VertexID(g.whole.numbers[q][local])
}

// Number returns the number in vertex sets of the vertex with an input id.
func (g *Graph) Number(label uint64) (pregel.VertexID, bool) {
	id, ok := g.Find(label)
	if ok {
		id = g.SetNumber(id)
	}
	return id, ok
}

// InSet yields the vertices of the partitions in this process that are in a set of the graph.
func (g *Graph) InSet(set VertexSet) iter.Seq[pregel.VertexID] {
	return func(yield func(pregel.VertexID) bool) {
		for p := range g.here() {
			for v := range uint32(p.Owned) {
				id := p.Global(v)
				if set.Contains(g.SetNumber(id)) && !g.Absent(id) && !yield(id) {
					return
				}
			}
		}
	}
}

// Members returns the input ids of the vertices of a set, in ascending order. If g is a part of the
// set's graph, it returns those that g has, and of partitions in this process only.
func (g *Graph) Members(set VertexSet) ([]uint64, error) {
	if err := g.Has(set); err != nil {
		return nil, err
	}
	var labels []uint64
	for id := range g.InSet(set) {
		labels = append(labels, g.Label(id))
	}
	slices.Sort(labels)
	return labels, nil
}

// EdgesWithin returns the edges of the partitions in this process between vertices of a set, which
// must belong to the graph. Their ends are positions in ids, which ascend. The caller closes the
// list.
func (g *Graph) EdgesWithin(
	ctx context.Context, set VertexSet,
) (list *edges.Packed, ids []pregel.VertexID, err error) {
	has, ends := make([]uint64, bitmap.Words(g.N)), make([]uint64, bitmap.Words(g.N))
	for v := range uint32(g.N) {
		if set.Contains(pregel.VertexID(v)) {
			bitmap.Set(has, v)
		}
	}
	n := 0
	each := func(f func(u, v uint32, w float64)) error {
		return g.eachEdge(ctx, func(u, v uint32, w float64) {
			if bitmap.Get(has, u) && bitmap.Get(has, v) {
				f(u, v, w)
			}
		})
	}
	if err := each(func(u, v uint32, _ float64) {
		bitmap.Set(ends, u)
		bitmap.Set(ends, v)
		n++
	}); err != nil {
		return nil, nil, err
	}
	before := make([]uint32, len(ends)) // positions of the first id of each word
	for i, word := range ends {
		for before[i] = uint32(len(ids)); word != 0; word &= word - 1 {
			ids = append(ids, pregel.VertexID(i<<6+bits.TrailingZeros64(word)))
		}
	}
	at := func(v uint32) uint32 {
		return before[v>>6] + uint32(bits.OnesCount64(ends[v>>6]&(1<<(v&63)-1)))
	}
	list, err = pack(len(ids), n, g.Weights, func(f func(u, v uint32, w float64)) error {
		return each(func(u, v uint32, w float64) { f(at(u), at(v), w) })
	})
	return list, ids, err
}
