package engine_test

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/pregel"
)

// told is a program whose values are the vertices' input ids times 7, with all functions of Report.
type told struct{}

func (told) Combiner() pregel.Combiner[bool] { return combiners.Or() }
func (told) Compute(v *pregel.Vertex[int, bool], _ bool) {
	v.Set(int(v.Label()) * 7)
	v.VoteToHalt()
}

func (told) Report() pregel.Report[int] {
	return pregel.Report[int]{
		Score: func(value int) float64 {
			switch value % 11 {
			case 0:
				return math.NaN()
			case 1:
				return math.Inf(1)
			}
			return float64(-(value % 13))
		},
		Reached: func(value int) bool { return value%2 == 0 },
		Number:  func(value int) uint64 { return uint64(value%5) << 60 },
	}
}

// summaryOf runs a program and returns the summary of its values.
func summaryOf[V, M any](t *testing.T, g *graph.Graph, p pregel.Program[V, M], s setting,
) (summary trace.Summary, values []V, label func(pregel.VertexID) uint64) {
	t.Helper()
	s.o.Summary = true
	j, err := engine.NewJob(t.Context(), g, pregel.Erase(p), teamed(t, s))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(j.Close)
	for range 2 { // a job may run again
		if _, err = j.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(j.Final())
	if err == nil {
		err = json.Unmarshal(text, &summary)
	}
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	for v := range g.N {
		values = append(values, j.Any(pregel.VertexID(v)).(V))
	}
	return summary, values, j.Label
}

// plainSummary is the twin, with maps and sorting.
func plainSummary(n int, group func(v int) (uint64, bool), score func(v int) (float64,
	bool), label func(v int) uint64,
) (s trace.Summary) {
	sizes := map[uint64]int{}
	for v := range n {
		if key, ok := group(v); ok {
			sizes[key]++
		}
		if x, ok := score(v); ok {
			s.Top = append(s.Top, trace.Scored{Vertex: label(v), Score: x})
		}
	}
	s.Groups = &trace.Groups{Count: len(sizes)}
	for key, size := range sizes {
		s.Groups.Largest = append(s.Groups.Largest, trace.Group{Group: key, Size: size})
	}
	slices.SortFunc(s.Groups.Largest,
		func(a, b trace.Group) int { return cmp.Or(b.Size-a.Size, cmp.Compare(a.Group, b.Group)) })
	slices.SortFunc(s.Top, func(a, b trace.Scored) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Vertex, b.Vertex))
	})
	s.Groups.Largest, s.Top = s.Groups.Largest[:min(10, len(s.Groups.Largest))],
		s.Top[:min(10, len(s.Top))]
	return s
}

func TestReportsSumUpTheValues(t *testing.T) {
	same := func(a, b *trace.Groups) bool { return a.Count == b.Count && slices.Equal(a.Largest, b.Largest) }
	for _, s := range shapes(11) {
		for _, way := range []setting{
			{parts: 1, threads: 1},
			{parts: 1, threads: 3},
			{parts: 3, threads: 2},
			{parts: 4, threads: 2, grid: graph.Grid{Rows: 2, Columns: 2}},
		} {
			g := s.loadAs(t, way, edges.Unweighted)
			found, values, label := summaryOf(t, g, pregel.Program[int, bool](told{}), way)
			at := func(v int) uint64 { return label(pregel.VertexID(v)) }
			want := plainSummary(len(values),
				func(v int) (uint64, bool) { return told{}.Report().Number(values[v]), true },
				func(v int) (float64, bool) { x := told{}.Report().Score(values[v]); return x, values[v]%11 > 1 }, at)
			even := 0
			for _, value := range values {
				even += 1 - value&1
			}
			if !same(found.Groups, want.Groups) || !slices.Equal(found.Top, want.Top) ||
				found.Reached == nil || *found.Reached != even {
				t.Errorf("%s, %v: groups %v, top %v, reached %d; expected %v, %v, %d", s.name, way,
					found.Groups, found.Top, *found.Reached, want.Groups, want.Top, even)
			}
			components, leaders, label := summaryOf(t, g,
				pregel.Program[pregel.VertexID, pregel.VertexID](algorithms.WCC{}), way)
			want = plainSummary(len(leaders),
				func(v int) (uint64, bool) { return label(leaders[v]), true },
				func(int) (float64, bool) { return 0, false }, nil)
			if !same(components.Groups, want.Groups) || components.Top != nil ||
				components.Reached != nil {
				t.Errorf("%s, %v: components %v, expected %v", s.name, way, components, want.Groups)
			}
		}
	}
}

// astray is a program with a Report function that is wrong for the value of one vertex.
type astray struct {
	script
	group func(value string) pregel.VertexID
}

func (p astray) Report() pregel.Report[string] {
	return pregel.Report[string]{
		Group: func(value string) pregel.VertexID { return p.group(value) },
	}
}

func TestAWrongGroupFailsTheJobByVertex(t *testing.T) {
	w := on(t, "0>1 1>2 2>3 3>4")
	tell := script{func(v talker, _ int64) {
		if v.VoteToHalt(); v.Label() == 3 {
			v.Set("lost")
		}
	}}
	for _, parts := range []int{1, 3} {
		for text, wrong := range map[string]func() pregel.VertexID{
			"Group of vertex 3: the group of a vertex is vertex 5: the graph has vertices 0..4": func() pregel.VertexID { return 5 },
			"Group of vertex 3: no such key": func() pregel.VertexID { panic("no such key") },
		} {
			p := astray{tell, func(value string) pregel.VertexID {
				if value == "lost" {
					return wrong()
				}
				return pregel.None
			}}
			s := setting{parts: parts, threads: 2, o: engine.Options{Summary: true}}
			if _, err := tryOn(t, w, pregel.Program[string, int64](p), s); err == nil ||
				!strings.Contains(err.Error(), text) {
				t.Errorf("%d partitions: the error is %v, expected %q", parts, err, text)
			}
		}
	}
}
