package build

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	_ "github.com/superstep-go/superstep/internal/laxgc"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/testcluster/memlink"
	"github.com/superstep-go/superstep/pregel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// built is a rank's result of a build.
type built struct {
	g   *graph.Graph
	d   *Directory
	err error
}

// everywhere runs f on all ranks at once.
func everywhere(t testing.TB, ranks int, f func(rank int, group *collective.Group)) {
	m := memlink.New(ranks, nil)
	var all sync.WaitGroup
	for rank := range ranks {
		group, err := collective.NewGroup(m.Link(rank), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() { f(rank, group) })
	}
	all.Wait()
}

// buildOver builds a graph of parts, one per rank.
func buildOver(
	t testing.TB, ctx context.Context, shares []*edges.RankInput, owner []int,
	options func(rank int) graph.Options,
) []built {
	all := make([]built, len(shares))
	everywhere(t, len(shares), func(rank int, group *collective.Group) {
		g, d, err := Graph(ctx, group, 10, shares[rank], owner, options(rank))
		all[rank] = built{g, d, err}
	})
	return all
}

func closeAll(all []built) {
	for _, b := range all {
		if b.g != nil {
			b.g.Close()
			b.d.Close()
		}
	}
}

// problem is a random graph in two forms: whole, with numbered vertices, and as parts for ranks.
type problem struct {
	whole  *edges.Input
	shares []*edges.RankInput
	text   string
}

// newProblem makes tuples, divides them among ranks at random, and identifies vertices in one of
// the ways that inputs have.
func newProblem(rng *rand.Rand, ranks int) *problem {
	n := []int{1, 2, 5, 60, 64, 300, 1500}[rng.IntN(7)]
	m := rng.IntN(4 * n)
	if rng.IntN(8) == 0 {
		m = 0
	}
	directed := rng.IntN(2) == 0
	var tuples [][2]uint64
	weights := []float64{}
	for range m {
		u, v := uint64(rng.IntN(n)), uint64(rng.IntN(n))
		if rng.IntN(3) == 0 {
			v = uint64(rng.IntN(min(n, 3)))
		}
		if rng.IntN(15) == 0 {
			v = u
		}
		tuples = append(tuples, [2]uint64{u, v})
		if rng.IntN(5) == 0 {
			tuples = append(tuples, [2]uint64{v, u}, [2]uint64{u, v})
		}
	}
	for range tuples {
		weights = append(weights, float64(rng.IntN(64)-8)/8+1.0/3)
	}
	p := &problem{}
	naming := edges.Naming(rng.IntN(3))
	ids := make([]uint64, n) // ids of the vertices, ascending
	sparse := rng.IntN(2) == 0
	labels := edges.Labels{}
	switch {
	case naming == edges.Numbers:
		first := uint64(rng.IntN(2))
		for v := range ids {
			ids[v] = first + uint64(v)
		}
		labels = edges.Consecutive(first)
	default:
		next := uint64(0)
		for v := range ids {
			next += 1 + uint64(rng.IntN(3))
			if sparse {
				next += rng.Uint64() >> (8 + rng.IntN(50))
			}
			ids[v] = next
		}
		labels = edges.NewLabels(ids)
	}
	if naming == edges.Named { // only ids that occur are vertices
		used := make([]bool, n)
		for _, t := range tuples {
			used[t[0]], used[t[1]] = true, true
		}
		number, kept := make([]uint64, n), []uint64{}
		for v, u := range used {
			if number[v] = uint64(len(kept)); u {
				kept = append(kept, ids[v])
			}
		}
		for i, t := range tuples {
			tuples[i] = [2]uint64{number[t[0]], number[t[1]]}
		}
		ids, n = kept, len(kept)
		labels = edges.NewLabels(ids)
	}
	p.whole = &edges.Input{Name: "random", Edges: edges.Pack(uint64(n), tuples,
		weights), Vertices: n, Labels: labels, Directed: directed}
	discovered := naming == edges.Numbers && rng.IntN(3) == 0 && len(tuples) > 0
	if discovered {
		p.whole.Vertices = 0
	}
	cuts, listed := []int{0}, []int{0}
	for range ranks - 1 {
		cuts = append(cuts, rng.IntN(len(tuples)+1))
		listed = append(listed, rng.IntN(n+1))
	}
	slices.Sort(cuts)
	slices.Sort(listed)
	cuts, listed = append(cuts, len(tuples)), append(listed, n)
	shuffled := slices.Clone(ids)
	rng.Shuffle(len(shuffled),
		func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	for rank := range ranks {
		lo, hi := cuts[rank], cuts[rank+1]
		mine, end := slices.Clone(tuples[lo:hi]), uint64(n)
		largest := uint64(0)
		for i, t := range mine {
			if naming != edges.Numbers {
				mine[i] = [2]uint64{ids[t[0]], ids[t[1]]}
			}
			largest = max(largest, mine[i][0], mine[i][1])
		}
		if naming != edges.Numbers {
			end = largest + 1
		}
		s := &edges.RankInput{
			Input: edges.Input{Name: "random", Edges: edges.Pack(end, mine,
				weights[lo:hi]), Directed: directed, Vertices: p.whole.Vertices},
			Naming: naming, Largest: largest,
		}
		switch naming {
		case edges.Numbers:
			s.Labels = labels
		case edges.Listed:
			s.IDs = shuffled[listed[rank]:listed[rank+1]]
			s.Vertices = 0
		default:
			s.Vertices = 0
		}
		p.shares = append(p.shares, s)
	}
	p.text = fmt.Sprintf("%d vertices, %d tuples, directed %t, naming %d, sparse %t, discovered %t",
		n, len(tuples), directed, naming, sparse, discovered)
	return p
}

// rounds returns how many random cases a test has: in make soak, usually, and if it is short.
func rounds(soak, usual, short uint64) uint64 {
	switch {
	case os.Getenv("SUPERSTEP_SOAK") != "":
		return soak
	case testing.Short():
		return short
	}
	return usual
}

// TestTwin: every partition equals the one that a single rank makes of the whole input.
func TestTwin(t *testing.T) {
	usual := limits
	defer func() { limits = usual }()
	for seed := range rounds(200, 80, 25) {
		rng := rand.New(rand.NewPCG(seed, 77))
		limits = usual
		switch rng.IntN(3) {
		case 0:
			limits.tileEdges = 1 + rng.IntN(100)
		case 1:
			limits.tiles = 1
		}
		ranks := 1 + rng.IntN(5)
		p := newProblem(rng, ranks)
		owner := make([]int, ranks*(1+rng.IntN(3)))
		for i := range owner {
			owner[i] = i % ranks
		}
		if rng.IntN(4) == 0 {
			for i := range owner {
				owner[i] = rng.IntN(ranks)
			}
		}
		grid := graph.Of(len(owner))
		if rng.IntN(2) == 0 {
			grid = graph.Squarest(len(owner))
		}
		o := graph.Options{
			Partitions: len(owner), Grid: grid, Duplicates: graph.Duplicates(rng.IntN(5)),
			DropLoops: rng.IntN(2) == 0,
			Weights:   edges.Weights(rng.IntN(3)), UnitWeights: rng.IntN(5) == 0,
			TupleDegrees: rng.IntN(2) == 0, Deal: []string{"", "64:", "64:1,40"}[seed%3],
		}
		text := fmt.Sprintf("seed %d, %+v, %d ranks, owners %v, %s, %+v", seed, limits, ranks,
			owner, p.text, o)
		want, wrong := Local(t.Context(), p.whole, o)
		threads := 1 + rng.IntN(3)
		teams := make([]*parallel.Team, ranks)
		got := buildOver(t, t.Context(), p.shares, owner, func(rank int) graph.Options {
			mine := o
			teams[rank] = parallel.NewTeam(threads, false)
			mine.Team = teams[rank]
			return mine
		})
		for rank, b := range got {
			if (b.err == nil) != (wrong == nil) || b.err != nil && b.err.Error() != wrong.Error() {
				t.Fatalf("%s: rank %d: error %v, the whole: %v", text, rank, b.err, wrong)
			}
			if b.err == nil {
				err := compareShare(rank, b.g, want, owner)
				if err == nil && o.TupleDegrees {
					err = compareTupleDegrees(b.g, p.whole)
				}
				if err != nil {
					t.Fatalf("%s: rank %d: %v", text, rank, err)
				}
			}
		}
		if wrong == nil {
			if o.TupleDegrees {
				if err := compareTupleDegrees(want, p.whole); err != nil {
					t.Fatalf("%s: the whole: %v", text, err)
				}
			}
			if err := compareDirectory(t, rng, got, want); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			want.Close()
		}
		closeAll(got)
		for _, team := range teams {
			team.Close()
		}
	}
}

// compareShare compares a rank's partitions with the whole graph.
func compareShare(rank int, g, want *graph.Graph, owner []int) error {
	if g.N != want.N || g.Arcs != want.Arcs || g.Loops != want.Loops || g.Dropped != want.Dropped ||
		g.Tuples != want.Tuples ||
		g.Connected != want.Connected || g.LeastWeight != want.LeastWeight ||
		g.Directed != want.Directed || g.Weights != want.Weights ||
		!reflect.DeepEqual(g.Options, want.Options) {
		return fmt.Errorf("got %+v, want %+v", g, want)
	}
	for i, p := range g.Parts {
		if (p != nil) != (owner[i] == rank) {
			return fmt.Errorf("partition %d is %v", i, p)
		}
		if p == nil {
			continue
		}
		w := want.Parts[i]
		if err := comparePartition(p, w); err != nil {
			return fmt.Errorf("partition %d: %w", i, err)
		}
		for v := range uint32(p.Owned) {
			id := p.Global(v)
			if got, label := g.Label(id), want.Label(id); got != label {
				return fmt.Errorf("vertex %d is %d, want %d", id, got, label)
			}
		}
	}
	return nil
}

// compareTupleDegrees compares the number of tuples, without loops, that touch each vertex of a
// rank with the tuples.
func compareTupleDegrees(g *graph.Graph, whole *edges.Input) error {
	want := map[uint64]uint32{} // by input id
	var b edges.Block
	for i := range edges.Blocks(whole.Edges) {
		if err := whole.Edges.Read(i, &b); err != nil {
			return err
		}
		for j := range b.N {
			if b.U[j] != b.V[j] {
				want[whole.Labels.Of(b.U[j])]++
				want[whole.Labels.Of(b.V[j])]++
			}
		}
	}
	for _, p := range g.Parts {
		if p == nil {
			continue
		}
		for v, got := range p.TupleDegrees {
			if label := g.Label(p.Global(uint32(v))); got != want[label] {
				return fmt.Errorf("vertex %d: %d tuples, want %d", label, got, want[label])
			}
		}
	}
	return nil
}

// comparePartition compares everything visible in a partition: the exported fields, and its
// layouts.
func comparePartition(got, want *graph.Partition) error {
	for _, d := range []pregel.Direction{pregel.Out, pregel.In, pregel.Both} {
		if err := same2("layout", got.Layout(d), want.Layout(d)); err != nil {
			return fmt.Errorf("direction %v: %w", d, err)
		}
	}
	for _, f := range []struct {
		name      string
		got, want any
	}{
		{"Owned", got.Owned, want.Owned},
		{"Of", got.Of, want.Of},
		{"Slots", got.Slots, want.Slots},
		{"OutDegrees", got.OutDegrees, want.OutDegrees},
		{"InDegrees", got.InDegrees, want.InDegrees},
		{"In", got.In, want.In},
		{"Out", got.Out, want.Out},
		{"Grid", got.Grid, want.Grid},
		{"Column", got.Column, want.Column},
		{"Row", got.Row, want.Row},
	} {
		if err := same2(f.name, f.got, f.want); err != nil {
			return err
		}
	}
	return nil
}

func same2(name string, got, want any) error {
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("%s: got %+v, want %+v", name, got, want)
	}
	return nil
}

// compareDirectory looks up vertices in all possible ways.
func compareDirectory(t testing.TB, rng *rand.Rand, got []built, want *graph.Graph) error {
	labels := []uint64{0, 1, 1 << 40, 1<<64 - 1, 1<<64 - 2}
	for id := range want.N {
		label := want.Label(pregel.VertexID(id))
		labels = append(labels, label, label+1)
	}
	for _, label := range labels {
		id, ok := want.Find(label)
		knows := 0
		for rank, b := range got {
			if here, found := b.d.Local(label); found {
				if knows++; here != id || !ok {
					return fmt.Errorf("rank %d has %d as %d, want %d, %t", rank, label, here, id,
						ok)
				}
			}
		}
		if ok && knows != 1 {
			return fmt.Errorf("%d ranks know %d", knows, label)
		}
	}
	asked := make([][]uint64, len(got))
	for rank := range asked {
		for range rng.IntN(20) {
			asked[rank] = append(asked[rank], labels[rng.IntN(len(labels))])
		}
	}
	errs := make([]error, len(got))
	everywhere(t, len(got), func(rank int, group *collective.Group) {
		d := got[rank].d
		var known []pregel.VertexID
		var names []uint64
		for _, label := range asked[rank] {
			id, ok := want.Find(label)
			if ok {
				known, names = append(known, id), append(names, label)
			}
		}
		known, names = append(known, pregel.None), append(names, 1<<64-1)
		back, err := d.Labels(t.Context(), group, collective.Call{Tag: 60}, known)
		if err == nil && !slices.Equal(back, names) {
			err = fmt.Errorf("labels %v, want %v", back, names)
		}
		errs[rank] = errors.Join(errs[rank], err)
	})
	return errors.Join(errs...)
}
