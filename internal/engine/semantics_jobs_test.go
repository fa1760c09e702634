package engine_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/pregel"
)

func TestAnEmptyGraphHasNoSupersteps(t *testing.T) {
	s := shape{name: "empty"}
	for _, parts := range []int{1, 2, 7} {
		g := s.load(t, parts, edges.Unweighted)
		for _, p := range []pregel.Program[string, int64]{
			script{func(talker, int64) { panic("nobody is there") }},
			pregel.List(listener{func(talker, []int64) { panic("nobody is there") }}),
			sums{script: script{}, coordinate: func(*pregel.Coordinator) { panic("there is no superstep") }},
		} {
			got, o := run(t, g, p, setting{parts: parts, threads: 3})
			if len(got) != 0 || o.Supersteps != 0 || o.Ended != trace.Halted {
				t.Fatalf("%d partitions: %+v", parts, o)
			}
		}
	}
}

func TestASingleVertexTalksToItself(t *testing.T) {
	for text, want := range map[string]string{"0": "0 5 0", "0>0": "0 6 1", "0-0": "0 6 1", "0>0 0>0": "0 7 2"} {
		on(t, text).expect(t, until(2, func(v talker) {}).with(func(v talker, m int64) {
			say(v, "%d", m)
			if v.Superstep() == 0 {
				v.Send(v.ID(), 5)
			}
			if v.Superstep() < 2 {
				v.SendToAllNeighbors(1)
			}
		}), want)
	}
}

// with returns the program with a function that sees messages; it halts as before.
func (p sums) with(f func(v talker, m int64)) sums {
	before := p.compute
	p.compute = func(v talker, m int64) {
		f(v, m)
		before(v, m)
	}
	return p
}

func TestTwoJobsOnOneGraphAtOnce(t *testing.T) {
	shape := shapes(9)[len(shapes(9))-1]
	out, weights := shape.adjacency()
	for _, parts := range []int{1, 3} {
		g := shape.load(t, parts, edges.Float64)
		var group sync.WaitGroup
		for i := range 6 {
			source := uint64(7 * i)
			group.Go(func() {
				id, _ := g.Find(source)
				o := engine.Options{Delivery: []delivery.Choice{delivery.ChooseMirrored, delivery.ChooseAuto, delivery.ChooseLalp}[i%3]}
				j, err := engine.NewJob(t.Context(), g,
					pregel.Erase(algorithms.SSSP[float64]{Source: id}), o)
				if err != nil {
					t.Error(err)
					return
				}
				defer j.Close()
				if _, err := j.Run(t.Context()); err != nil {
					t.Error(err)
				}
				for v, d := range distances(out, weights, int(source)) {
					if got := j.Any(pregel.VertexID(g.IDs[v])); got != d {
						t.Errorf("%d partitions, source %d: distance of %d is %g, want %g", parts,
							source, v, got, d)
						return
					}
				}
			})
		}
		group.Wait()
	}
}

func TestAJobRestartsWithOtherParameters(t *testing.T) {
	shape := shapes(10)[10]
	out, _ := shape.adjacency()
	for _, s := range aFew(3, inGrids()) {
		g := shape.loadAs(t, s, edges.Unweighted)
		j, err := engine.NewJob(t.Context(), g, pregel.Erase(algorithms.BFSLevels{}), teamed(t, s))
		check(t, err)
		var messages int
		for round, source := range []int{5, shape.n - 100, 5} {
			id, _ := g.Find(uint64(source))
			check(t, j.Restart(pregel.Erase(algorithms.BFSLevels{Source: id})))
			if round == 1 {
				j.Prepare() // otherwise Run does it
			}
			o, err := j.Run(t.Context())
			check(t, err)
			if len(j.Times()) != o.Supersteps {
				t.Fatalf("%v: times of %d supersteps, want %d", s, len(j.Times()), o.Supersteps)
			}
			for v, level := range levels(out, source) {
				if got := j.Any(pregel.VertexID(g.IDs[v])); got != level {
					t.Fatalf("%v, source %d: level of %d is %d, want %d", s, source, v, got, level)
				}
			}
			if round == 0 {
				messages = o.Messages
			} else if round == 2 && o.Messages != messages {
				t.Fatalf("%v: %d messages, and %d at first", s, o.Messages, messages)
			}
		}
		if err := j.Restart(pregel.Erase(levelsOfOne{})); err == nil {
			t.Fatal("restarted with another program")
		}
		j.Close()
		g.Close()
	}
}

// levelsOfOne has the types of BFSLevels.
type levelsOfOne struct{ algorithms.BFSLevels }

// votes is a program with float messages whose sums are not exact, by Send and to neighbours.
type votes struct{ combiner pregel.Combiner[float64] }

func (p votes) Combiner() pregel.Combiner[float64] { return p.combiner }
func (votes) Traits() pregel.Traits                { return pregel.Traits{Direction: pregel.Both} }
func (votes) Compute(v *pregel.Vertex[float64, float64], m float64) {
	v.Set(v.Value()/3 + m)
	if v.Superstep() == 4 {
		v.VoteToHalt()
		return
	}
	if h := mix(uint64(v.ID()), uint64(v.Superstep())); h%4 > 0 {
		v.SendToAllNeighbors(math.Sin(float64(h%1000)) + v.Value())
		v.Send(pregel.VertexID(h/8%v.NumVertices()), math.Cos(float64(h%1000)))
		v.Send(pregel.VertexID(h/8%5), math.Sqrt(float64(h%1000)))
	}
}

// listVotes is votes as a list program, which adds the messages in their order.
type listVotes struct{ votes }

func (p listVotes) Compute(v *pregel.Vertex[float64, float64], list []float64) {
	sum := 0.0
	for _, m := range list {
		sum += m
	}
	p.votes.Compute(v, sum)
}

// noted is listVotes without a combiner.
type noted struct{ p listVotes }

func (noted) Traits() pregel.Traits {
	return pregel.Traits{Direction: pregel.Both}
}
func (n noted) Compute(v *pregel.Vertex[float64, float64], list []float64) { n.p.Compute(v, list) }

func TestFloatSumsOfMessagesAreBitIdenticalInDeterministicRuns(t *testing.T) {
	shape := shapes(11)[len(shapes(11))-1]
	for name, p := range map[string]pregel.Program[float64, float64]{
		"Sum": votes{combiners.Sum[float64]()}, "SumTimes": votes{combiners.SumTimes[float64]()},
		"list": pregel.List(noted{}),
		"Func": votes{combiners.Func(0, func(a, b float64) float64 { return a + b })},
	} {
		var want []float64
		for _, s := range deterministic(delivery.ChooseAuto, delivery.ChoosePull) {
			g := shape.loadAs(t, s, edges.Float64)
			got, _ := run(t, g, p, s)
			if want == nil {
				want = got
			}
			for v := range want {
				if math.Float64bits(got[v]) != math.Float64bits(want[v]) {
					t.Fatalf("%s, %v: vertex %d is %x, want %x", name, s, v, got[v], want[v])
				}
			}
			g.Close()
		}
		for _, o := range []engine.Options{{Delivery: delivery.ChooseNaive}, {Delivery: delivery.ChooseMirrored}, {Delivery: delivery.ChooseLalp}, {Experiment: delivery.Experiment{Uncombined: true}}} {
			o.Deterministic = true
			if _, err := engine.NewJob(t.Context(), shape.load(t, 2, edges.Float64),
				pregel.Erase(p), o); err == nil {
				t.Errorf("%s, %+v: cannot be deterministic, and was taken", name, o)
			}
		}
	}
}

// rankVotes is votes with a named float type.
type rankVotes struct{ combiner pregel.Combiner[rank] }

func (p rankVotes) Combiner() pregel.Combiner[rank] { return p.combiner }
func (rankVotes) Traits() pregel.Traits             { return pregel.Traits{Direction: pregel.Both} }
func (rankVotes) Compute(v *pregel.Vertex[rank, rank], m rank) {
	v.Set(v.Value()/3 + m)
	if v.Superstep() == 4 {
		v.VoteToHalt()
		return
	}
	h := mix(uint64(v.ID()), uint64(v.Superstep()))
	v.SendToAllNeighbors(rank(math.Sin(float64(h%1000))) + v.Value())
	v.Send(pregel.VertexID(h/8%5), rank(math.Sqrt(float64(h%1000))))
}

func TestSumsOfNamedFloatsAreBitIdenticalInDeterministicRuns(t *testing.T) {
	shape := shapes(11)[len(shapes(11))-1]
	for _, c := range []pregel.Combiner[rank]{combiners.Sum[rank](), combiners.Func(0, func(a, b rank) rank { return a + b })} {
		var want []rank
		for _, s := range deterministic(delivery.ChooseAuto, delivery.ChoosePull) {
			g := shape.loadAs(t, s, edges.Float64)
			got, _ := run(t, g, rankVotes{c}, s)
			if want == nil {
				want = got
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%v, %v: values are others than with one partition", c, s)
			}
			g.Close()
		}
	}
}

// firsts stores the first message, which is its sender.
type firsts struct{ single bool }

func (firsts) Combiner() pregel.Combiner[int64] { return combiners.First[int64]() }
func (p firsts) Compute(v *pregel.Vertex[int64, int64], m int64) {
	if v.Superstep() > 0 {
		v.Set(m)
		v.VoteToHalt()
		return
	}
	v.Set(-1)
	if p.single {
		for e := range v.Edges() {
			v.Send(e.To, int64(v.ID()))
		}
	} else {
		v.SendToAllNeighbors(int64(v.ID()))
	}
	v.VoteToHalt()
}

func TestInDeterministicRunsFirstKeepsTheMessageOfTheLeastSender(t *testing.T) {
	for _, shape := range shapes(12) {
		for _, single := range []bool{false, true} {
			for _, s := range deterministic(delivery.ChooseAuto) {
				g := shape.loadAs(t, s, edges.Unweighted)
				want := make([]int64, shape.n)
				for v := range want {
					want[v] = -1
				}
				out, _ := shape.adjacency()
				for u, list := range out {
					for _, v := range list {
						if id := int64(g.IDs[u]); want[v] < 0 || id < want[v] {
							want[v] = id
						}
					}
				}
				got, _ := run(t, g, firsts{single}, s)
				if !slices.Equal(got, want) {
					t.Fatalf("%s, single %t, %v: %v, want %v", shape.name, single, s, got, want)
				}
				g.Close()
			}
		}
	}
}

// boxed sends pointers. A nil pointer is not a message.
type boxed struct{}

func (boxed) Combiner() pregel.Combiner[*[2]int64] {
	return combiners.Func(&[2]int64{math.MaxInt64}, func(a, b *[2]int64) *[2]int64 {
		if cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) <= 0 {
			return a
		}
		return b
	})
}

func (boxed) Compute(v *pregel.Vertex[[]int64, *[2]int64], m *[2]int64) {
	if v.Superstep() == 0 {
		v.SendToAllNeighbors(&[2]int64{int64(v.ID()) % 10, int64(v.ID())})
	} else {
		v.Set(append(v.Value(), m[:]...))
	}
	v.VoteToHalt()
}

// The graph is large enough for measurements of the model, on messages that do not exist.
func TestMessagesAndValuesMayHoldPointers(t *testing.T) {
	shape := shapes(13)[len(shapes(13))-1]
	var want []string
	for _, s := range aFew(3, inGrids()) {
		g := shape.loadAs(t, s, edges.Unweighted)
		values, _ := run(t, g, boxed{}, s)
		got := make([]string, len(values))
		for v := range got {
			got[v] = fmt.Sprint(values[v])
		}
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%v: not the same", s)
		}
		g.Close()
	}
}
