package engine_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/transport"
	"github.com/superstep-go/superstep/pregel"
)

// aheadFrames has frames that were sent ahead, by receiver, and their states.
type aheadFrames struct {
	mu                                 sync.Mutex
	random                             *rand.Rand
	frames                             map[aheadKey][]*transport.Frame
	sent, claimed, received, unclaimed int
	// number of frames sent while vertices of the previous superstep ran
	early int
	// frames that were sent and not yet claimed, by sender
	open map[[2]aheadKey]int
	// A frame was claimed that was not sent in this run. The receiver would wait for it forever.
	missing bool
	broken  func()
}

type aheadKey struct {
	to, superstep int
	kind          transport.Kind
}

// take removes and returns a random frame among those received.
func (a *aheadFrames) take(k aheadKey) *transport.Frame {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := a.frames[k]
	if len(all) == 0 {
		return nil
	}
	i := a.random.IntN(len(all))
	f := all[i]
	a.frames[k] = slices.Delete(all, i, i+1)
	a.received++
	return f
}

func (a *aheadFrames) chance(n int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.random.IntN(n) == 0
}

// aheadEndpoint passes on most frames that are sent ahead, in any order: before the frames of their
// superstep, between them or after them.
type aheadEndpoint struct {
	transport.Endpoint
	self, superstep int
	all             *aheadFrames
}

func (*aheadEndpoint) Distant(int) bool { return true }

func (e *aheadEndpoint) SendAhead(f *transport.Frame) (bool, error) {
	if e.all.chance(9) {
		return false, nil
	}
	c := *f
	c.Presence, c.Raw = slices.Clone(f.Presence), slices.Clone(f.Raw)
	e.all.mu.Lock()
	defer e.all.mu.Unlock()
	k := aheadKey{f.To, f.Superstep, f.Kind}
	e.all.frames[k] = append(e.all.frames[k], &c)
	e.all.open[[2]aheadKey{{to: e.self}, k}]++
	e.all.sent++
	if e.superstep < f.Superstep {
		e.all.early++
	}
	return true, nil
}

func (e *aheadEndpoint) Claim(f *transport.Frame) {
	e.all.mu.Lock()
	defer e.all.mu.Unlock()
	e.all.claimed++
	k := [2]aheadKey{{to: e.self}, {f.To, f.Superstep, f.Kind}}
	if e.all.open[k]--; e.all.open[k] < 0 {
		e.all.missing = true
		e.all.broken()
	}
}

func (e *aheadEndpoint) Poll(kind transport.Kind) (*transport.Frame, error) {
	if e.all.chance(2) {
		if f, err := e.Endpoint.Poll(kind); f != nil || err != nil {
			return f, err
		}
	}
	if f := e.all.take(aheadKey{e.self, e.superstep, kind}); f != nil {
		return f, nil
	}
	return e.Endpoint.Poll(kind)
}

func (e *aheadEndpoint) End(ctx context.Context, superstep int) (*transport.Account, error) {
	e.all.mu.Lock()
	for _, kind := range []transport.Kind{transport.Expand, transport.ExpandReversed} {
		k := aheadKey{e.self, superstep, kind}
		e.all.unclaimed += len(e.all.frames[k])
		delete(e.all.frames, k)
	}
	e.all.mu.Unlock()
	e.superstep = superstep + 1
	return e.Endpoint.End(ctx, superstep)
}

// aheadJobs has jobs of a program in one process per partition. Columns have many parts, which are
// sent ahead.
type aheadJobs struct {
	g *graph.Graph
	processes
	frames *aheadFrames
}

func newAheadJobs[V, M any](
	t *testing.T, g *graph.Graph, p pregel.Program[V, M], o engine.Options, seed uint64,
) (*aheadJobs, *bsp.Driver) {
	t.Helper()
	o.Sizes.PartBytes, o.Sizes.FewEdges = 16, 1<<20
	shareWork(&o, 64)
	all, d := apart(t, g, p, o, alone(g))
	cutChunks(t, g, pregel.Erase(p)) // so that some vertices still run when columns are sent
	return &aheadJobs{g, all, &aheadFrames{random: rand.New(rand.NewPCG(seed, 41))}}, d
}

// run runs the jobs once.
func (a *aheadJobs) run(t *testing.T, d *bsp.Driver) {
	t.Helper()
	local, f := transport.NewLocal(len(a.g.Parts)), a.frames
	f.frames, f.open, f.broken = map[aheadKey][]*transport.Frame{},
		map[[2]aheadKey]int{}, local.Close
	_, err := a.processes.run(t.Context(), d, func(i int) transport.Endpoint {
		return &aheadEndpoint{Endpoint: local.Endpoint(i), self: i, all: f}
	}, local.Close)
	if f.missing || f.claimed != f.received {
		t.Fatalf("%d frames sent ahead were claimed, %d received; some not sent in this run: %t",
			f.claimed, f.received, f.missing)
	}
	check(t, err)
}

// aheadValues returns the values of all vertices.
func aheadValues[V any](a *aheadJobs) []V {
	values := make([]V, a.g.N)
	for i, j := range a.processes {
		for local := range uint32(a.g.Deal.Owned(a.g.N, i)) {
			id := a.g.Deal.ID(i, local)
			values[id] = j.Any(pregel.VertexID(id)).(V)
		}
	}
	return values
}

// runAhead runs a program once, and returns the values.
func runAhead[V, M any](
	t *testing.T, g *graph.Graph, p pregel.Program[V, M], o engine.Options, seed uint64,
) ([]V, *aheadFrames) {
	t.Helper()
	a, d := newAheadJobs(t, g, p, o, seed)
	a.run(t, d)
	return aheadValues[V](a), a.frames
}

// TestColumnsSentAhead compares runs whose columns are sent before their superstep begins, part by
// part, with sequential twins.
func TestColumnsSentAhead(t *testing.T) {
	sum, team := aheadFrames{}, parallel.NewTeam(3, false)
	t.Cleanup(team.Close)
	for seed, way := range []setting{
		{grid: graph.Grid{Rows: 2, Columns: 1}},
		{grid: graph.Grid{Rows: 5, Columns: 1}, o: engine.Options{Delivery: delivery.ChoosePull}},
		{grid: graph.Grid{Rows: 3, Columns: 1}, o: engine.Options{Delivery: delivery.ChooseMirrored}},
		{grid: graph.Grid{Rows: 3, Columns: 1}, o: engine.Options{Delivery: delivery.ChooseLalp}},
		{grid: graph.Grid{Rows: 3, Columns: 1}, o: engine.Options{Delivery: delivery.ChoosePull, Deterministic: true}},
		{grid: graph.Grid{Rows: 2, Columns: 3}},
		{grid: graph.Grid{Rows: 3, Columns: 2}, o: engine.Options{Delivery: delivery.ChooseRingPull}},
		{grid: graph.Grid{Rows: 2, Columns: 1}, o: engine.Options{Delivery: delivery.ChooseNaive}},
		{grid: graph.Grid{Rows: 4, Columns: 1}, o: engine.Options{Delivery: delivery.ChooseBeamer}},
	} {
		for _, directed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v/%v/%t", way.grid, way.o.Delivery, directed), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(uint64(seed), 40))
				if directed {
					way.o.Team = team
				}
				s := shape{name: "random", n: 1500, directed: directed, weights: []float64{}}
				for range 6 * s.n {
					u, v := rng.IntN(s.n), rng.IntN(s.n)
					if way.grid.Flat() {
						v = rng.IntN(v + 1)
					}
					s.tuples = append(s.tuples, [2]uint64{uint64(u), uint64(v)})
					s.weights = append(s.weights, float64(rng.IntN(64))/64)
				}
				out, weights := s.adjacency()
				way.parts = way.grid.Partitions()
				g := s.loadAs(t, way, edges.Float64)
				source := slices.IndexFunc(out, func(to []int) bool { return len(to) > 0 })
				id, _ := g.Find(uint64(source))
				level, distance := levels(out, source), distances(out, weights, source)

				found, a := runAhead(t, g, algorithms.BFSLevels{Source: id}, way.o, uint64(seed))
				if way.o.Delivery == delivery.ChooseRingPull {
					way.o.Delivery = delivery.ChooseAuto // for combiners that need all messages
				}
				lengths, b := runAhead(t, g, algorithms.SSSP[float64]{Source: id}, way.o,
					uint64(seed))
				for v := range g.N {
					if in := g.Order[v]; found[v] != level[in] || lengths[v] != distance[in] {
						t.Fatalf("vertex %d has level %d and distance %g, want %d and %g", in,
							found[v], lengths[v], level[in], distance[in])
					}
				}
				rank, c := runAhead(t, g, algorithms.PageRank{Damping: 0.85, Iterations: 5}, way.o,
					uint64(seed))
				want := ranking(out, 5)
				for v := range g.N {
					if math.Abs(rank[v]-want[g.Order[v]]) > 1e-12 {
						t.Fatalf("the rank of %d is %g, want %g", g.Order[v], rank[v],
							want[g.Order[v]])
					}
				}
				component, d := runAhead(t, g, algorithms.WCC{}, way.o, uint64(seed))
				alone, _ := run(t, s.load(t, 1, edges.Unweighted), algorithms.WCC{}, setting{})
				for v := range g.N {
					if component[v] != alone[g.Order[v]] {
						t.Fatalf("%d is of component %d, of %d with one partition", g.Order[v],
							component[v], alone[g.Order[v]])
					}
				}
				for _, x := range []*aheadFrames{a, b, c, d} {
					sum.claimed, sum.unclaimed, sum.early = sum.claimed+x.claimed,
						sum.unclaimed+x.unclaimed, sum.early+x.early
					if way.o.Delivery == delivery.ChooseNaive && x.sent > 0 {
						t.Errorf("%d columns were sent ahead of pushes along own edges", x.sent)
					}
				}
			})
		}
	}
	if sum.claimed < 1000 || sum.unclaimed == 0 || sum.early < 1000 {
		t.Errorf("%d frames were claimed, %d dropped, %d sent early", sum.claimed, sum.unclaimed,
			sum.early)
	}
}

// TestAheadOfAnotherRun: frames that were sent ahead in a run that ended at its limit do not affect
// the next run, which has more supersteps.
func TestAheadOfAnotherRun(t *testing.T) {
	s := shapes(1)[20] // of 300 vertices, directed
	g := s.loadAs(t, setting{parts: 2, grid: graph.Grid{Rows: 2, Columns: 1}}, edges.Unweighted)
	program, err := engine.NewProgram(pregel.Erase(algorithms.WCC{}))
	check(t, err)
	want, _ := run(t, s.load(t, 1, edges.Unweighted), algorithms.WCC{}, setting{})
	for limit := 1; limit <= 3; limit++ {
		o := engine.Options{Delivery: delivery.ChoosePull}
		a, d := newAheadJobs(t, g, algorithms.WCC{}, o, uint64(limit))
		var facts []*bsp.Facts
		for _, j := range a.processes {
			facts = append(facts, j.Facts())
		}
		o.MaxSupersteps = limit
		short, err := program.Driver(o, facts)
		check(t, err)
		if a.run(t, short); a.frames.sent == 0 {
			t.Error("nothing is sent ahead")
		}
		a.run(t, d)
		for v, component := range aheadValues[pregel.VertexID](a) {
			if component != want[g.Order[v]] {
				t.Fatalf("after a run of %d supersteps %d is of component %d, want %d", limit,
					g.Order[v], component, want[g.Order[v]])
			}
		}
	}
}

// TestNothingAheadOverFastLinks: over links with little delay, columns are sent early only if all
// vertices send.
func TestNothingAheadOverFastLinks(t *testing.T) {
	rng := rand.New(rand.NewPCG(50, 40))
	s := shape{name: "random", n: 6000}
	for range 6 * s.n {
		s.tuples = append(s.tuples, [2]uint64{uint64(rng.IntN(s.n)), uint64(rng.IntN(s.n))})
	}
	for _, delay := range []float64{50e-6, 1e-3} {
		way := setting{parts: 3, grid: graph.Grid{Rows: 3, Columns: 1}, o: engine.Options{Delivery: delivery.ChoosePull, Beta: delay}}
		g := s.loadAs(t, way, edges.Unweighted)
		source := slices.IndexFunc(s.tuples, func(e [2]uint64) bool { return e[0] != e[1] })
		id, _ := g.Find(s.tuples[source][0])
		_, bfs := runAhead(t, g, algorithms.BFSLevels{Source: id}, way.o, 1)
		_, rank := runAhead(t, g, algorithms.PageRank{Damping: 0.85, Iterations: 5}, way.o, 1)
		if slow := delay > 300e-6; bfs.sent > 0 != slow || rank.sent == 0 {
			t.Errorf("with a delay of %g s BFS sent %d frames ahead, PageRank %d", delay, bfs.sent,
				rank.sent)
		}
	}
}

// TestOrderOfAnEarlyPull: every chunk runs once, and Ran returns only words that have run.
func TestOrderOfAnEarlyPull(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 42))
	for range 300 {
		n := 1 + rng.IntN(12)
		chunks := []uint32{0}
		for range n {
			chunks = append(chunks, chunks[len(chunks)-1]+1+rng.Uint32N(3))
		}
		tail := rng.IntN(n)
		early := delivery.EarlyOrder{Hubs: rng.IntN(tail + 1), Tail: tail}
		var order []int
		for k := range n {
			order = append(order, early.Chunk(k, n))
		}
		have := map[int]bool{}
		for k := range n + 1 {
			says, some := early.Ran(k, chunks), false
			for first := range int(chunks[n]) {
				for last := first; last < int(chunks[n]) && says.All(first, last); last++ {
					some = true
					for w := first; w <= last; w++ {
						if !have[w] {
							t.Fatalf("chunks %v, order %v: when %d have run, word %d is said to have", chunks, order, k, w)
						}
					}
				}
			}
			if k > 0 && !some {
				t.Fatalf("chunks %v, order %v: when %d have run, no word is said to have", chunks,
					order, k)
			}
			if k == n {
				break
			}
			for w := chunks[order[k]]; w < chunks[order[k]+1]; w++ {
				if have[int(w)] {
					t.Fatalf("chunks %v: order %v", chunks, order)
				}
				have[int(w)] = true
			}
		}
		if says := early.Ran(n, chunks); len(have) != int(chunks[n]) ||
			!says.All(0, int(chunks[early.Hubs])-1) {
			t.Fatalf("chunks %v, order %v: in the end %v", chunks, order, says)
		}
	}
}
