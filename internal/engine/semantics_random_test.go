package engine_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/pregel"
)

// byIndex shows each vertex's edges by Edge, and where they differ from those of Edges.
func byIndex(w *world) columned {
	return columned{looker{script{func(v talker, _ int64) {
		i := 0
		for want := range v.Edges() {
			tag.Set(want, fmt.Sprintf("%d of %d", i, v.Label()))
			e := v.Edge(i)
			if e != want || e.Index() != i || tag.Of(e) != tag.Of(want) {
				say(v, "edge %d is %v %q, and %v in Edges", i, e, tag.Of(e), want)
			}
			say(v, "%d:%g", w.label(e.To), e.Weight)
			i++
		}
		if i != v.OutDegree() {
			say(v, "%d edges of %d", i, v.OutDegree())
		}
		v.VoteToHalt()
	}}, pregel.Both}}
}

func TestEdgeIsByIndexWhatEdgesYields(t *testing.T) {
	w := on(t, "0>1:2 0>2:3 2>0:4 3>3:5 0>1:0.5 4")
	p := byIndex(w)
	w.expect(t, p, "1:0.5 1:2 2:3 2:4", "0:0.5 0:2", "0:4 0:3", "3:5 3:5", "")
	p.direction = pregel.Either // its edges are those of Out
	w.expect(t, p, "1:0.5 1:2 2:3", "", "0:4", "3:5", "")
	p.direction = pregel.In
	w.expect(t, p, "2:4", "0:0.5 0:2", "0:3", "3:5", "")
	for i, s := range shapes(4) {
		if raced && i%4 > 0 {
			continue
		}
		for _, kind := range []edges.Weights{edges.Unweighted, edges.Float32, edges.Float64} {
			var first []string
			for _, parts := range []int{1, 2 + 3*(i%2)} {
				g := s.load(t, parts, kind)
				got, _ := run(t, g, pregel.Program[string, int64](byIndex(&world{shape: s, ids: g.IDs})),
					setting{parts: parts, threads: 3})
				for v, said := range got {
					if strings.Contains(said, "Edges") || strings.Contains(said, "of") ||
						first != nil && said != first[v] {
						t.Fatalf("%s, %v, %d partitions: vertex %d said %q", s.name, kind, parts, v,
							said)
					}
				}
				first = got
			}
		}
	}
}

func TestEdgeOutOfRangeFailsTheJobByVertex(t *testing.T) {
	w := on(t, "0>1 0>2 3")
	for _, c := range []struct {
		label uint64
		i     int
		text  string
	}{
		{0, 2, "vertex 0, superstep 0: Edge(2): the vertex has 2 edges: i is from 0 to 1"},
		{0, -1, "vertex 0, superstep 0: Edge(-1): the vertex has 2 edges: i is from 0 to 1"},
		{3, 0, "vertex 3, superstep 0: Edge(0): the vertex has no edges"},
		{0, 1 << 32, "Edge(4294967296): the vertex has 2 edges"},
	} {
		err := wantError(t, w, pregel.Program[string, int64](script{func(v talker, _ int64) {
			if v.Label() == c.label {
				v.Edge(c.i)
			}
		}}), 2, c.text)
		if e := new(pregel.ProgramError); !errors.As(err, &e) || !e.Known || e.Vertex != c.label {
			t.Errorf("the error is %#v", err)
		}
	}
}

// along sends along each edge of every vertex, in two supersteps, by index or to the edge's target,
// and shows the received messages.
func along(d pregel.Direction, byIndex bool) columned {
	return columned{looker{script{func(v talker, came int64) {
		say(v, "%d", came)
		if v.Superstep() < 2 {
			for i := range v.OutDegree() {
				switch m := int64(v.Label())*31 + int64(i) + came%7; {
				case byIndex && i%3 != 2:
					v.SendAlongEdge(i, m)
				default:
					v.Send(v.Edge(i).To, m)
				}
			}
		}
		v.VoteToHalt()
	}}, d}}
}

func TestSendAlongEdgeIsSendToItsTarget(t *testing.T) {
	for i, s := range shapes(9) {
		if raced && i%4 > 0 {
			continue
		}
		for _, o := range []setting{{parts: 1, threads: 1}, {parts: 1, threads: 3}, {parts: 3, threads: 3}, {parts: 4, threads: 2, o: engine.Options{Deterministic: true}}} {
			g := s.load(t, o.parts, edges.Unweighted)
			want, _ := run(t, g, pregel.Program[string, int64](along(pregel.Direction(i%4), false)),
				o)
			got, _ := run(t, g, pregel.Program[string, int64](along(pregel.Direction(i%4), true)),
				o)
			if !slices.Equal(got, want) {
				t.Errorf("%s, %v: vertices said %q, expected %q", s.name, o, got, want)
			}
		}
	}
}

func TestEdgesInAGridNameTheGridThatHasThem(t *testing.T) {
	w := on(t, "0>1 1>0")
	for name, call := range map[string]func(v talker){
		"Edge": func(v talker) { v.Edge(0) }, "SendAlongEdge": func(v talker) { v.SendAlongEdge(0, 1) }, "Common": func(v talker) { v.Common(nil) }, "CountCommon": func(v talker) { v.CountCommon(nil) },
	} {
		_, err := tryOn(t, w,
			pregel.Program[string, int64](script{func(v talker, _ int64) { call(v) }}),
			setting{parts: 4, grid: graph.Grid{Rows: 2, Columns: 2}, threads: 1})
		if !errors.Is(err, pregel.ErrGrid) || !strings.Contains(err.Error(), ": "+name+": ") ||
			!strings.Contains(err.Error(), "--grid 4x1") {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

// Every vertex intersects its edges with lists of every length, and compares the result with that
// of comparing all pairs.
func TestCommonIsWhatEveryPairSays(t *testing.T) {
	compare := func(v talker, list []pregel.VertexID) {
		var want, got []string
		for e := range v.Edges() {
			tag.Set(e, fmt.Sprint(e.Weight))
			if i := slices.Index(list, e.To); i >= 0 {
				want = append(want, fmt.Sprintf("%d %d %g", i, e.Index(), e.Weight))
			}
		}
		for i, e := range v.Common(list) {
			got = append(got, fmt.Sprintf("%d %d %s", i, e.Index(), tag.Of(e)))
			if v.Edge(e.Index()) != e {
				say(v, "edge %d is %v, expected %v", e.Index(), v.Edge(e.Index()), e)
			}
		}
		if n := v.CountCommon(list); !slices.Equal(got, want) || n != len(want) {
			say(v, "of %d: %v and %d, expected %v", len(list), got, n, want)
		}
	}
	for i, s := range shapes(9) {
		p := columned{looker{script{func(v talker, _ int64) {
			rng := rand.New(rand.NewPCG(v.Label(), 3))
			for _, length := range []int{0, 1, 7, 60, 900} {
				list := make([]pregel.VertexID, length)
				for i := range list {
					list[i] = pregel.VertexID(rng.Uint64N(v.NumVertices()))
				}
				slices.Sort(list)
				compare(v, list)
			}
			v.VoteToHalt()
		}}, pregel.Direction(i % 4)}}
		for _, parts := range []int{1, 3 + i%2} {
			got, _ := run(t, s.load(t, parts, edges.Float32), pregel.Program[string, int64](p),
				setting{parts: parts, threads: 3})
			for v, said := range got {
				if said != "" {
					t.Fatalf("%s, %d partitions, %v: vertex %d said %q", s.name, parts, p.direction,
						v, said)
				}
			}
		}
	}
}

// randomTwin computes the random numbers of a vertex without Vertex.Rand: by SplitMix64's steps,
// and with a separate source.
func randomTwin(seed, label uint64, superstep int) *rand.Rand {
	split := func(state uint64) uint64 {
		state += 0x9e3779b97f4a7c15
		state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9
		state = (state ^ (state >> 27)) * 0x94d049bb133111eb
		return state ^ (state >> 31)
	}
	vertex := split(split(seed) ^ label)
	return rand.New(rand.NewPCG(split(vertex^split(split(seed)+uint64(superstep))), vertex))
}

func TestRandIsOfTheSeedTheVertexAndTheSuperstepAlone(t *testing.T) {
	draw := play{script{func(v talker, _ int64) {
		say(v, "%d", v.Rand().IntN(1000))
		if v.Label()%2 == 0 {
			say(v, "%d", v.Rand().Uint64()) // it continues
		}
		if v.Superstep() == 3 {
			v.VoteToHalt()
		}
	}}, nil}
	draw.init = func(v talker) { draw.compute(v, 0) }
	for _, seed := range []uint64{0, 1, 1 << 63} {
		want := make([]string, 71)
		for label := range want {
			for superstep := range 4 {
				r := randomTwin(seed, uint64(label), superstep)
				want[label] += fmt.Sprintf(" %d", r.IntN(1000))
				if label%2 == 0 {
					want[label] += fmt.Sprintf(" %d", r.Uint64())
				}
			}
			want[label] = want[label][1:]
		}
		// other degrees, and so other internal ids
		for _, text := range []string{"0-1 1-2 0-2 70", "70>70 70>3 5>70 9>70 0>1"} {
			on(t, text).expectWith(t, draw, func(s *setting) { s.o.Seed = seed }, want...)
		}
	}
}

// A job that runs again restarts its streams, also on a graph of one vertex, which ran last.
func TestRandBeginsAgainWithEveryRun(t *testing.T) {
	p := pregel.Program[string, int64](script{func(v talker, _ int64) {
		say(v, "%d", v.Rand().Uint64())
		v.VoteToHalt()
	}})
	j, err := engine.NewJob(t.Context(), on(t, "0").load(t, 1, 0), pregel.Erase(p),
		engine.Options{})
	check(t, err)
	defer j.Close()
	for range 3 {
		_, err := j.Run(t.Context())
		check(t, err)
		if want := fmt.Sprintf(" %d", randomTwin(0, 0, 0).Uint64()); j.Any(0) != want {
			t.Fatalf("found%s, expected%s", j.Any(0), want)
		}
		check(t, j.Restart(pregel.Erase(p)))
	}
}

// Numbers of neighbouring vertices and supersteps must look independent: of 64 bits each, 32
// differ, and all values occur.
func TestRandDiffersBetweenVerticesAndSupersteps(t *testing.T) {
	w := on(t, "4095")
	var drawn [4][4096]uint64
	p := script{func(v talker, _ int64) {
		if drawn[v.Superstep()][v.Label()] = v.Rand().Uint64(); v.Superstep() == 3 {
			v.VoteToHalt()
		}
	}}
	run(t, w.load(t, 1, 0), pregel.Program[string, int64](p), setting{parts: 1, threads: 2})
	seen := map[uint64]bool{}
	var bits [64]int
	var buckets [64]int
	pairs := 0
	for s := range drawn {
		for v, x := range drawn[s] {
			seen[x] = true
			buckets[x>>58]++
			if v > 0 {
				for b := range 64 {
					bits[b] += int((x ^ drawn[s][v-1]) >> b & 1)
				}
				pairs++
			}
			if s > 0 {
				for b := range 64 {
					bits[b] += int((x ^ drawn[s-1][v]) >> b & 1)
				}
				pairs++
			}
		}
	}
	if len(seen) != 4*4096 {
		t.Errorf("%d numbers of %d", len(seen), 4*4096)
	}
	for b, n := range bits { // 6 standard deviations of a fair coin
		if d := n - pairs/2; d*d > 36*pairs/4 {
			t.Errorf("bit %d differs in %d of %d pairs", b, n, pairs)
		}
	}
	for i, n := range buckets {
		if d := n - 256; d*d > 36*256 {
			t.Errorf("%d of %d numbers are in bucket %d of 64", n, 4*4096, i)
		}
	}
}
