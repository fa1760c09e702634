package graph

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/mem"
)

func someInput(t *testing.T, directed bool) *edges.Input {
	tuples := make([][2]uint64, 5000)
	for i := range tuples {
		tuples[i] = [2]uint64{uint64(i*i) % 211, uint64(i) % 97}
	}
	list := edges.Pack(211, tuples, nil)
	t.Cleanup(list.Close)
	return &edges.Input{Name: "some", Edges: list, Directed: directed}
}

// TestBuildEnds interrupts every stage of building.
func TestBuildEnds(t *testing.T) {
	for _, stage := range []string{
		"finding the vertices", "counting degrees", "looking for duplicates", "building the in-edges", "sorting the lists", "building the out-edges",
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("enough")
		last := ""
		o := Options{Partitions: 3, Duplicates: LeastDuplicate, Progress: func(name string, _, _ int64) {
			if last = name; name == stage {
				cancel(why)
			}
		}}
		if _, err := Build(ctx, someInput(t, true), o); !errors.Is(err, why) || last != stage {
			t.Errorf("%s: error %v after %s", stage, err, last)
		}
		cancel(nil)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, p := range []int{1, 3} {
		g, err := Build(t.Context(), someInput(t, true), Options{Partitions: p})
		if err != nil {
			t.Fatal(err)
		}
		if p > 1 {
			if s, err := g.Parts[0].SendersView(ctx, g.Parts[0].along.Pull); s != nil || !errors.Is(err, context.Canceled) || g.Parts[0].HasSendersView(g.Parts[0].along.Pull) {
				t.Errorf("senders' view: error %v", err)
			}
		}
		b := &assembler{g: g, tmp: new(mem.Arena)}
		if err := b.link(ctx, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("linking %d partitions: error %v", p, err)
		}
		g.Close()
	}
}

func TestLeastBytes(t *testing.T) {
	for _, test := range []struct {
		directed bool
		o        Options
		want     int64
	}{
		{false, Options{}, 100*20 + 2000*4},
		{true, Options{}, 100*32 + 2000*4},
		{true, Options{Duplicates: SumDuplicates}, 100*32 + 1000*4},
		{false, Options{Weights: edges.Float32, Duplicates: LeastDuplicate}, 100*20 + 2000*8},
		{true, Options{Weights: edges.Float64}, 100*32 + 2000*12},
	} {
		if got := LeastBytes(100, 1000, test.directed, test.o); got != test.want {
			t.Errorf("directed %t, %+v: %d bytes, want %d", test.directed, test.o, got, test.want)
		}
	}
	if LeastBytes(math.MaxUint64, 1<<62, false, Options{}) <= 0 {
		t.Error("the number of bytes overflowed")
	}
	if mem.Available() == 0 {
		t.Skip("nobody knows how much memory there is")
	}
	if err := Enough("it", 1e18); err == nil || !strings.HasPrefix(err.Error(), "it needs 888.2 PiB of memory, ") {
		t.Errorf("error %v", err)
	}
	if err := Enough("it", 1); err != nil {
		t.Error(err)
	}
}

func TestLightestEdge(t *testing.T) {
	list := edges.Pack(4, [][2]uint64{{0, 1}, {1, 2}, {2, 3}, {3, 3}}, []float64{1, -2, 5, -1})
	defer list.Close()
	in := &edges.Input{Edges: list, Vertices: 4, Labels: edges.NewLabels([]uint64{10, 20, 30, 40}), Directed: true}
	for _, p := range []int{1, 3} {
		for _, weights := range []edges.Weights{edges.Float32, edges.Float64} {
			g, err := Build(t.Context(), in, Options{Partitions: p, Weights: weights})
			if err != nil {
				t.Fatal(err)
			}
			if u, v, w, ok := g.LightestEdge(); !ok || u != 20 || v != 30 || w != -2 || g.LeastWeight != -2 {
				t.Errorf("%d partitions, %v: %t %d-%d %g, least %g", p, weights, ok, u, v, w, g.LeastWeight)
			}
			if _, _, _, ok := g.Share(p / 2).LightestEdge(); ok != (p == 1) {
				t.Errorf("one of %d partitions: %t", p, ok)
			}
			g.Close()
		}
	}
}
