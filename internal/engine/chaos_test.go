package engine_test

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/pregel"
)

// chaos is a program that does everything a program can do, decided by a hash of everything that it
// sees. Any message that the engine delivers wrongly, too early, too late or to the wrong vertex
// changes the values.
type chaos[M any] struct {
	seed      uint64
	direction pregel.Direction
	// blind omits features that some grids do not support: Edges and, if apart is set, a second
	// message to all neighbours.
	blind, apart bool
	combiner     pregel.Combiner[M]
	// to makes a message from a hash, in the form that the combiner needs. from makes a number from
	// a message.
	to   func(v who, h uint64) M
	from func(m M) uint64
}

// who is a vertex that sends a message.
type who interface {
	ID() pregel.VertexID
	Superstep() int
}

// chaosEnd is the superstep from which on all vertices halt.
const chaosEnd = 6

var (
	chaosCount = pregel.SumOf[int64]("count")
	chaosLeast = pregel.MinOf("least", math.MaxFloat64).Persistent()
	chaosSum   = pregel.SumOf[float64]("sum") // of numbers that add without rounding
	chaosAny   = pregel.AnyOf("any")
)

func mix(xs ...uint64) uint64 {
	h := uint64(0x9e3779b97f4a7c15)
	for _, x := range xs {
		h ^= x
		h *= 0xff51afd7ed558ccd
		h ^= h >> 32
	}
	return h
}

func flag(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func (p chaos[M]) Combiner() pregel.Combiner[M] { return p.combiner }
func (p chaos[M]) Traits() pregel.Traits {
	return pregel.Traits{Direction: p.direction, Aggregators: chaosAggregators}
}

var chaosAggregators = []pregel.Aggregate{chaosCount, chaosLeast, chaosSum, chaosAny}

func (chaos[M]) Coordinate(c *pregel.Coordinator) {
	if chaosCount.Value(c)%3 == 1 {
		c.SetPhase(c.Superstep)
		chaosCount.Replace(c, 5)
	}
	if chaosAny.Value(c) && c.Superstep%2 == 1 {
		chaosLeast.Replace(c, float64(c.Superstep))
	}
}

func (p chaos[M]) Compute(v *pregel.Vertex[uint64, M], m M) { p.act(v, p.from(m)) }

func (p chaos[M]) act(v *pregel.Vertex[uint64, M], seen uint64) {
	h := mix(p.seed, uint64(v.ID()), uint64(v.Superstep()), v.Value(), seen, flag(v.HasMessage()),
		flag(v.Woken()),
		uint64(v.Phase()), uint64(v.OutDegree()), uint64(v.InDegree()), v.NumVertices(),
		v.NumEdges(),
		uint64(chaosCount.Value(v)), math.Float64bits(chaosLeast.Value(v)),
		math.Float64bits(chaosSum.Value(v)), flag(chaosAny.Value(v)))
	h += p.edges(v)
	v.Set(h)
	dice := rand.New(rand.NewPCG(h, 1))
	chaosCount.Add(v, int64(dice.IntN(10)))
	chaosLeast.Add(v, float64(dice.IntN(1000)))
	chaosSum.Add(v, float64(dice.IntN(1000))/8)
	chaosAny.Add(v, dice.IntN(200) == 0)
	if v.Superstep() >= chaosEnd {
		v.VoteToHalt()
		return
	}
	p.sendToAll(v, dice)
	for dice.IntN(4) == 0 {
		v.Send(pregel.VertexID(dice.Uint64N(v.NumVertices())), p.to(v, dice.Uint64()))
	}
	if dice.IntN(4) != 0 {
		v.VoteToHalt()
	}
	if dice.IntN(12) == 0 {
		v.Finish()
	}
}

// sendToAll may send to all neighbours: along the program's direction or, if it is Either, along
// any. It sends once if some grids do not support two messages, such as those along out-edges and
// in-edges of an undirected graph.
func (p chaos[M]) sendToAll(v *pregel.Vertex[uint64, M], dice *rand.Rand) {
	either := p.direction == pregel.Either
	once := p.blind && p.apart
	if dice.IntN(2) == 0 {
		v.SendToAllNeighbors(p.to(v, dice.Uint64()))
		if once {
			return
		}
	}
	// In some supersteps no vertex sends along in-edges, in others a few do.
	if either && dice.IntN(2+6*(v.Superstep()%3)) == 0 && v.Superstep()%4 != 1 {
		v.SendAlong(pregel.In, p.to(v, dice.Uint64()))
		if once {
			return
		}
	}
	if dice.IntN(8) == 0 && !once {
		d := p.direction
		if either {
			d = pregel.Direction(dice.IntN(3))
		}
		v.SendAlong(d, p.to(v, dice.Uint64()))
	}
}

// edges hashes all edges, independent of their order.
func (p chaos[M]) edges(v *pregel.Vertex[uint64, M]) (h uint64) {
	if p.blind {
		return 0
	}
	for i, edges := range []iter.Seq[pregel.Edge]{v.Edges(), v.OutEdges(), v.InEdges()} {
		for e := range edges {
			h += mix(uint64(i), uint64(e.To), math.Float64bits(e.Weight))
		}
	}
	return h
}

// The forms that a program can have.
type (
	chaosInit[M any]      struct{ chaos[M] }
	chaosInitBlock[M any] struct{ chaosInit[M] }
	chaosSources[M any]   struct{ chaos[M] }
	chaosBlock[M any]     struct{ chaos[M] }
	chaosList[M any]      struct{ p chaos[M] }
)

func (p chaosInit[M]) Init(v *pregel.Vertex[uint64, M]) { p.act(v, 17) }

func (p chaosSources[M]) Start() (uint64, []pregel.VertexID) { return 99, []pregel.VertexID{0, 0} }

// moment is a superstep as a vertex or a block sees it.
type moment interface {
	pregel.Context
	Superstep() int
	Phase() int
	NumVertices() uint64
	NumEdges() uint64
}

// sight has what a vertex sees. deeds has what it does, of the things that a block can do too.
type (
	sight struct {
		id                  pregel.VertexID
		at                  moment
		value               uint64
		has, woken          bool
		outDegree, inDegree int
	}
	deeds[M any] struct {
		value              uint64
		message            M
		send, halt, finish bool
	}
)

func (s sight) ID() pregel.VertexID { return s.id }
func (s sight) Superstep() int      { return s.at.Superstep() }

// decide is act for a vertex that sends at most once to all neighbours, and to no single vertex.
func (p chaos[M]) decide(s sight, seen uint64) (d deeds[M]) {
	of := s.at
	d.value = mix(p.seed, uint64(s.id), uint64(of.Superstep()), s.value, seen, flag(s.has),
		flag(s.woken), uint64(of.Phase()), uint64(s.outDegree),
		uint64(s.inDegree), of.NumVertices(), of.NumEdges(), uint64(chaosCount.Value(of)),
		math.Float64bits(chaosLeast.Value(of)),
		math.Float64bits(chaosSum.Value(of)), flag(chaosAny.Value(of)))
	dice := rand.New(rand.NewPCG(d.value, 1))
	chaosCount.Add(s.at, int64(dice.IntN(10)))
	chaosLeast.Add(s.at, float64(dice.IntN(1000)))
	chaosSum.Add(s.at, float64(dice.IntN(1000))/8)
	chaosAny.Add(s.at, dice.IntN(200) == 0)
	if d.halt = s.Superstep() >= chaosEnd; d.halt {
		return d
	}
	if d.send = dice.IntN(2) == 0; d.send {
		d.message = p.to(s, dice.Uint64())
	}
	d.halt, d.finish = dice.IntN(4) != 0, dice.IntN(12) == 0
	return d
}

func (p chaos[M]) decideOne(v *pregel.Vertex[uint64, M], seen uint64) {
	d := p.decide(
		sight{v.ID(), v, v.Value(), v.HasMessage(), v.Woken(), v.OutDegree(), v.InDegree()}, seen)
	if v.Set(d.value); d.send {
		v.SendToAllNeighbors(d.message)
	}
	if d.halt {
		v.VoteToHalt()
	}
	if d.finish {
		v.Finish()
	}
}

func (p chaos[M]) decideBlock(b *pregel.Block[uint64, M], seen func(i int) uint64) {
	for i := range 64 {
		bit := uint64(1) << i
		if b.Run&bit == 0 {
			continue
		}
		d := p.decide(sight{
			b.ID(i), b, b.Values[i], b.Received&bit != 0, b.Awake&bit == 0, int(b.OutDegrees[i]),
			int(b.InDegrees[i]),
		}, seen(i))
		if b.Values[i] = d.value; d.send {
			b.Sent |= bit
			b.Out[i] = d.message
		}
		b.Halt |= flag(d.halt) << i
		b.Finish |= flag(d.finish) << i
	}
}

func (p chaosBlock[M]) Compute(v *pregel.Vertex[uint64, M], m M) { p.decideOne(v, p.from(m)) }
func (p chaosBlock[M]) ComputeBlock(b *pregel.Block[uint64, M]) {
	p.decideBlock(b, func(i int) uint64 {
		if b.Received>>i&1 == 0 {
			return p.from(p.combiner.Identity())
		}
		return p.from(b.In[i])
	})
}

func (p chaosInitBlock[M]) Init(v *pregel.Vertex[uint64, M]) { p.decideOne(v, 17) }
func (p chaosInitBlock[M]) InitBlock(b *pregel.Block[uint64, M]) {
	p.decideBlock(b, func(int) uint64 { return 17 })
}

func (p chaosList[M]) Traits() pregel.Traits {
	return pregel.Traits{Direction: p.p.direction, Aggregators: chaosAggregators}
}
func (p chaosList[M]) Coordinate(c *pregel.Coordinator) { p.p.Coordinate(c) }
func (p chaosList[M]) Compute(v *pregel.Vertex[uint64, M], messages []M) {
	seen := uint64(len(messages))
	for _, m := range messages {
		seen += mix(p.p.from(m))
	}
	p.p.act(v, seen)
}

// chaosCase is chaos with messages of one kind.
type chaosCase struct {
	name string
	run  func(t *testing.T, rng *rand.Rand)
}

// chaosOf makes the case of a combiner. tune tells the toy how the combiner changes messages on
// their way.
func chaosOf[M any](name string, kind edges.Weights, p chaos[M], tune func(*toy[uint64,
	M]),
) chaosCase {
	return chaosCase{name, func(t *testing.T, rng *rand.Rand) {
		p.seed, p.direction, p.blind = rng.Uint64(), pregel.Direction(rng.IntN(4)), rng.IntN(2) == 0
		form := rng.IntN(6)
		if (form == 3 || form == 4) && p.direction == pregel.Either {
			p.direction = pregel.Both // blocks send in one direction
		}
		isList := form == 5
		p.apart = isList || name == combiners.Count[int64]().String()
		ways := settings()
		if p.blind {
			ways = append(ways, grids()...)
			if name == "First" {
				ways = append(ways, grids(delivery.ChooseRingPull)...)
			}
			ways = slices.DeleteFunc(ways, func(s setting) bool { return isList && s.grid.Rows > 1 && !s.o.Delivery.Allows(delivery.Push) })
			ways = slices.DeleteFunc(ways, func(s setting) bool { return isList && s.grid.Rows > 1 && s.o.Delivery == delivery.ChooseBeamer })
		}
		forms := []pregel.Program[uint64,
			M]{p, chaosInit[M]{p}, chaosSources[M]{p}, chaosBlock[M]{p}, chaosInitBlock[M]{chaosInit[M]{p}}, pregel.List(chaosList[M]{p})}
		program := forms[form]
		if isList {
			compareWithToy(t, rng, name, kind, program, nil, ways)
			return
		}
		compareWithToy(t, rng, name, kind, program, tune, ways)
	}}
}

// compareWithToy runs a program in some settings on a random shape, and compares it with the toy.
func compareWithToy[M any](
	t *testing.T, rng *rand.Rand, name string, kind edges.Weights, p pregel.Program[uint64, M],
	tune func(*toy[uint64, M]), ways []setting,
) {
	t.Helper()
	all := shapes(rng.Uint64())
	shape := all[rng.IntN(len(all))]
	if kind == edges.Unweighted {
		shape.weights = nil
	}
	rng.Shuffle(len(ways), func(i, j int) { ways[i], ways[j] = ways[j], ways[i] })
	var want *toy[uint64, M]
	for k, s := range ways[:4] {
		g := shape.loadAs(t, s, kind)
		if want == nil {
			if want = newToy(shape, g.IDs, p); tune != nil {
				tune(want)
			}
			want.run()
		}
		got, o := run(t, g, p, s)
		where := fmt.Sprintf("%s, %T, %s, %v", name, p, shape.name, s)
		for v := range got {
			if w := want.values[g.IDs[v]]; got[v] != w {
				t.Fatalf("%s: vertex %d is %x, want %x", where, v, got[v], w)
			}
		}
		if o.Supersteps != want.outcome.Supersteps || o.Messages != want.outcome.Messages ||
			o.Ended != want.outcome.Ended {
			t.Fatalf("%s: %+v, want %+v", where, o, want.outcome)
		}
		if s.parts > 1 && k%2 == 0 {
			compareShares(t, where, g, p, s.o, want)
		}
		g.Close()
	}
}

// compareShares runs a program in two jobs, as two processes would. One of them has the first
// partition.
func compareShares[M any](t *testing.T, where string, g *graph.Graph, p pregel.Program[uint64,
	M], o engine.Options, want *toy[uint64, M],
) {
	t.Helper()
	owners := [][]int{{0}, nil}
	for i := range len(g.Parts) - 1 {
		owners[1] = append(owners[1], i+1)
	}
	got, outcome := runApart(t, g, p, o, owners)
	for v, text := range got {
		if text != fmt.Sprint(want.values[v]) {
			t.Fatalf("%s, in shares: vertex %d is %s, want %d", where, v, text, want.values[v])
		}
	}
	if outcome.Supersteps != want.outcome.Supersteps || outcome.Messages != want.outcome.Messages {
		t.Fatalf("%s, in shares: %+v, want %+v", where, outcome, want.outcome)
	}
}

// TestChaosAgainstToy runs programs with random actions over random graphs in random settings, and
// compares them with the toy.
func TestChaosAgainstToy(t *testing.T) {
	rounds := uint64(2)
	if raced {
		rounds = 1
	}
	for i, c := range chaosCases() {
		t.Run(c.name, func(t *testing.T) {
			for round := range rounds {
				c.run(t, rand.New(rand.NewPCG(round, uint64(i))))
			}
		})
	}
}

// FuzzChaos is TestChaosAgainstToy with arbitrary seeds: go test -fuzz Chaos ./internal/engine
func FuzzChaos(f *testing.F) {
	f.Add(uint64(1), uint8(3))
	cases := chaosCases()
	f.Fuzz(func(t *testing.T, seed uint64, which uint8) {
		cases[int(which)%len(cases)].run(t, rand.New(rand.NewPCG(seed, 9)))
	})
}
