package graph

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/wire"
	"github.com/superstep-go/superstep/pregel"
)

// share is one partition of an undirected graph with MaxVertices vertices and MaxPartitions
// partitions, and the messages of the other partitions, which do not exist. An arc is receiver <<
// 32 | sender.
type share struct {
	grid Grid
	p    int
	n    uint64
	kind edges.Weights // Unweighted or Float32
	own  []uint64      // arcs to vertices that the partition owns, sorted
	// By partition of the row: its arcs that belong to this block, sorted.
	sent map[int][]uint64
	// The owned vertices that are ghosts of others: receivers, senders; in a flat grid only
	// senders.
	sets [2]map[int][]uint64
	all  []uint64            // arcs of the block, sorted
	got  [2]map[int][]uint64 // the sets that the partition has sent, by side
	call int
}

// draw returns a random number below n. Small numbers are most likely, and some are among the last.
func draw(rng *rand.Rand, n uint64) uint64 {
	switch rng.IntN(16) {
	case 0:
		return n - 1 - rng.Uint64N(min(n, 100))
	case 1, 2, 3, 4, 5, 6, 7, 8:
		return rng.Uint64N(max(n>>rng.IntN(24), 1))
	}
	return rng.Uint64N(n)
}

// newShare draws arcs random arcs to the vertices of a partition, and as many to each other
// partition of its row.
func newShare(grid Grid, p, arcs int, kind edges.Weights) *share {
	s := &share{grid: grid, p: p, n: MaxVertices, kind: kind, sent: map[int][]uint64{}}
	rng := rand.New(rand.NewPCG(1, 9))
	parts := uint64(grid.Partitions())
	vertex := func(owner int) uint64 {
		return draw(rng, uint64(owned(int(s.n), owner, int(parts))))*parts + uint64(owner)
	}
	for range arcs {
		s.own = append(s.own, vertex(p)<<32|draw(rng, s.n))
	}
	for _, u := range []uint64{0, 1<<31 - 1, 1 << 31, s.n - parts, s.n - 1} {
		s.own = append(s.own, (s.n-parts+uint64(p))<<32|u)
	}
	slices.Sort(s.own)
	for k := range s.sets {
		s.sets[k], s.got[k] = map[int][]uint64{}, map[int][]uint64{}
	}
	if grid.Flat() {
		s.all = s.own
		for _, q := range grid.column(p) {
			s.sets[0][q] = s.set(p)
			for range max(arcs/int(parts), 1) {
				bitmap.Set(s.sets[0][q], uint32(vertex(p)/parts))
			}
		}
		return s
	}
	for _, q := range grid.row(p) {
		for range arcs / grid.Columns {
			s.sent[q] = append(s.sent[q],
				vertex(q)<<32|vertex(grid.At(rng.IntN(grid.Rows), grid.Column(p))))
		}
		slices.Sort(s.sent[q])
		s.all = append(s.all, s.sent[q]...)
		s.sets[0][q] = s.set(p)
	}
	for _, q := range grid.column(p) {
		s.sets[1][q] = s.set(p)
		for range arcs / int(parts) {
			bitmap.Set(s.sets[1][q], uint32(vertex(p)/parts))
		}
	}
	for _, arc := range s.own {
		if q := s.block(arc); q != p {
			bitmap.Set(s.sets[0][q], uint32(arc>>32)/uint32(parts))
		} else {
			s.all = append(s.all, arc)
		}
	}
	slices.Sort(s.all)
	return s
}

// set returns an empty set of a partition's vertices. block returns the partition of an arc to an
// owned vertex.
func (s *share) set(q int) []uint64 {
	return make([]uint64, bitmap.Words(owned(int(s.n), q, s.grid.Partitions())))
}

func (s *share) block(arc uint64) int {
	parts := uint64(s.grid.Partitions())
	return s.grid.Arc(int(arc&math.MaxUint32%parts), int(arc>>32%parts))
}

// weight returns the weight of an arc. weights returns those of some arcs, or nil if arcs have
// none.
func (s *share) weight(arc uint64) float32 { return float32(arc*0x9e3779b97f4a7c15>>44) / 8 }

func (s *share) weights(arcs []uint64) (all []float32) {
	if s.kind == edges.Unweighted {
		return nil
	}
	for _, arc := range arcs {
		all = append(all, s.weight(arc))
	}
	return all
}

// exchange is an Exchange that simulates all other partitions: it checks the messages of this
// partition, and answers them.
func (s *share) exchange(
	_ context.Context, send iter.Seq[Message], take func(Message) error,
) error {
	s.call++
	if s.grid.Flat() || s.call == 3 {
		return s.exchangeSets(send, take)
	}
	counts := make([]uint32, owned(int(s.n), s.p, s.grid.Partitions()))
	parts := uint32(s.grid.Partitions())
	if s.call == 1 {
		for m := range send {
			clear(counts)
			for _, arc := range s.own {
				if s.block(arc) == m.To {
					counts[uint32(arc>>32)/parts]++
				}
			}
			if !slices.Equal(m.Data, AppendCounts(nil, counts)) {
				return fmt.Errorf("wrong lengths for partition %d", m.To)
			}
		}
		for q, arcs := range s.sent {
			clear(counts)
			for _, arc := range arcs {
				counts[uint32(arc>>32)/parts]++
			}
			if err := take(Message{q, s.p, AppendCounts(nil,
				counts[:owned(int(s.n), q, int(parts))])}); err != nil {
				return err
			}
		}
		return nil
	}
	next := map[int]int{}
	came := map[int][]uint32{}
	for m := range send {
		first, n := int(binary.LittleEndian.Uint32(m.Data)), (len(m.Data)-4)/4
		if s.kind != edges.Unweighted {
			n /= 2
		}
		if first != next[m.To] {
			return fmt.Errorf("arcs from %d on for partition %d, expected from %d on", first, m.To,
				next[m.To])
		}
		next[m.To] += n
		came[m.To] = append(came[m.To], wire.Slice[uint32](slices.Clone(m.Data[4:4+4*n]))...)
	}
	for _, arc := range s.own {
		q := s.block(arc)
		if q == s.p {
			continue
		}
		if len(came[q]) == 0 || came[q][0] != uint32(arc) {
			return fmt.Errorf("partition %d does not get the arc from %d to %d", q, uint32(arc),
				arc>>32)
		}
		came[q] = came[q][1:]
	}
	for q, arcs := range s.sent {
		for first := 0; first < len(arcs); first += pieceArcs {
			some := arcs[first:min(first+pieceArcs, len(arcs))]
			data := binary.LittleEndian.AppendUint32(nil, uint32(first))
			for _, arc := range some {
				data = binary.LittleEndian.AppendUint32(data, uint32(arc))
			}
			data = append(data, wire.Bytes(s.weights(some))...)
			if err := take(Message{q, s.p, data}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *share) exchangeSets(send iter.Seq[Message], take func(Message) error) error {
	for m := range send {
		set := s.set(m.To)
		if err := readSet(m.Data[1:], set, owned(int(s.n), m.To, s.grid.Partitions())); err != nil {
			return err
		}
		s.got[m.Data[0]][m.To] = set
	}
	for side, sets := range s.sets {
		for q, set := range sets {
			if err := take(Message{q, s.p, appendSet([]byte{byte(side)}, set)}); err != nil {
				return err
			}
		}
	}
	return nil
}

// build makes the partition.
func (s *share) build(
	ctx context.Context, team *parallel.Team, meter *mem.Budget,
) (*Graph, *Builder, error) {
	g := &Graph{N: int(s.n), Connected: int(s.n), Labels: edges.Consecutive(1)}
	a, err := NewBuilder(g, Options{Grid: s.grid, Weights: s.kind, Team: team, Budget: meter})
	if err != nil {
		return nil, nil, err
	}
	a.Own([]int{s.p}, false)
	parts := uint64(s.grid.Partitions())
	arcs, id := s.own, uint64(s.p)
	for ; id < s.n; id += parts {
		n := 0
		for n < len(arcs) && arcs[n]>>32 == id {
			n++
		}
		arcs = arcs[n:]
		a.Vertex(pregel.VertexID(id), Facts{Label: s.n - id, Out: uint32(n), In: uint32(n)})
	}
	in, err := a.Scatter(true, func(p *Partition, row uint32) int { return int(p.InDegrees[row]) })
	if err != nil {
		return g, a, err
	}
	mixed := slices.Clone(s.own)
	rand.New(rand.NewPCG(2, 9)).Shuffle(len(mixed),
		func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
	in.putArcs(mixed, WeightColumn{Single: s.weights(mixed)})
	if err := in.Finish(ctx); err != nil {
		return g, a, err
	}
	return g, a, a.Link(ctx, s.exchange)
}

// check compares the partition with the drawn arcs, in the lists for pulls and for pushes.
func (s *share) check(t *testing.T, g *Graph) {
	t.Helper()
	p := g.Parts[s.p]
	l := p.Layout(pregel.Out).Blocks[0]
	bySender, err := p.SendersView(t.Context(), l.Pull)
	if err != nil {
		t.Fatal(err)
	}
	value := func(id uint64) uint64 { return (id + 1) * 0x9e3779b97f4a7c15 }
	want := map[uint64]uint64{}
	for _, arc := range s.all {
		want[arc>>32] += value(uint64(uint32(arc)))
	}
	pulled, pushed := make([]uint64, p.Slots), make([]uint64, p.Slots)
	var in, out []uint64
	walk := func(a *Adjacency, f func(row, neighbor uint32) (arc uint64)) {
		bitmap.Each(a.Bits, func(row uint32) {
			lo, hi := a.Row(row)
			for i := lo; i < hi; i++ {
				arc := f(row, a.Adj[i])
				if s.kind != edges.Unweighted && a.Weights32[i] != s.weight(arc) {
					t.Fatalf("the arc from %d to %d has weight %g, want %g", uint32(arc), arc>>32,
						a.Weights32[i], s.weight(arc))
				}
			}
		})
	}
	walk(l.Pull.ByReceiver, func(v, u uint32) uint64 {
		pulled[v] += value(p.slots.ID(u))
		in = append(in, p.slots.ID(v)<<32|p.slots.ID(u))
		return in[len(in)-1]
	})
	walk(bySender, func(u, v uint32) uint64 {
		pushed[v] += value(p.slots.ID(u))
		out = append(out, p.slots.ID(v)<<32|p.slots.ID(u))
		return out[len(out)-1]
	})
	slices.Sort(in)
	slices.Sort(out)
	if !slices.Equal(in, s.all) || !slices.Equal(out, s.all) {
		t.Errorf("%d arcs by receiver and %d by sender, want %d, or others", len(in), len(out),
			len(s.all))
	}
	for slot := range uint32(p.Slots) {
		if slot >= uint32(p.Owned) && slot < p.slots.Ghost {
			continue
		}
		if id := p.slots.ID(slot); pulled[slot] != pushed[slot] || pulled[slot] != 0 &&
			pulled[slot] != want[id] {
			t.Fatalf("vertex %d gets %d by a pull and %d by a push, want %d", id, pulled[slot],
				pushed[slot], want[id])
		}
		if pulled[slot] != 0 {
			delete(want, p.slots.ID(slot))
		}
	}
	if len(want) > 0 {
		t.Errorf("%d vertices get nothing", len(want))
	}
	for _, local := range []uint32{0, uint32(p.Owned) / 2, uint32(p.Owned) - 1} {
		if id := p.Global(local); g.Label(id) != s.n-uint64(id) {
			t.Errorf("vertex %d has input id %d", id, g.Label(id))
		}
	}
	s.checkSides(t, p, l)
}

// checkSides compares the lists of shared vertices: those that the partition has sent, and those
// that it has received.
func (s *share) checkSides(t *testing.T, p *Partition, l Blocks) {
	t.Helper()
	parts := uint64(s.grid.Partitions())
	sides := []*Side{l.Pull.Receivers, l.Pull.Senders}
	if s.grid.Flat() {
		sides = sides[1:]
	}
	ghosts := [2]map[int][]uint64{}
	for k := range ghosts {
		ghosts[k] = map[int][]uint64{}
		for q := range s.got[k] {
			ghosts[k][q] = s.set(q)
		}
	}
	for _, arc := range s.all {
		u, v := uint64(uint32(arc)), arc>>32
		switch {
		case s.grid.Flat() && int(u%parts) != s.p:
			bitmap.Set(ghosts[0][int(u%parts)], uint32(u/parts))
		case !s.grid.Flat():
			if q := int(v % parts); q != s.p {
				bitmap.Set(ghosts[0][q], uint32(v/parts))
			}
			if q := int(u % parts); q != s.p {
				bitmap.Set(ghosts[1][q], uint32(u/parts))
			}
		}
	}
	set := s.set(s.p)
	for k, side := range sides {
		for q := range ghosts[k] {
			told, shared := s.got[k][q], s.sets[k][q] // ghosts of this partition, and of the other
			clear(set)
			list := side.Peers.Of(q)
			list.Each(func(i uint32) { bitmap.Set(set, i) })
			if !slices.Equal(set, shared) || !slices.Equal(told, ghosts[k][q]) ||
				int(side.Groups[q].Count) != bitmap.Count(told) {
				t.Fatalf("side %d: partition %d: %d shared, %d ghosts of %d", k, q,
					bitmap.Count(set), side.Groups[q].Count, bitmap.Count(told))
			}
		}
	}
}

// TestShareOfLargestGraph builds one partition of a graph with the largest numbers of vertices and
// partitions, so that all ids need 32 bits, with weights and, in make soak, without. It compares the partition
// with the arcs one by one.
func TestShareOfLargestGraph(t *testing.T) {
	for _, test := range []struct {
		grid Grid
		arcs int
		kind edges.Weights
		need int64
	}{
		{Grid{64, 64}, 1 << 16, edges.Float32, 1 << 30},
		{Grid{64, 64}, 1 << 16, edges.Unweighted, 1 << 30},
		{Of(MaxPartitions), 1 << 20, edges.Float32, 6 << 30},
	} {
		t.Run(fmt.Sprint(test.grid, test.kind), func(t *testing.T) {
			if testing.Short() || os.Getenv("SUPERSTEP_LARGE") == "" && (test.grid.Flat() || test.kind == edges.Unweighted) {
				t.Skip("long, and takes much memory")
			}
			if free := mem.Available(); free > 0 && free < test.need {
				t.Skipf("%s of memory are free, expected %s", mem.Text(free), mem.Text(test.need))
			}
			team := parallel.NewTeam(2, false)
			defer team.Close()
			meter := mem.NewBudget(1<<40, "")
			s := newShare(test.grid, 1234, test.arcs, test.kind)
			g, a, err := s.build(t.Context(), team, meter)
			if err != nil {
				t.Fatal(err)
			}
			a.End()
			t.Logf("%d arcs, %d slots, %s at the peak", len(s.all), g.Parts[s.p].Slots,
				mem.Text(meter.Use().Peak))
			s.check(t, g)
			if g.Close(); meter.Use().Memory != 0 {
				t.Errorf("%d bytes are still there", meter.Use().Memory)
			}
		})
	}
}
