package engine_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/transport"
	"github.com/superstep-go/superstep/pregel"
)

// Partitions that are lost and computed again, while the others stay as they are, lead to the same result as if none had been lost.

// witness is processes whose run is recorded as a cluster records it, all of it.
type witness struct {
	processes
	d         *bsp.Driver
	logs      []*transport.Log
	borders   []*checkpoint.Borders
	commands  map[int]*bsp.Command
	marks     map[int]map[int]bsp.Mark
	manifests map[int]*checkpoint.Manifest
	parts     map[int][]*checkpoint.Part // of all partitions
}

// cloned returns a command whose totals do not change any more.
func cloned(t *testing.T, c *bsp.Command, a bsp.Aggregates) *bsp.Command {
	t.Helper()
	data, err := a.Encode(nil, c.Totals)
	check(t, err)
	copied := *c
	copied.Save, copied.Totals = 0, a.Cells()
	check(t, a.Decode(data, copied.Totals))
	return &copied
}

// watched binds a program to a process for each partition, and records the run that begins then.
func watched[V, M any](t *testing.T, s setting, shape shape, kind edges.Weights, program pregel.Program[V, M], most int64) *witness {
	t.Helper()
	w := &witness{
		commands: map[int]*bsp.Command{}, marks: map[int]map[int]bsp.Mark{}, manifests: map[int]*checkpoint.Manifest{}, parts: map[int][]*checkpoint.Part{},
	}
	g := shape.loadAs(t, s, kind)
	p, err := engine.Erase(program)
	check(t, err)
	var facts []*bsp.Facts
	for i := range s.parts {
		o := teamed(t, s)
		o.Borders = checkpoint.NewBorders(1)
		j, err := p.Bind(t.Context(), g.WithPartitions(i), o)
		check(t, err)
		t.Cleanup(j.Close)
		w.processes, facts = append(w.processes, j), append(facts, j.Facts())
		w.logs, w.borders = append(w.logs, transport.NewLog(most)), append(w.borders, o.Borders)
	}
	w.d, err = p.Driver(s.o, facts)
	check(t, err)
	return w
}

// begin connects the processes.
func (w *witness) begin(t *testing.T) {
	t.Helper()
	local := transport.NewLocal(len(w.processes))
	for i, j := range w.processes {
		check(t, j.Begin(t.Context(), func(q int) transport.Endpoint {
			return w.logs[i].Endpoint(local.Endpoint(q), func(to int) bool { return to == i })
		}, local.Close))
	}
}

// recording is a witness while its run goes on.
type recording struct {
	*witness
	t *testing.T
}

func (w recording) Superstep(ctx context.Context, c *bsp.Command) ([]*bsp.Report, error) {
	w.commands[c.Superstep] = cloned(w.t, c, w.d.Aggregates())
	reports, err := w.processes.Superstep(ctx, c)
	w.marks[c.Superstep] = map[int]bsp.Mark{}
	for _, r := range reports {
		w.marks[c.Superstep][r.Partition.Partition] = bsp.MarkOf(r)
	}
	for _, b := range w.borders {
		w.parts[c.Superstep] = append(w.parts[c.Superstep], b.Before(c.Superstep)...)
	}
	return reports, err
}

// again returns a superstep as lost partitions compute it again.
func (w *witness) again(superstep int, lost []int) *engine.Again {
	a := &engine.Again{Command: w.commands[superstep], Marks: map[int]bsp.Mark{}}
	for i, l := range w.logs {
		if !slices.Contains(lost, i) {
			a.Sent = append(a.Sent, l.To(superstep, func(q int) bool { return slices.Contains(lost, q) })...)
		}
	}
	for _, i := range lost {
		a.Marks[i] = w.marks[superstep][i]
	}
	return a
}

// confined loses partitions of a run at random borders and computes them again from random checkpoints before.
func confined[V, M any](t *testing.T, s setting, seed uint64, kind edges.Weights, program func() pregel.Program[V, M]) {
	t.Helper()
	all := shapes(seed)
	shape := all[len(all)-1-int(seed)%2*len(all)/2] // directed, or not
	place, _, _ := keeping(t, shape.loadAs(t, s, kind), program(), s)
	found, err := checkpoint.List(t.Context(), place)
	check(t, err)
	w := watched(t, s, shape, kind, program(), 1<<30)
	w.begin(t)
	g := shape.loadAs(t, s, kind)
	driven := bspBorders(t, s, w, program)
	o, err := driven.Run(t.Context(), recording{w, t})
	check(t, err)
	check(t, w.processes[0].Recomputable())
	want := w.values(g)
	_, plain := run(t, g, program(), s)
	if plain.Supersteps != o.Supersteps || plain.Messages != o.Messages {
		t.Fatalf("%s, %v: %+v, expected %+v", shape.name, s, o, plain)
	}
	if o.Supersteps < 3 {
		return
	}
	rng := rand.New(rand.NewPCG(seed, 11))
	slices.Reverse(found) // by superstep
	for range 3 {
		if len(found) == 0 {
			return
		}
		from := found[rng.IntN(len(found))].Manifest
		until := from.Superstep + rng.IntN(max(o.Supersteps-from.Superstep, 1))
		lost := rng.Perm(s.parts)[:1+rng.IntN(s.parts-1)]
		slices.Sort(lost)
		what := fmt.Sprintf("%s, %v, partitions %v lost before superstep %d, from the checkpoint before %d", shape.name, s, lost, until, from.Superstep)

		p, err := engine.Erase(program())
		check(t, err)
		o2 := teamed(t, s)
		j, err := p.Bind(t.Context(), g.WithPartitions(lost...), o2)
		check(t, err)
		borders := checkpoint.NewBorders(len(lost))
		err = engine.Recompute(t.Context(), j, s.parts, &checkpoint.Reader{Store: place, Manifest: from}, until, func(superstep int) (*engine.Again, error) {
			return w.again(superstep, lost), nil
		}, borders)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		j.Close()
		sameParts(t, what, s, borders.Before(until), w.parts[until])
		next := watched(t, s, shape, kind, program(), 1<<30)
		next.begin(t)
		m := *w.manifests[until]
		m.Parts, m.Graph.Print = make([]checkpoint.Stored, s.parts), from.Graph.Print
		held := map[int]*checkpoint.Part{}
		for _, part := range w.parts[until] {
			if !slices.Contains(lost, part.Partition) {
				held[part.Partition] = part
			}
		}
		for _, part := range borders.Before(until) {
			held[part.Partition] = part
		}
		var facts []*bsp.Facts
		for _, j := range next.processes {
			check(t, j.Restore(t.Context(), &checkpoint.Reader{Manifest: &m, Held: held}))
			facts = append(facts, j.Facts())
		}
		check(t, next.d.GoOn(&m, facts))
		end, err := next.d.Run(t.Context(), next.processes)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if end.Supersteps != o.Supersteps || end.Messages != o.Messages || end.Converged != o.Converged {
			t.Fatalf("%s: %+v, expected %+v", what, end, o)
		}
		for v, text := range next.values(g) {
			if text != want[v] {
				t.Fatalf("%s: vertex %d is %s, expected %s", what, v, text, want[v])
			}
		}
	}
}

// bspBorders makes the driver of a witness anew, so that it tells of manifests.
func bspBorders[V, M any](t *testing.T, s setting, w *witness, program func() pregel.Program[V, M]) *bsp.Driver {
	t.Helper()
	p, err := engine.Erase(program())
	check(t, err)
	var facts []*bsp.Facts
	for _, j := range w.processes {
		facts = append(facts, j.Facts())
	}
	s.o.Border = func(m *checkpoint.Manifest) { w.manifests[m.Superstep] = m }
	w.d, err = p.Driver(s.o, facts)
	check(t, err)
	return w.d
}

// sameParts compares the states of partitions that were computed again with those that they had; with several threads messages to single vertices
// may lie in another order, and what a monotone program leaves out may vary.
func sameParts(t *testing.T, what string, s setting, again, were []*checkpoint.Part) {
	t.Helper()
	for _, p := range again {
		i := slices.IndexFunc(were, func(q *checkpoint.Part) bool { return q.Partition == p.Partition })
		for _, section := range p.Sections {
			data, ok := were[i].Section(section.Name)
			varies := s.threads > 1 && slices.Contains([]string{"to", "from", "sends"}, section.Name) || !s.o.Deterministic && strings.HasPrefix(section.Name, "best")
			if !ok || !varies && !slices.Equal(data, section.Data) {
				t.Errorf("%s: section %s of partition %d differs", what, section.Name, p.Partition)
			}
		}
	}
}

// confinedWays are settings of flat grids of two partitions and more.
func confinedWays() (ways []setting) {
	for _, s := range rerunWays(false) {
		if s.parts > 1 {
			ways = append(ways, s)
		}
	}
	return append(ways, setting{parts: 4, threads: 1}, setting{parts: 4, threads: 2, o: engine.Options{Deterministic: true, Serial: true}})
}

func TestLostPartitionsAreComputedAgain(t *testing.T) {
	for i, s := range confinedWays() {
		for _, seed := range []uint64{uint64(i), uint64(i) + 100} {
			t.Run(fmt.Sprintf("%d", seed), func(t *testing.T) {
				p := chaos[int64]{
					seed: seed, direction: pregel.Direction(seed % 4), blind: true, combiner: combiners.Sum[int64](),
					to: func(_ at[int64], h uint64) int64 { return int64(h % 100) }, from: func(x int64) uint64 { return uint64(x) },
				}
				form := (i + i/4) % 4
				if form == 3 && p.direction == pregel.Either {
					p.direction = pregel.In
				}
				confined(t, s, seed, 0, func() pregel.Program[uint64, int64] { return rerunForms(p)[form] })
				confined(t, s, seed, edges.Float64, func() pregel.Program[float64, float64] { return algorithms.SSSP[float64]{} })
				confined(t, s, seed, 0, func() pregel.Program[pregel.VertexID, pregel.VertexID] { return vertexWCC{} })
				if s.o.Deterministic {
					confined(t, s, seed, 0, func() pregel.Program[int64, int64] { return algorithms.BFSLevels{} })
					confined(t, s, seed, 0, func() pregel.Program[float64, float64] { return algorithms.PageRank{Iterations: 12} })
				}
				if s.o.Delivery == 0 && !s.o.Uncombined {
					confined(t, s, seed, 0, func() pregel.Program[string, int64] { return countingUp(pregel.Direction(i % 4)) })
				}
			})
		}
	}
}

// TestRecomputeFails has frames, marks and what others had sent differ from what was.
func TestRecomputeFails(t *testing.T) {
	s := setting{parts: 3, threads: 1, o: engine.Options{Deterministic: true}}
	shape := shapes(3)[9]
	program := algorithms.PageRank{Iterations: 8}
	place, _, _ := keeping(t, shape.loadAs(t, s, 0), program, s)
	found, err := checkpoint.List(t.Context(), place)
	check(t, err)
	from := found[slices.IndexFunc(found, func(l checkpoint.Listed) bool { return l.Manifest.Superstep == 2 })].Manifest
	w := watched(t, s, shape, 0, program, 1<<30)
	w.begin(t)
	_, err = w.d.Run(t.Context(), recording{w, t})
	check(t, err)
	recompute := func(spoil func(a *engine.Again)) error {
		p, err := engine.Erase(program)
		check(t, err)
		j, err := p.Bind(t.Context(), shape.loadAs(t, s, 0).WithPartitions(0, 2), teamed(t, s))
		check(t, err)
		defer j.Close()
		return engine.Recompute(t.Context(), j, 3, &checkpoint.Reader{Store: place, Manifest: from}, 6, func(superstep int) (*engine.Again, error) {
			a := w.again(superstep, []int{0, 2})
			if superstep == 4 {
				spoil(a)
			}
			return a, nil
		}, checkpoint.NewBorders(2))
	}
	check(t, recompute(func(*engine.Again) {}))
	if err := recompute(func(a *engine.Again) { a.Sent = a.Sent[:1] }); !errors.Is(err, transport.ErrMissing) {
		t.Errorf("a frame is missing: %v", err)
	}
	if err := recompute(func(a *engine.Again) { a.Marks[2] = bsp.Mark{} }); err == nil || !strings.Contains(err.Error(), "superstep 4: partition 2 did not do what it did before") {
		t.Errorf("another mark: %v", err)
	}
}

// TestRecomputable says of programs why their partitions cannot be computed again by themselves.
func TestRecomputable(t *testing.T) {
	g := shapes(1)[8].loadAs(t, setting{parts: 2}, 0)
	grid := shapes(1)[8].loadAs(t, twoByTwo, 0)
	why := func(p pregel.Program[pregel.VertexID, pregel.VertexID], s setting) string {
		of := g
		if s.grid.Rows > 1 {
			of = grid
		}
		j, err := engine.NewJob(t.Context(), of, p, s.o)
		check(t, err)
		defer j.Close()
		return cmp.Or(fmt.Sprint(j.Recomputable()), "")
	}
	for _, c := range []struct {
		p    pregel.Program[pregel.VertexID, pregel.VertexID]
		s    setting
		want string
	}{
		{algorithms.BFS{}, setting{}, "any one of the messages to a vertex may be taken"},
		{algorithms.BFS{}, setting{o: engine.Options{Deterministic: true}}, "<nil>"},
		{vertexWCC{}, setting{}, "<nil>"},
		{algorithms.WCC{}, setting{}, "it has a plan of phases"},
		{vertexWCC{}, twoByTwo, "the grid 2x2 is not flat"},
	} {
		if got := why(c.p, c.s); !strings.Contains(got, c.want) {
			t.Errorf("%T, %v: %s", c.p, c.s, got)
		}
	}
	ranks, err := engine.NewJob(t.Context(), g, algorithms.PageRank{}, engine.Options{})
	check(t, err)
	defer ranks.Close()
	if err := ranks.Recomputable(); err == nil || !strings.Contains(err.Error(), "depends on the order of messages") {
		t.Errorf("PageRank: %v", err)
	}
}
