package build

import (
	"context"
	"errors"
	"testing"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/pregel"
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

// TestBuildEnds cancels each stage of a build.
func TestBuildEnds(t *testing.T) {
	for _, stage := range []string{
		"finding the vertices", "counting degrees", "looking for duplicates",
		"building the in-edges", "sorting the lists", "building the out-edges",
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("enough")
		last := ""
		o := graph.Options{Partitions: 3, Duplicates: graph.LeastDuplicate, Progress: func(name string, _, _ int64) {
			if last = name; name == stage {
				cancel(why)
			}
		}}
		if _, err := Local(ctx, someInput(t, true), o); !errors.Is(err, why) || last != stage {
			t.Errorf("%s: error %v after %s", stage, err, last)
		}
		cancel(nil)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	g, err := Local(t.Context(), someInput(t, true), graph.Options{Partitions: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	p := g.Parts[0]
	pull := p.Layout(pregel.Out).Blocks[0].Pull
	if s, err := p.SendersView(ctx, pull); s != nil || !errors.Is(err, context.Canceled) ||
		p.HasSendersView(pull) {
		t.Errorf("senders' view: error %v", err)
	}
}

// TestRankThatIsAloneEnds cancels a rank that sends its edges to itself: it reads no more of them.
func TestRankThatIsAloneEnds(t *testing.T) {
	n := 1 << 19
	if testing.Short() {
		n = 1 << 17
	}
	tuples := make([][2]uint64, n)
	for i := range tuples {
		tuples[i] = [2]uint64{uint64(i) % 211, uint64(i) % 97}
	}
	list := edges.Pack(211, tuples, nil)
	share := &edges.RankInput{Input: edges.Input{Name: "some", Edges: list, Free: list.Close}, Largest: 210}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	why := errors.New("enough")
	read := int64(0)
	o := graph.Options{Partitions: 2, Progress: func(name string, done, _ int64) {
		if name == "routing the edges" {
			read = done
			cancel(why)
		}
	}}
	if _, _, err := Graph(ctx, collective.Alone(), 10, share, []int{0, 0}, o); !errors.Is(err,
		why) {
		t.Errorf("error %v", err)
	}
	if read == 0 || read > int64(len(tuples))/4 {
		t.Errorf("read %d of %d edges", read, len(tuples))
	}
}

// ending is a context that ends after a number of calls of Err.
type ending struct {
	context.Context
	cancel context.CancelFunc
	left   *int
}

func (e ending) Err() error {
	err := e.Context.Err()
	if *e.left--; *e.left == 0 {
		e.cancel()
	}
	return err
}

// TestStoppedViewKeepsNothing cancels SendersView at each of its checks: no memory remains, and a
// later call makes the complete view.
func TestStoppedViewKeepsNothing(t *testing.T) {
	g, err := Local(t.Context(), someInput(t, true), graph.Options{Grid: graph.Of(2)})
	if err != nil {
		t.Fatal(err)
	}
	before, stopped := g.Bytes(), 0
	for {
		ctx, cancel := context.WithCancel(t.Context())
		left := stopped + 1
		e := ending{ctx, cancel, &left}
		_, err = g.Parts[0].SendersView(e, g.Parts[0].Layout(pregel.Out).Blocks[0].Pull)
		cancel()
		if err == nil {
			break
		}
		stopped++
		if found := g.Bytes(); !errors.Is(err, context.Canceled) || found != before {
			t.Errorf("stopped at place %d: error %v, %d bytes became %d", stopped, err, before,
				found)
		}
	}
	if stopped == 0 || g.Bytes() <= before {
		t.Errorf("stopped at %d places, %d bytes became %d", stopped, before, g.Bytes())
	}
	g.Close()
	if g.Bytes() != 0 {
		t.Errorf("a closed graph takes %d bytes", g.Bytes())
	}
}

func TestLightestEdge(t *testing.T) {
	list := edges.Pack(4, [][2]uint64{{0, 1}, {1, 2}, {2, 3}, {3, 3}}, []float64{1, -2, 5, -1})
	defer list.Close()
	in := &edges.Input{Edges: list, Vertices: 4, Labels: edges.NewLabels([]uint64{10, 20, 30, 40}), Directed: true}
	for _, p := range []int{1, 3} {
		for _, weights := range []edges.Weights{edges.Float32, edges.Float64} {
			g, err := Local(t.Context(), in, graph.Options{Partitions: p, Weights: weights})
			if err != nil {
				t.Fatal(err)
			}
			if u, v, w, ok := g.LightestEdge(); !ok || u != 20 || v != 30 || w != -2 ||
				g.LeastWeight != -2 {
				t.Errorf("%d partitions, %v: %t %d-%d %g, least %g", p, weights, ok, u, v, w,
					g.LeastWeight)
			}
			some := &graph.Graph{Order: g.Order, IDs: g.IDs, Labels: g.Labels, Parts: make([]*graph.Partition, p)}
			some.Parts[p/2] = g.Parts[p/2]
			if _, _, _, ok := some.LightestEdge(); ok != (p == 1) {
				t.Errorf("one of %d partitions: %t", p, ok)
			}
			g.Close()
		}
	}
}

// reads counts the blocks that are read from a list, and calls then after so many.
type reads struct {
	edges.List
	n, after *int
	then     func()
}

func (l reads) Read(i int, b *edges.Block) error {
	if *l.n++; *l.n == *l.after {
		l.then()
	}
	return l.List.Read(i, b)
}

// TestSearchOfUndeclaredEnds cancels the search for the tuple with an end that is not listed.
func TestSearchOfUndeclaredEnds(t *testing.T) {
	tuples := make([][2]uint64, 1<<16)
	tuples[len(tuples)-1] = [2]uint64{0, 2}
	list := edges.Pack(3, tuples, nil)
	defer list.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	why := errors.New("enough")
	n, after := 0, edges.Blocks(list)+1 // all blocks were read once, and the search has begun
	in := &edges.RankInput{Input: edges.Input{Name: "some", Edges: reads{list, &n, &after, func() { cancel(why) }}}, Largest: 2}
	in.Naming, in.IDs = edges.Listed, []uint64{0, 1}
	in.Undeclared = func(context.Context, int, uint64) error { return errors.New("not listed") }
	_, _, err := Graph(ctx, collective.Alone(), 10, in, []int{0}, graph.Options{Partitions: 1})
	if !errors.Is(err, why) || n != after {
		t.Errorf("error %v after %d of %d blocks", err, n, after)
	}
}
