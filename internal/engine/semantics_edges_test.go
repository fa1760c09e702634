package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// looker is a script with a direction of edges.
type looker struct {
	script
	direction pregel.Direction
}

func (p looker) Traits() pregel.Traits { return pregel.Traits{Direction: p.direction} }

// look shows a vertex's degrees and edges, then the sum received from the neighbours, which send 1,
// 10, 100... by label.
func look(w *world) script {
	return script{func(v talker, m int64) {
		if v.Superstep() == 1 {
			say(v, "got %d", m)
			v.VoteToHalt()
			return
		}
		var list []string
		for e := range v.Edges() {
			list = append(list, fmt.Sprintf("%d:%g", w.label(e.To), e.Weight))
		}
		slices.Sort(list)
		say(v, "out %d in %d %s", v.OutDegree(), v.InDegree(), strings.Join(list, " "))
		power := int64(1)
		for range v.Label() {
			power *= 10
		}
		v.SendToAllNeighbors(power)
	}}
}

func TestADirectionThatIsNoneIsRefused(t *testing.T) {
	const text = "looker: Direction is Direction(4), want pregel.Out, pregel.In, pregel.Both or pregel.Either"
	if _, err := engine.NewProgram(pregel.Erase(pregel.Program[string, int64](looker{direction: 4}))); err == nil || err.Error() != text {
		t.Errorf("the error is %v, want %s", err, text)
	}
}

func TestDirectionOut(t *testing.T) {
	w := on(t, "0>1:2 0>2:3 2>0:4 3>3:5")
	o := w.expect(t, looker{look(w), pregel.Out},
		"out 2 in 1 1:2 2:3 got 100", "out 0 in 1  got 1", "out 1 in 1 0:4 got 1",
		"out 1 in 1 3:5 got 1000")
	w.expectSupersteps(t, o, 2, 4)
	w.expect(t, look(w), "out 2 in 1 1:2 2:3 got 100", "out 0 in 1  got 1", "out 1 in 1 0:4 got 1",
		"out 1 in 1 3:5 got 1000")
}

func TestDirectionIn(t *testing.T) {
	w := on(t, "0>1:2 0>2:3 2>0:4 3>3:5")
	o := w.expect(t, looker{look(w), pregel.In},
		"out 1 in 2 2:4 got 110", "out 1 in 0 0:2 got 0", "out 1 in 1 0:3 got 1",
		"out 1 in 1 3:5 got 1000")
	w.expectSupersteps(t, o, 2, 4)
}

// Vertices 0 and 2 are joined in both directions, and a loop counts in both: they count twice.
func TestDirectionBothCountsNeighborsJoinedBothWaysTwice(t *testing.T) {
	w := on(t, "0>1:2 0>2:3 2>0:4 3>3:5")
	o := w.expect(t, looker{look(w), pregel.Both},
		"out 3 in 3 1:2 2:3 2:4 got 210", "out 1 in 1 0:2 got 1", "out 2 in 2 0:3 0:4 got 2",
		"out 2 in 2 3:5 3:5 got 2000")
	w.expectSupersteps(t, o, 2, 8)
}

func TestDirectionHasNoEffectOnAnUndirectedGraph(t *testing.T) {
	w := on(t, "0-1:2 0-2:3 3-3:5 1-1:7")
	for _, d := range []pregel.Direction{pregel.Out, pregel.In, pregel.Both} {
		o := w.expect(t, looker{look(w), d},
			"out 2 in 2 1:2 2:3 got 110", "out 2 in 2 0:2 1:7 got 11", "out 1 in 1 0:3 got 1",
			"out 1 in 1 3:5 got 1000")
		w.expectSupersteps(t, o, 2, 6)
	}
}

func TestParallelEdgesAreYieldedAndSentAlongEach(t *testing.T) {
	w := on(t, "0>1:2 0>1:3 0>1:2 1>1:1 1>1:1")
	o := w.expect(t, look(w), "out 3 in 0 1:2 1:2 1:3 got 0", "out 2 in 5 1:1 1:1 got 23")
	w.expectSupersteps(t, o, 2, 5)
}

func TestWithoutWeightsEveryEdgeHasWeight1(t *testing.T) {
	w := on(t, "0>1 1>0")
	w.expect(t, look(w), "out 1 in 1 1:1 got 10", "out 1 in 1 0:1 got 1")
}

func TestSingleWeightsAreYielded(t *testing.T) {
	w := on(t, "0>1:0.25 1>0:3")
	w.kind = edges.Float32
	w.expect(t, look(w), "out 1 in 1 1:0.25 got 10", "out 1 in 1 0:3 got 1")
}

func TestEdgesComeInTheOrderOfIDs(t *testing.T) {
	for _, s := range shapes(6) {
		for _, parts := range []int{1, 3, 7} {
			g := s.load(t, parts, edges.Unweighted)
			p := looker{script{func(v talker, _ int64) {
				last, wraps := pregel.VertexID(0), 0
				for e := range v.Edges() {
					if e.To < last {
						wraps++
					}
					last = e.To
				}
				say(v, "%t", wraps == 0 || wraps == 1 && s.directed) // out-edges, then in-edges
				v.VoteToHalt()
			}}, pregel.Both}
			got, _ := run(t, g, pregel.Program[string, int64](p), setting{parts: parts, threads: 1})
			for v, said := range got {
				if said != " true" {
					t.Fatalf("%s, %d partitions: edges of %d are out of order", s.name, parts, v)
				}
			}
			g.Close()
		}
	}
}

func TestEdgesCanBeLeftEarly(t *testing.T) {
	w := on(t, "0>1 0>2 0>3 1>0")
	w.expect(t, looker{script{func(v talker, _ int64) {
		n := 0
		for range v.Edges() {
			if n++; n == 1 {
				break
			}
		}
		say(v, "%d", n)
		v.VoteToHalt()
	}}, pregel.Both}, "1", "1", "1", "1")
}

func TestNumVerticesAndNumEdgesAreTrueFromSuperstep0(t *testing.T) {
	for text, want := range map[string]string{"0>1 1>1 4": "5 2", "0-1 1-1 4": "5 3"} {
		w := on(t, text)
		w.expect(t, script{func(v talker, _ int64) {
			say(v, "%d %d", v.NumVertices(), v.NumEdges())
			v.VoteToHalt()
		}}, want, want, want, want, want)
	}
}

var (
	visits = pregel.NewVertexColumn[int64]("visits")
	tag    = pregel.NewEdgeColumn[string]("tag")
	cost   = pregel.NewEdgeColumn[float64]("cost")
)

// columned is a looker with property columns.
type columned struct{ looker }

func (p columned) Traits() pregel.Traits {
	return pregel.Traits{Direction: p.direction, Columns: []pregel.Column{tag, visits, cost}}
}

func TestColumnsBelongToVerticesAndEdges(t *testing.T) {
	for _, d := range []pregel.Direction{pregel.Out, pregel.In, pregel.Both} {
		for _, s := range shapes(7)[3:] {
			if s.n > 500 {
				continue
			}
			p := columned{looker{script{func(v talker, _ int64) {
				visits.Set(v, visits.Of(v)+int64(v.Label()))
				k := 0
				for e := range v.Edges() {
					text := fmt.Sprintf("%d.%d.%d", v.Label(), e.To, k)
					if old := tag.Of(e); v.Superstep() == 0 && old != "" || v.Superstep() > 0 &&
						(old != text || cost.Of(e) != float64(k)) {
						say(v, "edge %d has %q", k, old)
					}
					tag.Set(e, text)
					cost.Set(e, float64(k))
					k++
				}
				if v.Superstep() == 3 {
					if say(v, "%t", visits.Of(v) == 4*int64(v.Label())); v.OutDegree() != k {
						say(v, "%d edges of %d", k, v.OutDegree())
					}
					v.VoteToHalt()
				}
			}}, d}}
			for _, parts := range []int{1, 3} {
				g := s.load(t, parts, edges.Unweighted)
				got, _ := run(t, g, pregel.Program[string, int64](p),
					setting{parts: parts, threads: 3})
				for v, said := range got {
					if said != " true" {
						t.Fatalf("%s, %d partitions, %v: vertex %d said %q", s.name, parts, d, v,
							said)
					}
				}
				g.Close()
			}
		}
	}
}

func TestColumnsAreZeroAtTheStartOfEveryRun(t *testing.T) {
	w := on(t, "0>1 1>0")
	p := pregel.Program[string, int64](columned{looker{script{func(v talker, _ int64) {
		for e := range v.Edges() {
			say(v, "%d%s", visits.Of(v), tag.Of(e))
			tag.Set(e, "x")
		}
		visits.Set(v, 5)
		v.VoteToHalt()
	}}, pregel.Out}})
	for _, parts := range []int{1, 2} {
		j, err := engine.NewJob(t.Context(), w.load(t, parts, 0), pregel.Erase(p), engine.Options{})
		check(t, err)
		defer j.Close()
		for range 2 {
			_, err := j.Run(t.Context())
			check(t, err)
			check(t, j.Restart(pregel.Erase(p)))
			if j.Any(0) != " 0" || j.Any(1) != " 0" {
				t.Fatalf("%d partitions: %q, %q", parts, j.Any(0), j.Any(1))
			}
		}
	}
}

func TestAPrefilledColumnIsTheSameAtTheStartOfEveryRun(t *testing.T) {
	w := on(t, "0>1 1>2 2>0 2>3")
	p := pregel.Program[string, int64](columned{looker{script{func(v talker, _ int64) {
		say(v, "%d", visits.Of(v))
		visits.Set(v, 5)
		v.VoteToHalt()
	}}, pregel.Out}})
	for _, parts := range []int{1, 3} {
		g := w.load(t, parts, 0)
		j, err := engine.NewJob(t.Context(), g, pregel.Erase(p), engine.Options{})
		check(t, err)
		defer j.Close()
		given, err := j.Prefill("visits")
		check(t, err)
		for partition, storage := range given.Storage {
			values := kernel.Elements[int64](storage)
			for i := range values {
				values[i] = int64(100 + g.Deal.ID(partition, uint32(i)))
			}
		}
		for range 2 {
			_, err := j.Run(t.Context())
			check(t, err)
			check(t, j.Restart(pregel.Erase(p)))
			for id := range 4 {
				if found, want := j.Any(pregel.VertexID(id)),
					fmt.Sprintf(" %d", 100+id); found != want {
					t.Fatalf("%d partitions: vertex %d has %q, expected %q", parts, id, found, want)
				}
			}
		}
		if _, err := j.Prefill("tags"); err == nil ||
			!strings.Contains(err.Error(), `lists no column "tags", only tag, visits, cost`) {
			t.Errorf("found %v", err)
		}
	}
}

func TestAColumnThatIsNotListedFailsTheJobByName(t *testing.T) {
	w := on(t, "0>1")
	wantError(t, w,
		pregel.Program[string, int64](script{func(v talker, _ int64) { visits.Set(v, 1) }}), 2,
		"vertex column visits is not listed by the program's Traits")
	wantError(t, w, pregel.Program[string, int64](script{func(v talker, _ int64) {
		for e := range v.Edges() {
			cost.Set(e, 1)
		}
	}}), 2, "vertex 0, superstep 0: edge column cost is not listed by the program's Traits")
}
