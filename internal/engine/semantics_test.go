package engine_test

import (
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/pregel"
)

// The rules in pregel's package comment and in the design, a test for each sentence. A vertex's
// value is the text of all that it has shown, and must be the same in every setting.

// world is a small graph as text: "0>1 1>2:0.5 3" has two arcs, one with a weight, and a vertex
// without edges. "0-1" is an undirected edge, and makes the whole graph undirected.
type world struct {
	shape
	kind edges.Weights
	ids  []uint32
}

func on(t testing.TB, text string) *world {
	t.Helper()
	w := &world{shape: shape{name: text, directed: !strings.Contains(text, "-")}}
	number := func(s string) uint64 {
		n, err := strconv.ParseUint(s, 10, 32)
		check(t, err)
		w.n = max(w.n, int(n)+1)
		return n
	}
	for _, field := range strings.Fields(text) {
		field, weight, _ := strings.Cut(field, ":")
		from, to, joined := strings.Cut(strings.ReplaceAll(field, "-", ">"), ">")
		u := number(from)
		if !joined {
			continue
		}
		w.tuples = append(w.tuples, [2]uint64{u, number(to)})
		if weight != "" {
			x, err := strconv.ParseFloat(weight, 64)
			check(t, err)
			w.weights, w.kind = append(w.weights, x), edges.Float64
		}
	}
	g := w.load(t, 1, edges.Unweighted)
	w.ids = slices.Clone(g.IDs)
	return w
}

// id returns the internal id of an input vertex.
func (w *world) id(label uint64) pregel.VertexID { return pregel.VertexID(w.ids[label]) }

// expect runs a program in a few of the settings, different for each test and world. The vertices
// must have these values, in the order of their labels. All runs must have the same numbers of
// supersteps and messages.
func (w *world) expect(t *testing.T, p pregel.Program[string, int64], want ...string) *bsp.Outcome {
	t.Helper()
	return w.expectWith(t, p, nil, want...)
}

func (w *world) expectWith(
	t *testing.T, p pregel.Program[string, int64], tune func(*setting), want ...string,
) *bsp.Outcome {
	t.Helper()
	var first *bsp.Outcome
	graphs := map[graph.Grid]*graph.Graph{}
	for _, s := range aFew(int(crc32.ChecksumIEEE([]byte(t.Name()+w.name))), inGrids()) {
		grid := s.grid
		if grid.Rows == 0 {
			grid = graph.Of(s.parts)
		}
		if graphs[grid] == nil {
			graphs[grid] = w.loadAs(t, s, w.kind)
		}
		if tune != nil {
			tune(&s)
		}
		got, o, err := tryRun(t, graphs[grid], p, s)
		if !grid.Flat() && errors.Is(err, pregel.ErrGrid) &&
			strings.Contains(err.Error(), fmt.Sprintf("a grid of %dx1", s.parts)) {
			continue // this grid does not support it, and the error tells which does
		}
		check(t, err)
		for v := range got {
			if said := strings.TrimSpace(got[v]); said != want[v] {
				t.Fatalf("%s, %v: vertex %d said\n%q, want\n%q", w.name, s, v, said, want[v])
			}
		}
		o.Sent, o.Bytes = 0, 0 // they depend on the setting
		if first == nil {
			first = o
		}
		if *o != *first {
			t.Fatalf("%s, %v: %+v, and %+v in the first setting", w.name, s, *o, *first)
		}
	}
	return first
}

func (w *world) expectSupersteps(t *testing.T, o *bsp.Outcome, supersteps, messages int) {
	t.Helper()
	if o.Supersteps != supersteps || o.Messages != messages || !o.Ended.Complete() {
		t.Fatalf("%s: %+v, want %d supersteps and %d messages", w.name, *o, supersteps, messages)
	}
}

// talker is a vertex that shows what it sees.
type talker = *pregel.Vertex[string, int64]

func say(v talker, format string, args ...any) {
	v.Set(v.Value() + fmt.Sprintf(" "+format, args...))
}

// The programs are made of functions; each form has other methods.
type (
	// script sums the messages.
	script struct{ compute func(v talker, m int64) }
	// play also has an Init.
	play struct {
		script
		init func(v talker)
	}
	// start begins at its sources.
	start struct {
		script
		sources []pregel.VertexID
	}
	startInit struct {
		play
		sources []pregel.VertexID
	}
	// listener gets every message separately.
	listener struct {
		compute func(v talker, messages []int64)
	}
)

func (script) Combiner() pregel.Combiner[int64]        { return combiners.Sum[int64]() }
func (p script) Compute(v talker, m int64)             { p.compute(v, m) }
func (p play) Init(v talker)                           { p.init(v) }
func (p start) Start() (string, []pregel.VertexID)     { return "asleep", p.sources }
func (p startInit) Start() (string, []pregel.VertexID) { return "asleep", p.sources }
func (p listener) Compute(v talker, list []int64)      { p.compute(v, list) }

func TestSuperstepsCountFromZero(t *testing.T) {
	w := on(t, "0>1 2")
	o := w.expect(t, script{func(v talker, _ int64) {
		if say(v, "%d", v.Superstep()); v.Superstep() == 3 {
			v.VoteToHalt()
		}
	}}, "0 1 2 3", "0 1 2 3", "0 1 2 3")
	w.expectSupersteps(t, o, 4, 0)
}

func TestEveryVertexRunsInSuperstep0(t *testing.T) {
	w := on(t, "0>1 2 3>3 70")
	want := slices.Repeat([]string{"ran"}, 71)
	o := w.expect(t, script{func(v talker, _ int64) {
		say(v, "ran")
		v.VoteToHalt()
	}}, want...)
	w.expectSupersteps(t, o, 1, 0)
}

func TestInitRunsInSuperstep0AndComputeFrom1(t *testing.T) {
	w := on(t, "0>1 2")
	w.expect(t, play{script{func(v talker, _ int64) {
		say(v, "compute%d", v.Superstep())
		v.VoteToHalt()
	}}, func(v talker) { say(v, "init%d", v.Superstep()) }}, "init0 compute1", "init0 compute1",
		"init0 compute1")
}

func TestWithoutInitComputeRunsInSuperstep0WithTheIdentity(t *testing.T) {
	w := on(t, "0>1")
	p := minimum{script{func(v talker, m int64) {
		say(v, "%d %t", m, v.HasMessage())
		v.VoteToHalt()
	}}}
	w.expect(t, p, "9223372036854775807 false", "9223372036854775807 false")
}

// minimum is a script with the minimum as combiner.
type minimum struct{ script }

func (minimum) Combiner() pregel.Combiner[int64] { return combiners.Min[int64]() }

func TestListProgramsGetNoMessagesInSuperstep0(t *testing.T) {
	w := on(t, "0>1")
	w.expect(t, pregel.List(listener{func(v talker, messages []int64) {
		say(v, "%d %t", len(messages), v.HasMessage())
		v.VoteToHalt()
	}}), "0 false", "0 false")
}

func TestWithInitialAndSourcesInitRunsOnTheSourcesAlone(t *testing.T) {
	w := on(t, "0>1 1>2 3")
	o := w.expect(t, startInit{play{script{func(v talker, m int64) {
		say(v, "got %d in %d", m, v.Superstep())
		v.VoteToHalt()
	}}, func(v talker) {
		say(v, "source in %d", v.Superstep())
		v.SendToAllNeighbors(5)
		v.VoteToHalt()
	}}, []pregel.VertexID{w.id(1), w.id(3)}}, "asleep", "asleep source in 0", "asleep got 5 in 1",
		"asleep source in 0")
	w.expectSupersteps(t, o, 2, 1)
}

func TestWithSourcesAndNoInitComputeRunsOnThem(t *testing.T) {
	w := on(t, "0>1 1>2 3")
	w.expect(t, start{script{func(v talker, m int64) {
		say(v, "%d in %d", m, v.Superstep())
		v.VoteToHalt()
	}}, []pregel.VertexID{w.id(1)}}, "asleep", "asleep 0 in 0", "asleep", "asleep")
}

func TestASourceStaysAwakeUntilItVotes(t *testing.T) {
	w := on(t, "0>1 2")
	w.expect(t, start{script{func(v talker, _ int64) {
		if say(v, "%d", v.Superstep()); v.Superstep() == 2 {
			v.VoteToHalt()
		}
	}}, []pregel.VertexID{w.id(0), w.id(0)}}, "asleep 0 1 2", "asleep", "asleep")
}

func TestASourceIsNotWoken(t *testing.T) {
	w := on(t, "0>1")
	w.expect(t, start{script{func(v talker, _ int64) {
		say(v, "%t %t", v.Woken(), v.HasMessage())
		v.VoteToHalt()
	}}, []pregel.VertexID{w.id(1)}}, "asleep", "asleep false false")
}

func TestWithoutSourcesNoSuperstepRuns(t *testing.T) {
	w := on(t, "0>1")
	o := w.expect(t, start{script{func(v talker, _ int64) { say(v, "ran") }}, nil},
		"asleep", "asleep")
	w.expectSupersteps(t, o, 0, 0)
}

func TestASourceThatIsNoVertexFailsTheJob(t *testing.T) {
	w := on(t, "0>1")
	p := start{script{func(talker, int64) {}}, []pregel.VertexID{w.id(0), 2}}
	for _, parts := range []int{1, 2, 7} {
		wantError(t, w, pregel.Program[string, int64](p), parts,
			"start: source 2: the graph has vertices 0..1")
		p.sources[1] = pregel.None
		wantError(t, w, pregel.Program[string, int64](p), parts,
			"start: the source is not a vertex of 0>1")
		p.sources[1] = 2
	}
}

// wantError runs a program in some partitions, with three threads, and checks that the error
// contains each text.
func wantError[V, M any](t *testing.T, w *world, p pregel.Program[V, M], parts int, texts ...string,
) error {
	t.Helper()
	_, err := tryOn(t, w, p, setting{parts: parts, threads: 3})
	for _, text := range texts {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Fatalf("%s, %d partitions: the error is %v, want %q", w.name, parts, err, text)
		}
	}
	return err
}

// tryOn runs a program that may fail.
func tryOn[V, M any](t *testing.T, w *world, p pregel.Program[V, M], s setting,
) (*bsp.Outcome, error) {
	t.Helper()
	j, err := engine.NewJob(t.Context(), w.loadAs(t, s, w.kind), pregel.Erase(p), teamed(t, s))
	if err != nil {
		return nil, err
	}
	defer j.Close()
	return j.Run(t.Context())
}

// label is the inverse of id.
func (w *world) label(id pregel.VertexID) uint64 {
	return uint64(slices.Index(w.ids, uint32(id)))
}
