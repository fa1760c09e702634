package vertexset_test

import (
	"bytes"
	"errors"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/vertexset"
)

// numbered is a graph of vertices 0 to n-1, with the input id 10 more than the VertexID.
type numbered struct {
	fingerprint uint64
	n           int
}

func (g numbered) Numbering() (uint64, int) { return g.fingerprint, g.n }
func (g numbered) Vertex(id uint64) (pregel.VertexID, bool) {
	return pregel.VertexID(id - 10), id >= 10 && id-10 < uint64(g.n)
}

func (g numbered) Named(name string) (pregel.VertexID, bool) {
	i := strings.IndexByte("abcdefghij", (name + " ")[0])
	return pregel.VertexID(i), i >= 0 && i < g.n
}

// random returns a set and its twin: of sparse, dense and consecutive vertices.
func random(t testing.TB, rng *rand.Rand, g numbered) (vertexset.Set, map[pregel.VertexID]bool) {
	twin := map[pregel.VertexID]bool{}
	for range rng.IntN(4) {
		from, n := rng.IntN(g.n), rng.IntN(g.n)
		switch rng.IntN(3) {
		case 0:
			for range rng.IntN(200) {
				twin[pregel.VertexID(rng.IntN(g.n))] = true
			}
		case 1:
			for v := from; v < min(from+n, g.n); v++ {
				twin[pregel.VertexID(v)] = true
			}
		default:
			for v := from; v < min(from+n, g.n); v += 1 + rng.IntN(4) {
				twin[pregel.VertexID(v)] = true
			}
		}
	}
	s, err := vertexset.Of(g, maps.Keys(twin))
	if err != nil {
		t.Fatal(err)
	}
	return s, twin
}

func same(t *testing.T, what string, s vertexset.Set, twin map[pregel.VertexID]bool) {
	t.Helper()
	got := slices.Collect(s.All())
	want := slices.Sorted(maps.Keys(twin))
	if !slices.Equal(got, want) || s.Len() != len(want) {
		t.Fatalf("%s: %d vertices, expected %d", what, s.Len(), len(want))
	}
}

// TestOperations compares sets with maps, before and after encoding.
func TestOperations(t *testing.T) {
	for seed := range uint64(16) {
		rng := rand.New(rand.NewPCG(seed, 1))
		g := numbered{77, 1 + rng.IntN(200_000)}
		a, inA := random(t, rng, g)
		b, inB := random(t, rng, g)
		if seed%2 == 1 {
			a, b = decoded(t, a), decoded(t, b)
		}
		for name, op := range map[string]struct {
			do   func(a, b vertexset.Set) (vertexset.Set, error)
			keep func(a, b bool) bool
		}{
			"union":     {vertexset.Set.Union, func(a, b bool) bool { return a || b }},
			"intersect": {vertexset.Set.Intersect, func(a, b bool) bool { return a && b }},
			"minus":     {vertexset.Set.Minus, func(a, b bool) bool { return a && !b }},
		} {
			s, err := op.do(a, b)
			if err != nil {
				t.Fatal(err)
			}
			twin := map[pregel.VertexID]bool{}
			for v := range pregel.VertexID(g.n) {
				if op.keep(inA[v], inB[v]) {
					twin[v] = true
				}
				if s.Contains(v) != twin[v] {
					t.Fatalf("seed %d: %s: vertex %d", seed, name, v)
				}
			}
			same(t, name, s, twin)
			again := decoded(t, s)
			if !again.Equal(s) {
				t.Fatalf("seed %d: %s: decoding changes the set", seed, name)
			}
		}
		same(t, "a", a, inA)
		same(t, "b", b, inB)
	}
}

func decoded(t testing.TB, s vertexset.Set) (again vertexset.Set) {
	t.Helper()
	data, err := s.MarshalBinary()
	if err == nil {
		err = again.UnmarshalBinary(data)
	}
	if err != nil {
		t.Fatal(err)
	}
	if other, _ := again.MarshalBinary(); !bytes.Equal(data, other) {
		t.Fatal("equal sets have other bytes")
	}
	return again
}

// TestOtherGraphs: sets of different graphs are not combined, sets of no graph with any.
func TestOtherGraphs(t *testing.T) {
	a, _ := vertexset.Of(numbered{1, 9}, slices.Values([]pregel.VertexID{1}))
	b, _ := vertexset.Of(numbered{2, 9}, slices.Values([]pregel.VertexID{2}))
	if _, err := a.Union(b); !errors.Is(err, vertexset.ErrOther) {
		t.Error(err)
	}
	if _, err := a.Bind(numbered{2, 9}); !errors.Is(err, vertexset.ErrOther) {
		t.Error(err)
	}
	if s, err := vertexset.Single(8).Union(a); err != nil || s.Len() != 2 {
		t.Error(s, err)
	} else if print, n := s.Numbering(); print != 1 || n != 9 {
		t.Error(print, n)
	}
	for _, g := range []numbered{{1, 8}, {0, 0}} {
		if _, err := vertexset.Single(8).Bind(g); err == nil {
			t.Errorf("bound to %v", g)
		}
	}
	if _, err := vertexset.Of(numbered{1, 9}, slices.Values([]pregel.VertexID{1 << 33})); err == nil {
		t.Error("a VertexID of 34 bits")
	}
	if _, err := a.Bind(numbered{1, 10}); !errors.Is(err, vertexset.ErrOther) {
		t.Error("bound to the same fingerprint with more ids: ", err)
	}
	far := vertexset.Single(9)
	for _, pair := range [][2]vertexset.Set{{a, far}, {far, a}} {
		if s, err := pair[0].Union(pair[1]); err == nil {
			t.Error("a vertex outside the graph: ", s)
		}
	}
	if s, err := a.Intersect(far); err != nil || s.Len() != 0 {
		t.Error(s, err)
	}
	if err := vertexset.Single(1).WriteFile(t.Context(),
		filepath.Join(t.TempDir(), "x")); err == nil {
		t.Error("a set of no graph in a file")
	}
}

// TestNoVertex: pregel.None and larger numbers are no vertices.
func TestNoVertex(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a set of pregel.None")
		}
	}()
	vertexset.Single(pregel.None)
}

// TestLists: lists of ids and names, as results have them.
func TestLists(t *testing.T) {
	g := numbered{5, 9}
	s, err := vertexset.ReadList(strings.NewReader("12 0.5\r\n\n10\n  13 x\n"), g, false)
	if err != nil || !slices.Equal(slices.Collect(s.All()), []pregel.VertexID{0, 2, 3}) {
		t.Error(s, err)
	}
	s, err = vertexset.ReadList(strings.NewReader("a\t0.5\nc\n\"b\"\t1\n"), g, true)
	if err != nil || !slices.Equal(slices.Collect(s.All()), []pregel.VertexID{0, 1, 2}) {
		t.Error(s, err)
	}
	for text, want := range map[string]string{
		"12\n9\n":                           `line 2: found "9", expected the id of a vertex of the graph`,
		"12\n\nx y\n":                       `line 3: found "x", expected the id of a vertex of the graph`,
		"12\n" + strings.Repeat("1", 1<<21): "line 2: found more than 1048576 bytes, expected a vertex",
	} {
		if _, err := vertexset.ReadList(strings.NewReader(text), g, false); err == nil ||
			err.Error() != want {
			t.Errorf("found %v, expected %s", err, want)
		}
	}
	if _, err := vertexset.ReadList(strings.NewReader("a\nz\n"), g, true); err == nil ||
		err.Error() != `line 2: found "z", expected the name of a vertex of the graph` {
		t.Error(err)
	}
}

// TestWithin compares the part of a graph with a graph of the same edges.
func TestWithin(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 2))
		n := 1 + rng.Uint64N(60)
		var list []superstep.Edge
		for range rng.IntN(300) {
			list = append(list, superstep.Edge{
				From: 3 * rng.Uint64N(n), To: 3 * rng.Uint64N(n), Weight: 1 + rng.Float64(),
			})
		}
		o := superstep.LoadOptions{
			Undirected: seed%2 == 0, Partitions: 1 + int(seed%3),
			SelfLoops: superstep.SelfLoops(seed / 2 % 2), Vertices: []uint64{1, 4},
		}
		if seed%5 == 0 {
			o.Duplicates = superstep.MinDuplicates
		}
		g := must(superstep.FromEdges(t.Context(), list, o))(t)
		chosen := map[uint64]bool{}
		s := must(vertexset.Of(g, func(yield func(pregel.VertexID) bool) {
			for v := range pregel.VertexID(g.NumVertices()) {
				if rng.IntN(3) > 0 {
					chosen[g.Label(v)] = true
					yield(v)
				}
			}
		}))(t)
		part := must(g.Within(t.Context(), s))(t)
		o.Vertices = slices.Collect(maps.Keys(chosen))
		twin := must(superstep.FromEdges(t.Context(), slices.DeleteFunc(list,
			func(e superstep.Edge) bool { return !chosen[e.From] || !chosen[e.To] }), o))(t)
		if a, b := edgesOf(t, part), edgesOf(t, twin); !maps.Equal(a, b) ||
			part.NumEdges() != twin.NumEdges() {
			t.Fatalf("seed %d: %d of %d edges: %v, expected %v", seed, part.NumEdges(),
				twin.NumEdges(), a, b)
		}
		if _, err := part.Within(t.Context(), s); err == nil && g.NumVertices() != part.NumVertices() {
			t.Error("a set of the whole fits the part")
		}
		part.Close()
		twin.Close()
		g.Close()
	}
}

func must[T any](x T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
}

// sums adds, for each vertex, the input ids and weights of its out-edges.
type sums struct{ g *superstep.Graph }

func (sums) Combiner() pregel.Combiner[vertexset.Set] { return vertexset.Union() }
func (p sums) Compute(v *pregel.Vertex[[3]float64, vertexset.Set], _ vertexset.Set) {
	x := [3]float64{float64(v.OutDegree())}
	for e := range v.Edges() {
		x[1] += float64(p.g.Label(e.To) + 1)
		x[2] += e.Weight
	}
	v.Set(x)
	v.VoteToHalt()
}

func edgesOf(t *testing.T, g *superstep.Graph) map[uint64][3]float64 {
	t.Helper()
	res := must(superstep.Run(t.Context(), g, sums{g}))(t)
	all := map[uint64][3]float64{}
	for label, x := range res.All() {
		x[2] = float64(int(x[2]*1e6+0.5)) / 1e6
		all[label] = x
	}
	return all
}
