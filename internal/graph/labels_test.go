package graph

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/pregel"
)

// TestLabelsOfNewVertices: if no process has the maps, the partitions compute the largest input id
// together. If it is the largest possible id, new vertices are rejected.
func TestLabelsOfNewVertices(t *testing.T) {
	for _, test := range []struct {
		labels []uint64
		next   uint64
	}{
		{[]uint64{7, 3, 40, 5, 1}, 41},
		{[]uint64{1 << 40, 3, 40, 5, 1}, 1<<40 + 1},
		{nil, 0},
		{[]uint64{3, math.MaxUint64}, 0},
	} {
		wide := len(test.labels) > 1 && test.next != 41
		g := &Graph{N: len(test.labels), Connected: len(test.labels)}
		a, err := NewBuilder(g, Options{Partitions: 3})
		if err != nil {
			t.Fatal(err)
		}
		a.Own([]int{0, 1, 2}, wide)
		for v, label := range test.labels {
			a.Vertex(pregel.VertexID(v), Facts{Label: label})
		}
		s, err := a.Scatter(true, func(*Partition, uint32) int { return 0 })
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Finish(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := a.Link(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		a.End()
		defer g.Close()
		for more := range 2 { // the second change adds to the vertices of the first
			changes := make([]Change, 3)
			for i := range changes {
				changes[i].N = len(test.labels) + 4*(more+1)
			}
			parts, err := g.changeAll(t.Context(), changes)
			if len(test.labels) == 2 {
				if err == nil || !strings.HasSuffix(err.Error(), "there are no ids left") {
					t.Errorf("error %v", err)
				}
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			g = Assemble(g, parts...)
			defer g.Close()
			for id := range g.N {
				want := test.next + uint64(id-len(test.labels))
				if id < len(test.labels) {
					want = test.labels[id]
				}
				if got := g.Label(pregel.VertexID(id)); got != want {
					t.Errorf("vertex %d has the input id %d, want %d", id, got, want)
				}
			}
		}
	}
}

// TestLabelsInPart: a vertex added to a part has the input id of no vertex of the whole graph,
// also after a change that added none.
func TestLabelsInPart(t *testing.T) {
	for _, test := range []struct {
		whole, part []uint64
		want        string
	}{
		{[]uint64{3, 7, 40}, []uint64{3}, "[41 42]"},
		{[]uint64{0}, nil, "[1 2]"},
		{[]uint64{3, math.MaxUint64}, []uint64{3}, "there are no ids left"},
		{nil, nil, "[0 1]"},
	} {
		g := &Graph{N: len(test.part), Labels: edges.NewLabels(test.part), Parts: []*Partition{nil}}
		g.Order, g.IDs = make([]uint32, g.N), make([]uint32, g.N)
		all := &Graph{N: len(test.whole), Labels: edges.NewLabels(test.whole)}
		a, err := NewBuilder(g, Options{})
		if err != nil {
			t.Fatal(err)
		}
		a.Own([]int{0}, false)
		s, err := a.Scatter(true, func(*Partition, uint32) int { return 0 })
		if err == nil {
			err = s.Finish(t.Context())
		}
		if err == nil {
			err = a.Link(t.Context(), nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		a.End()
		defer g.Close()
		g.PartOf(all)
		var got []uint64
		for _, more := range []int{0, 2} {
			parts, wrong := g.changeAll(t.Context(), []Change{{N: g.N + more}})
			if err = wrong; err != nil {
				break
			}
			g = Assemble(g, parts...)
			defer g.Close()
			for id := len(test.part); id < g.N; id++ {
				got = append(got, g.Label(pregel.VertexID(id)))
			}
		}
		if text := fmt.Sprint(got, err); !strings.Contains(text, test.want) {
			t.Errorf("%v of %v: %s, expected %s", test.part, test.whole, text, test.want)
		}
	}
}
