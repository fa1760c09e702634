package engine_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/invariants"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/store"
	"github.com/superstep-go/superstep/pregel"
)

// chaosAgain repeats its messages from its value: a program with random actions uses its new value
// as the seed.
type (
	chaosAgain[M any]        struct{ chaos[M] }
	chaosAgainInit[M any]    struct{ chaosAgain[M] }
	chaosAgainSources[M any] struct{ chaosAgain[M] }
	chaosAgainList[M any]    struct{ chaosList[M] }
)

func (p chaosAgain[M]) Resend(v *pregel.Vertex[uint64, M])     { p.again(v) }
func (p chaosAgainList[M]) Resend(v *pregel.Vertex[uint64, M]) { p.p.again(v) }

func (p chaosAgainInit[M]) Init(v *pregel.Vertex[uint64, M]) { p.act(v, 17) }
func (p chaosAgainSources[M]) Start() (uint64, []pregel.VertexID) {
	return 99, []pregel.VertexID{0, 0}
}

// again is the part of act that sends to all neighbours.
func (p chaos[M]) again(v *pregel.Vertex[uint64, M]) {
	dice := rand.New(rand.NewPCG(v.Value(), 1))
	for _, n := range []int{10, 1000, 1000, 200} {
		dice.IntN(n)
	}
	p.sendToAll(v, dice)
}

// TestMessagesAreSentAgain continues from checkpoints without messages to all neighbours, which
// programs with random actions send again.
func TestMessagesAreSentAgain(t *testing.T) {
	ways := rerunWays(true)
	t.Run("Sum", func(t *testing.T) {
		for i, s := range ways {
			p := chaosAgain[int64]{chaos[int64]{
				seed: uint64(i), direction: pregel.Direction(i % 4), blind: true,
				combiner: combiners.Sum[int64](),
				to:       func(_ who, h uint64) int64 { return int64(h % 100) },
				from:     func(x int64) uint64 { return uint64(x) },
			}}
			resumed(t, s, uint64(i), 0, ways, func() pregel.Program[uint64, int64] {
				return []pregel.Program[uint64,
					int64]{p, chaosAgainInit[int64]{p}, chaosAgainSources[int64]{p}}[(i+i/3)%3]
			})
		}
	})
	t.Run("Func", func(t *testing.T) { // messages with pointers
		for i, s := range ways {
			resumed(t, s, uint64(i), 0, ways, func() pregel.Program[uint64, string] {
				return chaosAgain[string]{chaos[string]{
					seed: uint64(i), direction: pregel.Direction(i % 4), blind: true,
					to: func(_ who, h uint64) string { return fmt.Sprint(h % 10) }, from: text,
					combiner: combiners.Func("", merge),
				}}
			})
		}
	})
	t.Run("list", func(t *testing.T) {
		for i, s := range rerunWays(false) {
			p := chaosAgainList[int64]{chaosList[int64]{chaos[int64]{
				seed: uint64(i), direction: pregel.Direction(i % 4), blind: true, apart: true,
				to:   func(_ who, h uint64) int64 { return int64(h % 100) },
				from: func(x int64) uint64 { return uint64(x) },
			}}}
			resumed(t, s, uint64(i), 0, rerunWays(false),
				func() pregel.Program[uint64, int64] { return pregel.List(p) })
		}
	})
}

// TestAlgorithmsSendAgain tests the algorithms with Resend that
// TestAnAlgorithmGoesOnFromACheckpoint omits.
func TestAlgorithmsSendAgain(t *testing.T) {
	flat := rerunWays(false)
	for i, s := range flat {
		seed := uint64(i)
		resumed(t, s, seed, edges.Float64, flat, func() pregel.Program[algorithms.Hop[float64],
			algorithms.Hop[float64]] {
			return algorithms.SSSPTree[float64]{}
		})
		resumed(t, s, seed, 0, flat,
			func() pregel.Program[uint64, uint64] { return pregel.List(algorithms.CDLP{}) })
		resumed(t, s, seed, 0, flat,
			func() pregel.Program[int64, uint64] { return pregel.List(algorithms.Coloring{}) })
		resumed(t, s, seed, 0, flat,
			func() pregel.Program[bool, uint64] { return algorithms.MIS{} })
		resumed(t, s, seed, 0, flat,
			func() pregel.Program[int64, int64] { return algorithms.KCore{} })
		resumed(t, s, seed, 0, flat, func() pregel.Program[algorithms.Ball, algorithms.Counter] { return algorithms.HyperBall{} })
		s.o = engine.Options{Deterministic: true, Experiment: delivery.Experiment{Serial: i%2 == 0}}
		s.parts = max(s.parts, 2)
		resumed(t, s, seed, 0, flat, func() pregel.Program[float64, float64] { return algorithms.Eigenvector{Iterations: 12} })
	}
}

// relaying sends on its value for six supersteps. Embedding types define Resend.
type relaying struct{}

func (relaying) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }
func (relaying) Traits() pregel.Traits {
	return pregel.Traits{Aggregators: []pregel.Aggregate{chaosCount}}
}
func (relaying) Init(v *pregel.Vertex[int64, int64]) { relaying{}.Compute(v, int64(v.Label())) }
func (relaying) send(v *pregel.Vertex[int64, int64]) { v.SendToAllNeighbors(v.Value()%1000 + 1) }
func (relaying) Compute(v *pregel.Vertex[int64, int64], sum int64) {
	v.Set(v.Value()*31 + sum)
	if v.Superstep() == 6 {
		v.VoteToHalt()
		return
	}
	relaying{}.send(v)
}

type sendingAgain struct{ relaying }

func (p sendingAgain) Resend(v *pregel.Vertex[int64, int64]) { p.send(v) }

// two programs with the same name, with and without Resend
func plain() pregel.Program[int64, int64] {
	type program struct{ relaying }
	return program{}
}

func again() pregel.Program[int64, int64] {
	type program struct{ sendingAgain }
	return program{}
}

// sections counts the sections with a name in all parts in a store.
func sections(t *testing.T, place store.Store, name string) (n, checkpoints int) {
	t.Helper()
	found, err := checkpoint.List(t.Context(), place)
	check(t, err)
	for _, l := range found {
		check(t, l.Err)
		all := make([]int, len(l.Manifest.Parts))
		for i := range all {
			all[i] = i
		}
		r := &checkpoint.Reader{Store: place, Manifest: l.Manifest}
		check(t, r.Each(t.Context(), all, func(p *checkpoint.Part) error {
			if _, ok := p.Section(name); ok {
				n++
			}
			return nil
		}))
	}
	return n, len(found)
}

// TestCheckpointsWithAndWithoutMessages: checkpoints of a program with Resend have no messages.
// Checkpoints with messages, from before it had this method, can be read. A program without the
// method rejects a checkpoint without messages.
func TestCheckpointsWithAndWithoutMessages(t *testing.T) {
	s := setting{parts: 2, threads: 1}
	g := shapes(1)[18].loadAs(t, s, 0)
	want, _ := run(t, g, plain(), s)
	same := func(what string, got []int64) {
		t.Helper()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: found %v, expected %v", what, got, want)
		}
	}
	lean, values, _ := keeping(t, g, again(), s)
	same("with Resend", values)
	full, values, _ := keeping(t, g, plain(), s)
	same("without", values)
	if n, all := sections(t, lean, "messages"); n != 0 || all == 0 {
		t.Errorf("%d checkpoints of a program with Resend have %d times messages", all, n)
	}
	if n, all := sections(t, full, "messages"); n != 2*all || all == 0 {
		t.Errorf("%d checkpoints of a program without Resend have %d times messages", all, n)
	}
	s.o.Fork = true // the two programs have different fields
	for place, with := range map[store.Store]bool{lean: false, full: true} {
		found, err := checkpoint.List(t.Context(), place)
		check(t, err)
		for _, l := range found {
			got, _ := goOn(t, g, again(), s, place, l.Manifest)
			same("from "+l.Name, got)
			o := s
			o.o.From = &checkpoint.Reader{Store: place, Manifest: l.Manifest}
			got, _, err := tryRun(t, g, plain(), o)
			switch {
			case with:
				check(t, err)
				same("without Resend, from "+l.Name, got)
			case err == nil || !strings.Contains(err.Error(), "now Resend is missing"):
				t.Errorf("from %s: error %v", l.Name, err)
			}
		}
	}
}

// countingAgain counts the vertices that run, also in Resend, and has their number in its values.
type countingAgain struct{ relaying }

func (p countingAgain) Init(v *pregel.Vertex[int64, int64]) { p.Compute(v, int64(v.Label())) }
func (p countingAgain) Compute(v *pregel.Vertex[int64, int64], sum int64) {
	chaosCount.Add(v, 1)
	p.relaying.Compute(v, sum+chaosCount.Value(v))
}

func (p countingAgain) Resend(v *pregel.Vertex[int64, int64]) {
	chaosCount.Add(v, 1)
	p.send(v)
}

// TestResendAddsToNoAggregator: Resend does not change aggregators, neither when a run continues
// from a checkpoint, nor when a test of the program watches the run.
func TestResendAddsToNoAggregator(t *testing.T) {
	s := setting{parts: 2, threads: 1}
	resumed(t, s, 1, 0, []setting{s},
		func() pregel.Program[int64, int64] { return countingAgain{} })
	s.parts = 1
	g := shapes(1)[18].loadAs(t, s, 0)
	want, _ := run(t, g, countingAgain{}, s)
	j, err := engine.NewJob(t.Context(), g, pregel.Erase(countingAgain{}), teamed(t, s))
	check(t, err)
	defer j.Close()
	_, err = j.Run(engine.Watch(t.Context(), watchNothing{}))
	check(t, err)
	for v, id := range g.IDs {
		if got := j.Any(pregel.VertexID(id)); got != want[v] {
			t.Fatalf("watched, vertex %d is %v, expected %d", v, got, want[v])
		}
	}
}

// lying is a program with a wrong Resend.
type lying struct {
	relaying
	does func(v *pregel.Vertex[int64, int64])
}

func (p lying) Resend(v *pregel.Vertex[int64, int64]) { p.does(v) }

// watchNothing is a watcher that does nothing. In a watched job Resend is compared with the sent
// messages.
type watchNothing struct{}

func (watchNothing) Coordinate(_ any, call func()) error                { call(); return nil }
func (watchNothing) Sent(int, pregel.VertexID, any)                     {}
func (watchNothing) Began(any)                                          {}
func (watchNothing) Ended(int, any, func(pregel.VertexID) uint64) error { return nil }

// TestResendThatLies: a wrong Resend is found when a test of the program watches the run, with
// -tags invariants when a checkpoint is taken and, except for a different message, when a run
// continues from one.
func TestResendThatLies(t *testing.T) {
	s := setting{parts: 1, threads: 1}
	g := shapes(1)[18].loadAs(t, s, 0)
	for _, c := range []struct {
		what, want string
		does       func(v *pregel.Vertex[int64, int64])
		unseen     bool // not found when a run continues
	}{
		{"the truth", "", relaying{}.send, false},
		{"another message", "sends other messages than were sent", func(v *pregel.Vertex[int64, int64]) { v.SendToAllNeighbors(v.Value()) }, true},
		{"nothing", "sends nothing, unlike the vertex in the previous superstep", func(v *pregel.Vertex[int64, int64]) {}, false},
		{"to one", "Resend has sent to single vertices", func(v *pregel.Vertex[int64, int64]) { relaying{}.send(v); v.Send(v.ID(), 1) }, false},
		{"by a total", "Resend", func(v *pregel.Vertex[int64, int64]) { v.SendToAllNeighbors(chaosCount.Value(v)) }, false},
		{"a panic", "no", func(v *pregel.Vertex[int64, int64]) { panic("no") }, false},
	} {
		verify := func(how string, err error, seen bool) {
			t.Helper()
			if seen = seen && c.want != ""; seen != (err != nil) || seen &&
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %s: error %v, expected %q", c.what, how, err, c.want)
			}
		}
		p := lying{does: c.does}
		s.o.Team = parallel.NewTeam(1, false)
		j, err := engine.NewJob(t.Context(), g, pregel.Erase(p), s.o)
		check(t, err)
		_, err = j.Run(engine.Watch(t.Context(), watchNothing{}))
		verify("watched", err, true)
		j.Close()
		place := &memory{objects: map[string][]byte{}, running: true}
		kept := s
		kept.o.Parts = checkpoint.NewWriter(place, "run")
		kept.o.Checkpoints = checkpoint.NewKeeper(place, checkpoint.Policy{Every: 3, Keep: 10}, 0,
			func(string) {}, func(checkpoint.Event) {})
		_, _, err = tryRun(t, g, p, kept)
		verify("with checkpoints", err, invariants.Enabled)
		kept.o.Parts.Flush()
		check(t, kept.o.Checkpoints.Stored(kept.o.Parts.Stored()))
		kept.o.Parts.Close()
		kept.o.Checkpoints.Close(false)
		place.running = false
		found, err := checkpoint.List(t.Context(), place)
		check(t, err)
		for _, l := range found {
			if s.o.From = (&checkpoint.Reader{Store: place, Manifest: l.Manifest}); l.Manifest.Superstep < 6 {
				_, _, err = tryRun(t, g, p, s)
				verify("from "+l.Name, err, !c.unseen)
			}
		}
		if s.o.From = nil; len(found) == 0 && !invariants.Enabled {
			t.Errorf("%s: there is no checkpoint", c.what)
		}
		s.o.Team.Close()
	}
}

// oddly has a Resend with another signature. changing changes the graph.
type (
	oddly    struct{ relaying }
	changing struct{ sendingAgain }
)

func (oddly) Resend(v *pregel.Vertex[int64, int64], to pregel.VertexID) {}
func (c changing) Traits() pregel.Traits {
	t := c.sendingAgain.Traits()
	t.Mutates = true
	return t
}

func TestResendIsRefused(t *testing.T) {
	for want, p := range map[string]pregel.Program[int64, int64]{
		"method Resend is func(*pregel.Vertex[int64,int64], pregel.VertexID), want func(*pregel.Vertex[int64,int64])": oddly{},
		"changing: a program that changes the graph cannot have Resend":                                               changing{},
	} {
		if _, err := engine.NewProgram(pregel.Erase(p)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, expected %q", err, want)
		}
	}
}
