package graph_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/kernel"
	_ "github.com/superstep-go/superstep/internal/laxgc"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/pregel"
)

// change changes all partitions of a graph.
func change(
	ctx context.Context, g []*graph.Partition, changes []graph.Change,
) ([]*graph.Changed, error) {
	parts := make([]*graph.Changed, len(g))
	errs := make([]error, len(g))
	m := graph.NewRendezvous(len(g))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	for i, p := range g {
		group.Go(func() {
			if parts[i], errs[i] = p.Changed(ctx, changes[i], m.Exchange(i)); errs[i] != nil {
				cancel(errs[i])
			}
		})
	}
	group.Wait()
	if ctx.Err() == nil {
		return parts, nil
	}
	for _, c := range parts {
		if c != nil {
			c.Close()
		}
	}
	return nil, context.Cause(ctx)
}

// ends are the ends of an arc or, in ascending order, of an edge.
type ends struct{ u, v uint64 }

// idTwin is a graph by ids in the obvious form: the weights of the parallel arcs between two
// vertices.
type idTwin struct {
	n        int
	directed bool
	o        graph.Options
	arcs     map[ends][]float64
}

func (t *idTwin) key(u, v pregel.VertexID) ends {
	if !t.directed && v < u {
		u, v = v, u
	}
	return ends{uint64(u), uint64(v)}
}

// twinOf reads a graph's lists by receiver.
func twinOf(g *graph.Graph) *idTwin {
	t := &idTwin{g.N, g.Directed, g.Options, map[ends][]float64{}}
	for _, p := range g.Parts {
		l := p.Layout(pregel.Out)
		a := l.Blocks[0].Pull.ByReceiver
		bitmap.Each(a.Bits, func(row uint32) {
			lo, hi := a.Row(row)
			for j := lo; j < hi; j++ {
				u, v := l.Slots.ID(a.Adj[j]), l.Slots.ID(row)
				if g.Directed || u <= v {
					t.arcs[ends{u, v}] = append(t.arcs[ends{u, v}], weightAt(&a.Lists, j))
				}
			}
		})
	}
	return t
}

// change applies the changes of all partitions to the twin.
func (t *idTwin) change(changes []graph.Change) {
	t.n = changes[0].N
	var added []graph.Arc
	for _, c := range changes {
		for _, a := range c.Remove {
			delete(t.arcs, t.key(a.From, a.To))
		}
		added = append(added, c.Add...)
	}
	slices.SortStableFunc(added, func(a, b graph.Arc) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	for _, a := range added {
		if a.From == a.To && t.o.DropLoops {
			continue
		}
		w := a.Weight
		switch {
		case t.o.Weights == edges.Unweighted:
			w = 0
		case t.o.UnitWeights:
			w = 1
		case t.o.Weights == edges.Float32:
			w = float64(float32(w))
		}
		k := t.key(a.From, a.To)
		stored, ok := t.arcs[k]
		switch {
		case !ok:
			t.arcs[k] = []float64{w}
		case t.o.Duplicates == graph.KeepDuplicates:
			t.arcs[k] = append(stored, w)
		case t.o.Duplicates == graph.LeastDuplicate:
			stored[0] = min(stored[0], w)
		case t.o.Duplicates == graph.SumDuplicates:
			stored[0] += w
		}
	}
}

// lists returns the twin's lists of out-edges and of in-edges.
func (t *idTwin) lists() (out, in [][]neighbor, least float64) {
	out, in = make([][]neighbor, t.n), make([][]neighbor, t.n)
	for k, weights := range t.arcs {
		for _, w := range weights {
			least = min(least, w)
			out[k.u] = append(out[k.u], neighbor{k.v, w})
			in[k.v] = append(in[k.v], neighbor{k.u, w})
			if !t.directed && k.u != k.v {
				out[k.v] = append(out[k.v], neighbor{k.u, w})
				in[k.u] = append(in[k.u], neighbor{k.v, w})
			}
		}
	}
	for _, lists := range [][][]neighbor{out, in} {
		for _, list := range lists {
			slices.SortFunc(list, func(a, b neighbor) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.weight, b.weight)) })
		}
	}
	return out, in, least
}

// same compares a graph with the twin.
func (t *idTwin) same(g *graph.Graph) error {
	out, in, least := t.lists()
	arcs := 0
	for id := range t.n {
		q, local := g.Deal.Of(uint32(id))
		p := g.Parts[q]
		arcs += len(in[id])
		if int(p.OutDegrees[local]) != len(out[id]) || int(p.InDegrees[local]) != len(in[id]) {
			return fmt.Errorf("vertex %d: degrees %d %d, want %d %d", id, p.OutDegrees[local],
				p.InDegrees[local], len(out[id]), len(in[id]))
		}
		if p.In == nil {
			continue
		}
		slots := p.Layout(pregel.Out).Slots
		for _, dir := range []struct {
			a    *graph.Adjacency
			want []neighbor
		}{{p.In, in[id]}, {p.Out, out[id]}} {
			var got []neighbor
			lo, hi := dir.a.Row(local)
			for j := lo; j < hi; j++ {
				got = append(got, neighbor{slots.ID(dir.a.Adj[j]), weightAt(&dir.a.Lists, j)})
			}
			if !slices.Equal(got, dir.want) {
				return fmt.Errorf("vertex %d: neighbours %v, want %v", id, got, dir.want)
			}
		}
	}
	if g.N != t.n || int(g.Arcs) != arcs || g.LeastWeight != least {
		return fmt.Errorf("%d vertices, %d arcs, least weight %g, want %d, %d, %g", g.N, g.Arcs,
			g.LeastWeight, t.n, arcs, least)
	}
	for _, p := range g.Parts {
		if p.Owned != g.Deal.Owned(t.n, p.Index) || len(p.OutDegrees) != (p.Owned+63)&^63 {
			return fmt.Errorf("partition %d owns %d, degrees of %d", p.Index, p.Owned,
				len(p.OutDegrees))
		}
		if err := compareRuns(p); err != nil {
			return fmt.Errorf("partition %d: %w", p.Index, err)
		}
	}
	got := twinOf(g)
	if len(got.arcs) != len(t.arcs) {
		return fmt.Errorf("%d pairs with arcs, want %d", len(got.arcs), len(t.arcs))
	}
	if err := t.reversed(g, in); err != nil {
		return err
	}
	return compareLists(g)
}

// reversed compares the lists of the reversed arcs.
func (t *idTwin) reversed(g *graph.Graph, in [][]neighbor) error {
	got := make([][]neighbor, t.n)
	for _, p := range g.Parts {
		l := p.Layout(pregel.In)
		a := l.Blocks[0].Push.BySender // from targets to sources
		bitmap.Each(a.Bits, func(row uint32) {
			lo, hi := a.Row(row)
			for j := lo; j < hi; j++ {
				id := l.Slots.ID(row)
				got[id] = append(got[id], neighbor{l.Slots.ID(a.Adj[j]), weightAt(&a.Lists, j)})
			}
		})
	}
	for id, list := range got {
		slices.SortFunc(list, func(a, b neighbor) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.weight, b.weight)) })
		if !slices.Equal(list, in[id]) {
			return fmt.Errorf("reversed arcs of %d go to %v, want %v", id, list, in[id])
		}
	}
	return nil
}

// compareRuns checks the derived data of a partition's lists and slots, and that each ghost has an
// arc.
func compareRuns(p *graph.Partition) error {
	l := p.Layout(pregel.Out)
	if p.In != nil {
		b := l.Blocks[0]
		for _, side := range []struct {
			lists  *graph.Adjacency
			groups []graph.Group
		}{{p.In, b.Pull.Senders.Groups}, {p.Out, b.Push.Receivers.Groups}} {
			met := make([]bool, p.Slots)
			for _, slot := range side.lists.Adj {
				met[slot] = true
			}
			for q, ghosts := range side.groups {
				for slot := ghosts.Start; slot < ghosts.Start+ghosts.Count; slot++ {
					if !met[slot] {
						return fmt.Errorf(
							"slot %d is a ghost of partition %d and has no arc", slot, q)
					}
				}
			}
		}
	}
	for w, base := range l.Slots.Bases {
		for i := range uint32(64) {
			if base != kernel.None && l.Slots.ID(uint32(w)<<6+i) != base+uint64(i)*l.Slots.Stride {
				return fmt.Errorf("slot %d is not %d from the base", w<<6+int(i), i)
			}
		}
	}
	for _, b := range l.Blocks {
		for _, a := range []*graph.Adjacency{b.Pull.ByReceiver, b.Push.BySender} {
			if len(a.Seconds) != len(a.Heads) {
				return fmt.Errorf("%d second neighbours of %d rows", len(a.Seconds), len(a.Heads))
			}
			for r, head := range a.Heads {
				list := a.Adj[a.Starts[r]:a.Starts[r+1]]
				if head != list[0] || a.Seconds[r] != list[min(1, len(list)-1)] {
					return fmt.Errorf("row %d has head %d and then %d, expected those of %d", r,
						head, a.Seconds[r], list)
				}
			}
			for w, same := range a.Same {
				for r := a.Rank[w]; r < a.Rank[w+1]; r++ {
					if n := a.Starts[r+1] - a.Starts[r]; same != 0 && n != same || n == 0 {
						return fmt.Errorf("row %d has %d, all of the word %d", r, n, same)
					}
				}
			}
		}
	}
	return nil
}

// randomChanges returns random changes of a graph. Some remove many edges, some few, some add
// vertices.
func randomChanges(rng *rand.Rand, t *idTwin, deal kernel.Deal) []graph.Change {
	changes := make([]graph.Change, deal.Partitions())
	n := t.n
	if rng.IntN(3) == 0 {
		n += rng.IntN(max(2, t.n/4))
	}
	for p := range changes {
		changes[p] = graph.Change{N: n, Places: true}
	}
	if n == 0 {
		return changes
	}
	flip := func(k ends) (pregel.VertexID, pregel.VertexID) {
		if !t.directed && rng.IntN(2) == 0 {
			k.u, k.v = k.v, k.u
		}
		return pregel.VertexID(k.u), pregel.VertexID(k.v)
	}
	of := func(u pregel.VertexID) *graph.Change {
		q, _ := deal.Of(uint32(u))
		return &changes[q]
	}
	var all []ends
	for k := range t.arcs {
		all = append(all, k)
	}
	slices.SortFunc(all,
		func(a, b ends) int { return cmp.Or(cmp.Compare(a.u, b.u), cmp.Compare(a.v, b.v)) })
	share := []int{1, 1, 8, 8, 100, 1000}[rng.IntN(6)]
	hub := uint64(rng.IntN(n)) // loses all its arcs in some changes
	lose := rng.IntN(4) == 0
	unit := 7.0 // weights are multiples of 1/7, which float32 rounds; for sums of 1/8, to be exact
	if t.o.Duplicates == graph.SumDuplicates {
		unit = 8
	}
	add := func(k ends) {
		u, v := flip(k)
		of(u).Add = append(of(u).Add,
			graph.Arc{From: u, To: v, Weight: float64(rng.IntN(64)-4) / unit})
	}
	for _, k := range all {
		if rng.IntN(share) == 0 && rng.IntN(2) == 0 || lose && (k.u == hub || k.v == hub) {
			for range 1 + rng.IntN(2) {
				u, v := flip(k)
				of(u).Remove = append(of(u).Remove, graph.Arc{From: u, To: v})
			}
			if rng.IntN(8) == 0 {
				add(k)
			}
		} else if rng.IntN(share*4) == 0 {
			add(k)
		}
	}
	for range rng.IntN(max(2, len(all)/share)) {
		k := ends{uint64(rng.IntN(n)), uint64(rng.IntN(n))}
		if rng.IntN(4) == 0 {
			k.v = uint64(max(0, n-1-rng.IntN(5))) // new vertices, if there are any
		}
		if rng.IntN(10) == 0 {
			k.v = k.u
		}
		for range 1 + rng.IntN(6)/4 {
			add(k)
		}
		if rng.IntN(5) == 0 {
			u, v := flip(k)
			of(u).Remove = append(of(u).Remove, graph.Arc{From: u, To: v})
		}
	}
	return changes
}

// checkPlaces checks the old indices of arcs, in lists with owned rows.
func checkPlaces(from []uint32, old, now *graph.Adjacency, p, q *graph.Partition) error {
	if from == nil {
		if !slices.Equal(old.Starts, now.Starts) {
			return fmt.Errorf("no places, but rows have moved")
		}
		return nil
	}
	if len(from) != len(now.Adj) {
		return fmt.Errorf("%d places of %d arcs", len(from), len(now.Adj))
	}
	rowOf := make([]uint32, len(old.Adj))
	bitmap.Each(old.Bits, func(row uint32) {
		for lo, hi := old.Row(row); lo < hi; lo++ {
			rowOf[lo] = row
		}
	})
	var err error
	last := int64(-1)
	bitmap.Each(now.Bits, func(row uint32) {
		for j, hi := now.Row(row); j < hi; j++ {
			place := from[j]
			if place == graph.NewPlace {
				continue
			}
			was, is := p.Layout(pregel.Out).Slots.ID(old.Adj[place]),
				q.Layout(pregel.Out).Slots.ID(now.Adj[j])
			if int64(place) <= last || rowOf[place] != row || was != is {
				err = fmt.Errorf("arc %d of row %d to %d was at %d, where row %d has %d", j, row,
					is, place, rowOf[place], was)
			}
			last = int64(place)
		}
	})
	return err
}

// picked reports whether a case is tested. In make soak it is every second one, of the slow ones
// every sixteenth. Else it is three of 14, so that each variant occurs with some sizes, and of the
// slow ones every 32nd. Short tests, as those under the race detector are, have fewer.
func picked(number uint64, vertices int) bool {
	switch {
	case number%2 > 0 || vertices >= 300 && number%16 > 0:
		return false
	case soak:
		return true
	case testing.Short():
		return number%6 == 0
	}
	return vertices < 300 && number/2%7 < 3 || number%32 == 0
}

func TestChangedAgainstSlowTwin(t *testing.T) {
	seed := uint64(0)
	for _, size := range [][2]int{{1, 0}, {1, 3}, {2, 1}, {5, 8}, {63, 200}, {64, 50}, {300, 3000}, {2000, 6000}} {
		for _, parts := range []int{1, 2, 3, 7} {
			for variant := range 20 {
				if seed++; !picked(seed, size[0]) {
					continue
				}
				changedAgainstSlowTwin(t, seed, size, graph.Of(parts), variant)
			}
		}
	}
}

// TestChangedGridAgainstSlowTwin: in 2D grids the blocks of reversed arcs change too, if they
// exist.
func TestChangedGridAgainstSlowTwin(t *testing.T) {
	seed := uint64(5000)
	for _, size := range [][2]int{{1, 3}, {5, 8}, {64, 200}, {300, 2000}, {1000, 6000}} {
		for _, grid := range []graph.Grid{{Rows: 2, Columns: 2}, {Rows: 3, Columns: 2}, {Rows: 2, Columns: 3}} {
			for variant := range 20 {
				if seed++; !picked(seed, size[0]) {
					continue
				}
				changedAgainstSlowTwin(t, seed, size, grid, variant)
			}
		}
	}
}

// changedAgainstSlowTwin changes a random graph several times, and compares it with the twin.
func changedAgainstSlowTwin(t *testing.T, seed uint64, size [2]int, grid graph.Grid, variant int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 2))
	tuples, weights := randomTuples(rng, size[0], size[1])
	o := graph.Options{
		Grid: grid, Duplicates: graph.Duplicates(variant % 5), DropLoops: rng.IntN(3) == 0,
		Weights: edges.Weights(rng.IntN(3)), UnitWeights: rng.IntN(6) == 0,
		Deal: []string{"", "64:", "64:1,40"}[seed%3],
	}
	if o.Duplicates == graph.RefuseDuplicates {
		tuples, weights = distinct(tuples, weights)
	}
	in := &edges.Input{Name: "random", Edges: edges.Pack(uint64(size[0]), tuples,
		weights), Vertices: size[0], Directed: variant%10 >= 5}
	g, err := build.Local(context.Background(), in, o)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	team := parallel.NewTeam(2, false)
	defer team.Close()
	twin := twinOf(g)
	parts := g.Parts
	base := g
	for step := range 4 {
		changes := randomChanges(rng, twin, g.Deal)
		if rng.IntN(3) == 0 {
			changes[0].Team = team
		}
		changed, err := change(t.Context(), parts, changes)
		if err != nil {
			t.Fatalf("seed %d, step %d: %v", seed, step, err)
		}
		twin.change(changes)
		for i, c := range changed {
			if parts[i].In != nil {
				if err := checkPlaces(c.OutFrom, parts[i].Out, c.Partition.Out, parts[i],
					c.Partition); err != nil {
					t.Fatalf("seed %d, step %d, partition %d: out: %v", seed, step, i, err)
				}
				if !g.Directed {
					continue
				}
				if err := checkPlaces(c.InFrom, parts[i].In, c.Partition.In, parts[i],
					c.Partition); err != nil {
					t.Fatalf("seed %d, step %d, partition %d: in: %v", seed, step, i, err)
				}
			}
		}
		next := graph.Assemble(base, changed...)
		defer next.Close()
		if err := twin.same(next); err != nil {
			t.Fatalf("seed %d, step %d, %v, directed %t, %+v: %v", seed, step, grid, in.Directed, o,
				err)
		}
		if err := twin.same(byDifference(t, g, next)); err != nil {
			t.Fatalf("seed %d, step %d, %v, directed %t, %+v, by the difference: %v", seed, step,
				grid, in.Directed, o, err)
		}
		for id := range next.N {
			want := uint64(id)
			if id < g.N {
				want = g.Label(pregel.VertexID(id))
			}
			label := next.Label(pregel.VertexID(id))
			if found, ok := next.Find(label); label != want || !ok || found != pregel.VertexID(id) {
				t.Fatalf("seed %d: vertex %d has label %d, want %d, and is found as %d", seed, id,
					label, want, found)
			}
		}
		base, parts = next, next.Parts
	}
}

// byDifference applies the difference between two versions of a graph to the first one, as one
// change.
func byDifference(t *testing.T, from, to *graph.Graph) *graph.Graph {
	t.Helper()
	changes := make([]graph.Change, len(from.Parts))
	for i := range changes {
		changes[i].N, changes[i].AsStored = to.N, true
	}
	for i, p := range to.Parts {
		remove, add := p.Difference(from.Parts[i])
		for _, a := range remove {
			q, _ := from.Deal.Of(uint32(a.From))
			c := &changes[q]
			c.Remove = append(c.Remove, a)
		}
		for _, a := range add {
			q, _ := from.Deal.Of(uint32(a.From))
			c := &changes[q]
			c.Add = append(c.Add, a)
		}
	}
	changed, err := change(t.Context(), from.Parts, changes)
	if err != nil {
		t.Fatal(err)
	}
	g := graph.Assemble(from, changed...)
	t.Cleanup(func() { g.Close() })
	return g
}

// distinct omits edges that occur twice, in either direction.
func distinct(tuples [][2]uint64, weights []float64) (left [][2]uint64, _ []float64) {
	seen, leftWeights := map[ends]bool{}, []float64{}
	for i, t := range tuples {
		k := ends{min(t[0], t[1]), max(t[0], t[1])}
		if !seen[k] {
			seen[k] = true
			left, leftWeights = append(left, t), append(leftWeights, weights[i])
		}
	}
	return left, leftWeights
}
