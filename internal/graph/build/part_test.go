package build

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/names"
	"github.com/superstep-go/superstep/pregel"
)

// someSet is a set of vertices of a graph with a numbering.
type someSet struct {
	has         []bool
	fingerprint uint64
}

func (s someSet) Numbering() (uint64, int)        { return s.fingerprint, len(s.has) }
func (s someSet) Contains(v pregel.VertexID) bool { return s.has[v] }
func (s someSet) Len() (n int) {
	for _, has := range s.has {
		if has {
			n++
		}
	}
	return n
}

// nameVertices gives the vertices of a problem with numbers from 0 on names, and each rank those of
// a range.
func nameVertices(t *testing.T, rng *rand.Rand, p *problem) {
	var all names.Builder
	for v := range p.whole.Vertices {
		if err := all.Add(fmt.Appendf(nil, "%05d%s", v, strings.Repeat("x", rng.IntN(9)))); err != nil {
			t.Fatal(err)
		}
	}
	p.whole.Names = all.Dictionary()
	cuts := []int{0, p.whole.Vertices}
	for range len(p.shares) - 1 {
		cuts = append(cuts, rng.IntN(p.whole.Vertices+1))
	}
	slices.Sort(cuts)
	for rank, s := range p.shares {
		s.Names = p.whole.Names.Part(uint64(cuts[rank]), uint64(cuts[rank+1]))
	}
}

// TestPartTwin: the numbering of a graph on several ranks, and its part within a set, are those that
// one rank makes of the whole graph.
func TestPartTwin(t *testing.T) {
	for seed := range rounds(300, 100, 50) {
		rng := rand.New(rand.NewPCG(seed, 78))
		ranks := 1 + rng.IntN(5)
		p := newProblem(rng, ranks)
		if first, ok := p.whole.Labels.First(); ok && first == 0 && p.whole.Vertices > 0 {
			nameVertices(t, rng, p)
		}
		owner := make([]int, ranks*(1+rng.IntN(2)))
		for i := range owner {
			owner[i] = i % ranks
		}
		grid := graph.Of(len(owner))
		if rng.IntN(2) == 0 {
			grid = graph.Squarest(len(owner))
		}
		o := graph.Options{
			Partitions: len(owner), Grid: grid, Duplicates: graph.Duplicates(rng.IntN(4)),
			DropLoops: rng.IntN(2) == 0, Weights: edges.Weights(rng.IntN(3)),
			Deal: []string{"", "64:", "64:1,40"}[seed%3],
		}
		text := fmt.Sprintf("seed %d, %d ranks, %s, %+v", seed, ranks, p.text, o)
		whole, err := Local(t.Context(), p.whole, o)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		set := someSet{has: make([]bool, whole.N)}
		set.fingerprint, _ = whole.Numbering()
		of := rng.IntN(4)
		for v := range set.has {
			set.has[v] = of > 0 && rng.IntN(of) == 0
		}
		part := partOf(t, whole, set, o)
		comparePartOfPart(t, rng, text, whole, part, set, o)
		got := buildOver(t, t.Context(), p.shares, owner, func(int) graph.Options { return o })
		parts := make([]built, ranks)
		everywhere(t, ranks, func(rank int, group *collective.Group) {
			b := &parts[rank]
			if b.err = got[rank].err; b.err == nil {
				b.err = got[rank].d.Number(t.Context(), group, 20)
			}
			if b.err == nil {
				b.g, b.d, b.err = got[rank].d.Part(t.Context(), group, 30, set, o)
			}
		})
		for rank, b := range parts {
			if b.err != nil {
				t.Fatalf("%s: rank %d: %v", text, rank, b.err)
			}
			if err := compareShare(rank, b.g, part, owner); err != nil {
				t.Fatalf("%s: rank %d: %v", text, rank, err)
			}
			if err := compareNumbers(b.g, part); err != nil {
				t.Fatalf("%s: rank %d: %v", text, rank, err)
			}
		}
		if err := compareDirectory(t, rng, parts, part); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if part.Names != nil {
			if err := compareNames(t, rng, parts, part.Names); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
		closeAll(parts)
		closeAll(got)
		part.Close()
		whole.Close()
	}
}

// comparePartOfPart compares the part of a part within a set of the whole graph with the part of the
// whole graph within both sets.
func comparePartOfPart(
	t *testing.T, rng *rand.Rand, text string, whole, part *graph.Graph, set someSet,
	o graph.Options,
) {
	other := someSet{has: make([]bool, whole.N), fingerprint: set.fingerprint}
	both := someSet{has: make([]bool, whole.N), fingerprint: set.fingerprint}
	for v := range other.has {
		other.has[v] = rng.IntN(2) == 0
		both.has[v] = other.has[v] && set.has[v]
	}
	got, want := partOf(t, part, other, o), partOf(t, whole, both, o)
	defer got.Close()
	defer want.Close()
	err := compareShare(0, got, want, make([]int, len(want.Parts)))
	if err == nil {
		err = compareNumbers(got, want)
	}
	if err != nil {
		t.Fatalf("%s: a part of the part: %v", text, err)
	}
}

// partOf makes the part of a graph on one rank.
func partOf(t *testing.T, whole *graph.Graph, set someSet, o graph.Options) *graph.Graph {
	in, err := whole.Within(t.Context(), set)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	o.Weights = whole.Weights
	part, err := Local(t.Context(), in, o)
	if err != nil {
		t.Fatal(err)
	}
	part.PartOf(whole)
	return part
}

// compareNumbers compares the numbers in vertex sets of a rank's vertices with those of the whole
// part.
func compareNumbers(g, want *graph.Graph) error {
	got, n := g.Numbering()
	if other, of := want.Numbering(); got != other || n != of {
		return fmt.Errorf("numbering %x of %d, want %x of %d", got, n, other, of)
	}
	for _, p := range g.Parts {
		for v := 0; p != nil && v < p.Owned; v++ {
			id := p.Global(uint32(v))
			if got, number := g.SetNumber(id), want.SetNumber(id); got != number {
				return fmt.Errorf("vertex %d has number %d, want %d", id, got, number)
			}
		}
	}
	return nil
}

// TestPartWithoutNames: all ranks refuse a part with a vertex that has no name.
func TestPartWithoutNames(t *testing.T) {
	const ranks = 3
	p := newProblem(rand.New(rand.NewPCG(3, 3)), ranks)
	for seed := uint64(4); ; seed++ {
		first, ok := p.whole.Labels.First()
		if ok && first == 0 && p.whole.Vertices > 9 {
			break
		}
		p = newProblem(rand.New(rand.NewPCG(seed, 3)), ranks)
	}
	nameVertices(t, rand.New(rand.NewPCG(3, 3)), p)
	owner := []int{0, 1, 2}
	o := graph.Options{Partitions: ranks, Grid: graph.Of(ranks)}
	got := buildOver(t, t.Context(), p.shares, owner, func(int) graph.Options { return o })
	defer closeAll(got)
	everywhere(t, ranks, func(rank int, group *collective.Group) {
		d := got[rank].d
		err := d.Number(context.WithoutCancel(t.Context()), group, 20)
		fingerprint, n := got[rank].g.Numbering()
		set := someSet{make([]bool, n), fingerprint}
		for v := range set.has {
			set.has[v] = true
		}
		for r := range d.Names.starts { // as if the last vertices had no names
			d.Names.starts[r] = min(d.Names.starts[r], uint64(n-1))
		}
		if err == nil {
			_, _, err = d.Part(t.Context(), group, 30, set, o)
		}
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("vertex %d has no name", n-1)) {
			t.Errorf("rank %d: %v", rank, err)
		}
	})
}

// TestPartOfAnother: all ranks refuse the set of another graph.
func TestPartOfAnother(t *testing.T) {
	p := newProblem(rand.New(rand.NewPCG(3, 3)), 3)
	owner := []int{0, 1, 2}
	o := graph.Options{Partitions: 3, Grid: graph.Of(3)}
	got := buildOver(t, t.Context(), p.shares, owner, func(int) graph.Options { return o })
	defer closeAll(got)
	everywhere(t, 3, func(rank int, group *collective.Group) {
		err := got[rank].d.Number(context.WithoutCancel(t.Context()), group, 20)
		if err == nil {
			_, _, err = got[rank].d.Part(t.Context(), group, 30, someSet{nil, 7}, o)
		}
		if err == nil || !strings.Contains(err.Error(), "set of another graph") {
			t.Errorf("rank %d: %v", rank, err)
		}
	})
}
