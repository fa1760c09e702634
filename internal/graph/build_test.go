package graph_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/pregel"
)

// neighbor is an adjacency in the slow twin.
type neighbor struct {
	id     uint64
	weight float64
}

// twin builds lists by id in the obvious way: out-lists and in-lists, which are the same in an
// undirected graph.
type twin struct {
	order   []int
	out, in [][]neighbor
}

func slowly(n int, tuples [][2]uint64, weights []float64, directed bool, o graph.Options) twin {
	type end struct{ u, v uint64 }
	var kept [][2]uint64
	var keptWeights []float64
	at := map[end]int{}
	for i, t := range tuples {
		u, v := t[0], t[1]
		if u == v && o.DropLoops {
			continue
		}
		w := 1.0
		if weights != nil && !o.UnitWeights {
			w = weights[i]
		}
		key := end{u, v}
		if !directed {
			key = end{min(u, v), max(u, v)}
		}
		if j, ok := at[key]; ok && o.Duplicates != graph.KeepDuplicates {
			switch o.Duplicates {
			case graph.LeastDuplicate:
				keptWeights[j] = min(keptWeights[j], w)
			case graph.SumDuplicates:
				keptWeights[j] += w
			}
			continue
		}
		at[key] = len(kept)
		kept = append(kept, t)
		keptWeights = append(keptWeights, w)
	}
	out, in := make([][]neighbor, n), make([][]neighbor, n)
	for i, t := range kept {
		u, v, w := t[0], t[1], keptWeights[i]
		out[u] = append(out[u], neighbor{v, w})
		if directed {
			in[v] = append(in[v], neighbor{u, w})
		} else if u != v {
			out[v] = append(out[v], neighbor{u, w})
		}
	}
	degree := func(v int) int { return len(out[v]) + len(in[v]) }
	t := twin{order: make([]int, n)}
	for i := range t.order {
		t.order[i] = i
	}
	if !o.InputOrder {
		slices.SortStableFunc(t.order,
			func(a, b int) int { return cmp.Compare(degree(b), degree(a)) })
	}
	ids := make([]uint64, n)
	for id, v := range t.order {
		ids[v] = uint64(id)
	}
	relabel := func(lists [][]neighbor) [][]neighbor {
		done := make([][]neighbor, n)
		for v, list := range lists {
			for _, x := range list {
				done[ids[v]] = append(done[ids[v]], neighbor{ids[x.id], x.weight})
			}
			slices.SortFunc(done[ids[v]], func(a, b neighbor) int {
				return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.weight, b.weight))
			})
		}
		return done
	}
	t.out = relabel(out)
	t.in = t.out
	if directed {
		t.in = relabel(in)
	}
	return t
}

func randomTuples(rng *rand.Rand, n, m int) (tuples [][2]uint64, weights []float64) {
	weights = []float64{}
	for range m {
		u, v := uint64(rng.IntN(n)), uint64(rng.IntN(n))
		if rng.IntN(3) == 0 {
			v = uint64(rng.IntN(min(n, 4))) // hubs
		}
		if rng.IntN(20) == 0 {
			v = u
		}
		tuples = append(tuples, [2]uint64{u, v})
		weights = append(weights, float64(rng.IntN(64))/8)
		if rng.IntN(5) == 0 {
			tuples = append(tuples, [2]uint64{v, u}, [2]uint64{u, v})
			weights = append(weights, float64(rng.IntN(64))/8, float64(rng.IntN(64))/8)
		}
	}
	return tuples, weights
}

func TestBuildAgainstSlowTwin(t *testing.T) {
	buildAgainstSlowTwin(t,
		[][2]int{{1, 0}, {1, 3}, {2, 1}, {5, 8}, {63, 200}, {64, 50}, {300, 3000}, {2000, 6000}}, 1,
		2, 3, 7)
}

// soak tells whether the tests run in make soak, with all cases.
var soak = os.Getenv("SUPERSTEP_SOAK") != ""

// sampled reports whether a test has the case with this number: two of five cases, in make soak
// all, and in short tests, as those under the race detector are, every fifth one.
func sampled(number uint64) bool {
	return soak || number%5 == 0 || number%5 == 2 && !testing.Short()
}

// buildAgainstSlowTwin builds random graphs with these numbers of vertices and edges, and compares
// them with the twin.
func buildAgainstSlowTwin(t *testing.T, sizes [][2]int, partitions ...int) {
	t.Helper()
	seed := uint64(0)
	for _, size := range sizes {
		for _, parts := range partitions {
			for variant := range 12 {
				if seed++; !sampled(seed) {
					continue
				}
				rng := rand.New(rand.NewPCG(seed, 1))
				tuples, weights := randomTuples(rng, size[0], size[1])
				o := graph.Options{
					Partitions: parts, Duplicates: graph.Duplicates(variant % 4),
					DropLoops: variant%3 == 0,
					Weights:   edges.Weights(rng.IntN(3)), UnitWeights: rng.IntN(5) == 0,
					InputOrder: rng.IntN(4) == 0, Deal: []string{"", "64:", "64:1,40"}[seed%3],
				}
				if threads := 1 + rng.IntN(3); threads > 1 {
					o.Team = parallel.NewTeam(threads, false)
				}
				directed := variant >= 6
				in := &edges.Input{
					Name: "random", Edges: edges.Pack(uint64(size[0]), tuples, weights),
					Vertices: size[0], Directed: directed,
				}
				g, err := build.Local(context.Background(), in, o)
				if err != nil {
					t.Fatal(err)
				}
				want := slowly(size[0], tuples, weights, directed, o)
				if err := compare(g, want, o); err != nil {
					t.Fatalf("seed %d, %d vertices, %d parts, directed %t, %+v: %v", seed, size[0],
						parts, directed, o, err)
				}
				g.Close()
				o.Team.Close()
			}
		}
	}
}

func compare(g *graph.Graph, want twin, o graph.Options) error {
	for id, v := range want.order {
		if int(g.Order[id]) != v || int(g.IDs[v]) != id {
			return fmt.Errorf("vertex %d is %d, want %d", id, g.Order[id], v)
		}
	}
	for id := range want.order {
		q, local := g.Deal.Of(uint32(id))
		p := g.Parts[q]
		if p.Global(local) != pregel.VertexID(id) {
			return fmt.Errorf("partition %d: local %d is %d", p.Index, local, p.Global(local))
		}
		if int(p.OutDegrees[local]) != len(want.out[id]) ||
			int(p.InDegrees[local]) != len(want.in[id]) {
			return fmt.Errorf("vertex %d: degrees %d %d, want %d %d", id, p.OutDegrees[local],
				p.InDegrees[local], len(want.out[id]), len(want.in[id]))
		}
		for _, dir := range []struct {
			a    *graph.Adjacency
			want []neighbor
		}{{p.In, want.in[id]}, {p.Out, want.out[id]}} {
			lo, hi := dir.a.Row(local)
			if int(hi-lo) != len(dir.want) {
				return fmt.Errorf("vertex %d: %d neighbours, want %d", id, hi-lo, len(dir.want))
			}
			for j, x := range dir.want {
				slot := dir.a.Adj[int(lo)+j]
				if got := p.Layout(pregel.Out).Slots.ID(slot); uint64(got) != x.id {
					return fmt.Errorf("vertex %d, neighbour %d: %d (slot %d), want %d", id, j, got,
						slot, x.id)
				}
				w := x.weight
				switch o.Weights {
				case edges.Float32:
					if got := dir.a.Weights32[int(lo)+j]; got != float32(w) {
						return fmt.Errorf("vertex %d, neighbour %d: weight %g, want %g", id, x.id,
							got, w)
					}
				case edges.Float64:
					if got := dir.a.Weights64[int(lo)+j]; got != w {
						return fmt.Errorf("vertex %d, neighbour %d: weight %g, want %g", id, x.id,
							got, w)
					}
				}
			}
		}
	}
	return compareLists(g)
}

// compareLists checks that both partitions of every column have the same list of vertices, and that
// a block's lists by sender have the arcs of those by receiver.
func compareLists(g *graph.Graph) error {
	sides := []func(p *graph.Partition) *graph.Side{
		func(p *graph.Partition) *graph.Side { return p.Layout(pregel.Out).Blocks[0].Pull.Senders },
		func(p *graph.Partition) *graph.Side { return p.Layout(pregel.Out).Blocks[0].Push.Receivers },
		func(p *graph.Partition) *graph.Side { return p.Layout(pregel.In).Blocks[0].Pull.Senders },
		func(p *graph.Partition) *graph.Side { return p.Layout(pregel.In).Blocks[0].Push.Receivers },
	}
	for _, p := range g.Parts {
		for _, side := range sides {
			s := side(p)
			for _, q := range s.Line {
				if err := compareColumn(p.Layout(pregel.Both), g.Parts[q], p.Index, s,
					side(g.Parts[q])); err != nil {
					return err
				}
			}
		}
		for _, l := range []graph.Layout{p.Layout(pregel.Out), p.Layout(pregel.In)} {
			if err := compareViews(p, l.Blocks[0].Pull, l.Count); err != nil {
				return err
			}
		}
	}
	return nil
}

// compareColumn checks the column from q to p; s and other are their sides.
func compareColumn(l graph.Layout, q *graph.Partition, p int, s, other *graph.Side) error {
	group := s.Groups[q.Index]
	var list []pregel.VertexID
	known := other.Peers.Of(p)
	known.Each(func(local uint32) { list = append(list, q.Global(local)) })
	if len(list) != int(group.Count) || group.Start%64 != 0 ||
		int(group.Start+group.Count) > l.Count {
		return fmt.Errorf("column %d->%d: %d sent, group %+v", q.Index, p, len(list), group)
	}
	for i, id := range list {
		if got := l.Slots.ID(group.Start + uint32(i)); got != uint64(id) {
			return fmt.Errorf("column %d->%d: place %d is %d here, %d there", q.Index, p, i, got,
				id)
		}
	}
	return nil
}

// compareViews checks a block's lists by sender against those by receiver.
func compareViews(p *graph.Partition, b *graph.Block, slots int) error {
	a := b.ByReceiver
	s, err := p.SendersView(context.Background(), b)
	if err != nil {
		return err
	}
	type weighted struct {
		u, v   uint32
		weight float64
	}
	arcs := map[weighted]int{}
	bitmap.Each(a.Bits, func(v uint32) {
		lo, hi := a.Row(v)
		for j := lo; j < hi; j++ {
			arcs[weighted{a.Adj[j], v, weightAt(&a.Lists, j)}]++
		}
	})
	for u := range uint32(slots) {
		lo, hi := s.Row(u)
		if s.Rising && !slices.IsSorted(s.Adj[lo:hi]) {
			return fmt.Errorf("by sender: the list of %d does not rise", u)
		}
		for j := lo; j < hi; j++ {
			arcs[weighted{u, s.Adj[j], weightAt(&s.Lists, j)}]--
		}
	}
	for arc, n := range arcs {
		if n != 0 {
			return fmt.Errorf("by sender: arc %v is off by %d", arc, n)
		}
	}
	for _, l := range []*graph.Adjacency{a, s} {
		if chunks := l.Chunks; !slices.IsSorted(chunks) ||
			int(chunks[len(chunks)-1]) != len(l.Bits) ||
			int(l.Chunks[l.Owned]) != min(p.Words(), len(l.Bits)) {
			return fmt.Errorf("chunks %v of %d words, %d owned: the first %d runs", chunks,
				len(l.Bits), p.Words(), l.Owned)
		}
	}
	return nil
}

// weightAt returns a weight in lists, or 0 if they have no weights.
func weightAt(l *kernel.Lists, j uint32) float64 {
	switch {
	case l.Weights32 != nil:
		return float64(l.Weights32[j])
	case l.Weights64 != nil:
		return l.Weights64[j]
	}
	return 0
}

func TestRefusesDuplicates(t *testing.T) {
	in := &edges.Input{Name: "g", Edges: edges.Pack(3, [][2]uint64{{0, 1}, {1, 2}, {1, 0}},
		nil), Vertices: 3}
	_, err := build.Local(context.Background(), in,
		graph.Options{Duplicates: graph.RefuseDuplicates})
	if err == nil || err.Error() != "g: edge 0-1 occurs more than once" {
		t.Errorf("got %v", err)
	}
	in.Directed = true
	if _, err = build.Local(context.Background(), in,
		graph.Options{Duplicates: graph.RefuseDuplicates}); err != nil {
		t.Error(err)
	}
}

func TestTupleDegrees(t *testing.T) {
	tuples := [][2]uint64{{0, 1}, {1, 0}, {1, 1}, {2, 1}, {2, 2}}
	for _, drop := range []bool{false, true} {
		in := &edges.Input{Name: "g", Edges: edges.Pack(4, tuples, nil), Vertices: 4}
		o := graph.Options{TupleDegrees: true, DropLoops: drop, Duplicates: graph.LeastDuplicate}
		g := alone(t, in, o)
		local, err := build.Local(t.Context(), in, o)
		if err != nil {
			t.Fatal(err)
		}
		defer local.Close()
		want := []uint32{2, 3, 1, 0}
		if a, b := tupleDegrees(g), tupleDegrees(local); !slices.Equal(a, want) ||
			!slices.Equal(b, want) {
			t.Errorf("drop loops %t: %v and %v, want %v", drop, a, b, want)
		}
		if g.Loops != 2 || g.Dropped != 1 || g.Connected != 3 {
			t.Errorf("%d loops, %d dropped, %d connected", g.Loops, g.Dropped, g.Connected)
		}
		in.Directed = true
		g = alone(t, in, graph.Options{TupleDegrees: true, DropLoops: drop})
		if got := tupleDegrees(g); !slices.Equal(got, want) {
			t.Errorf("directed, drop loops %t: %v, want %v", drop, got, want)
		}
	}
}

// alone builds a graph as the only rank of a group.
func alone(t *testing.T, in *edges.Input, o graph.Options) *graph.Graph {
	t.Helper()
	rank := edges.Whole(in, 0)
	rank.Free = nil
	g, d, err := build.Graph(t.Context(), collective.Alone(), 0, rank, []int{0}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	t.Cleanup(d.Close)
	return g
}

// tupleDegrees returns the degrees in tuples by input id.
func tupleDegrees(g *graph.Graph) []uint32 {
	all := make([]uint32, g.N)
	for v, degree := range g.Parts[0].TupleDegrees {
		all[g.Label(pregel.VertexID(v))] = degree
	}
	return all
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	in := &edges.Input{Name: "g", Edges: edges.Pack(2, [][2]uint64{{0, 1}}, nil), Vertices: 2}
	if _, err := build.Local(ctx, in, graph.Options{}); err == nil {
		t.Error("a cancelled build must fail")
	}
}
