package library_test

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/pregel"
)

// scored has structs as values, with many ties.
type scored struct{}

type score struct {
	Hub, Authority float64
	Big            [3]int64
	Named
}

type Named struct{ Name string }

func (scored) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }
func (scored) Compute(v *pregel.Vertex[score, int64], _ int64) {
	v.Set(score{Hub: float64(v.Label() % 7), Authority: scoreOf(v.Label()), Big: [3]int64{2: int64(v.Label())}})
	v.VoteToHalt()
}

func scoreOf(label uint64) float64 {
	switch label % 11 {
	case 3:
		return math.NaN()
	case 5:
		return math.Inf(-1)
	default:
		return float64(label % 11)
	}
}

// everywhere calls f with graphs of one, four and 2x2 partitions, in this process and on a cluster.
func everywhere(t *testing.T, name string, f func(g *superstep.Graph)) {
	t.Helper()
	_, conn := connected(t)
	for _, options := range []superstep.LoadOptions{{}, {Partitions: 4}, {Grid: superstep.Grid{Rows: 2, Columns: 2}}} {
		here, err := superstep.Load(t.Context(), name, options)
		f(open(t, here, err))
		there, err := conn.Load(t.Context(), name, options)
		f(open(t, there, err))
	}
}

type pair[V any] struct {
	Label uint64
	Value V
}

// TestTop compares the top values of a result with all values, sorted.
func TestTop(t *testing.T) {
	everywhere(t, "uniform:vertices=100,degree=3", func(g *superstep.Graph) {
		res, err := superstep.Run(t.Context(), g, scored{})
		if err != nil {
			t.Fatal(err)
		}
		by := func(a, b score) int { return cmp.Compare(a.Authority, b.Authority) }
		var all []pair[score]
		for label, v := range res.All() {
			all = append(all, pair[score]{label, v})
		}
		slices.SortFunc(all, func(a, b pair[score]) int {
			return cmp.Or(by(b.Value, a.Value), cmp.Compare(a.Label, b.Label))
		})
		for _, n := range []int{-1, 0, 1, 2, 10, 11, 99, 100, 1000} {
			var found []pair[score]
			for label, v := range res.Top(n, by) {
				found = append(found, pair[score]{label, v})
			}
			if want := all[:max(0, min(n, 100))]; fmt.Sprint(found) != fmt.Sprint(want) {
				t.Fatalf("the first %d are %v, expected %v", n, found, want)
			}
		}
		for label := range res.Top(5, by) {
			if label != all[0].Label {
				t.Errorf("the first is %d", label)
			}
			break
		}
	})
}

// TestTopOfNumbers: Top needs no compare function for numbers.
func TestTopOfNumbers(t *testing.T) {
	res, err := superstep.Run(t.Context(), grid(t), algorithms.BFSLevels{})
	if err != nil {
		t.Fatal(err)
	}
	for label, level := range res.Top(1, cmp.Compare) {
		if v, _ := res.At(label); v != level || level < 5 {
			t.Errorf("vertex %d has %d, and %d", label, level, v)
		}
	}
}

// TestColumn compares columns with the fields of the values.
func TestColumn(t *testing.T) {
	everywhere(t, "uniform:vertices=100,degree=3", func(g *superstep.Graph) {
		res, err := superstep.Run(t.Context(), g, scored{})
		if err != nil {
			t.Fatal(err)
		}
		hubs, err := superstep.Column[float64](res, "Hub")
		if err != nil {
			t.Fatal(err)
		}
		big, err := superstep.Column[[3]int64](res, "Big")
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for label, hub := range hubs {
			v, ok := res.At(label)
			if seen++; !ok || v.Hub != hub || hub != float64(label%7) {
				t.Errorf("vertex %d has hub %v", label, hub)
			}
		}
		for label, x := range big {
			if seen++; x[2] != int64(label) {
				t.Errorf("vertex %d has %v", label, x)
			}
		}
		if seen != 200 {
			t.Errorf("found %d values, expected 200", seen)
		}
		for range hubs {
			break
		}
	})
	res, err := superstep.Run(t.Context(), grid(t), scored{})
	if err != nil {
		t.Fatal(err)
	}
	levels, err := superstep.Run(t.Context(), grid(t), algorithms.BFSLevels{})
	if err != nil {
		t.Fatal(err)
	}
	refused := func(want string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("found %v, expected %q", err, want)
		}
	}
	column := func(field string) error { _, err := superstep.Column[float64](res, field); return err }
	refused("has no exported field of that name", column("hub"))
	refused("has no exported field of that name", column("Name"))
	refused("it is of type [3]int64, and float64 was asked for", column("Big"))
	_, err = superstep.Column[int64](levels, "Hub")
	refused("values are of type int64, expected a struct", err)
	hubs, _ := superstep.Column[float64](res, "Hub")
	if n := testing.AllocsPerRun(5, func() {
		for range hubs {
		}
	}); n > 8 {
		t.Errorf("a column of 30 values takes %v allocations", n)
	}
}

// TestResultsOfAClosedGraph: results of a closed graph have no vertices.
func TestResultsOfAClosedGraph(t *testing.T) {
	g := grid(t)
	res, err := superstep.Run(t.Context(), g, scored{})
	if err != nil {
		t.Fatal(err)
	}
	column, err := superstep.Column[float64](res, "Hub")
	if err != nil {
		t.Fatal(err)
	}
	g.Close()
	for name, read := range map[string]func(){
		"Top": func() {
			for range res.Top(1, func(a, b score) int { return 0 }) {
			}
		},
		"Column": func() {
			for range column {
			}
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s of a closed graph did not panic", name)
				}
			}()
			read()
		}()
	}
}

// TestTopWithoutCompare: Top panics with an explanation if it needs a compare function.
func TestTopWithoutCompare(t *testing.T) {
	res := must(t, grid(t), summing{})
	defer func() {
		if text := fmt.Sprint(recover()); !strings.Contains(text,
			"superstep: Result.Top: compare is nil") {
			t.Errorf("found %s", text)
		}
	}()
	res.Top(3, nil)
}

// TestResultsKeepTheirValues: a result's values stay as they are while later runs reuse the memory
// of results that nobody uses, also in a copy of the struct and in an iterator.
func TestResultsKeepTheirValues(t *testing.T) {
	g, err := superstep.Load(t.Context(), "kronecker:scale=14")
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	search := func(source int) *superstep.Result[int64] {
		r, err := superstep.Run(t.Context(), g,
			algorithms.BFSLevels{Source: pregel.VertexID(source)})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	var copies []superstep.Result[int64]
	var iterators []iter.Seq2[uint64, int64]
	var want [][]int64
	for source := range 40 {
		r := search(source)
		if source%4 == 0 {
			copies, iterators = append(copies, *r), append(iterators, search(source).All())
			var values []int64
			for _, v := range r.All() {
				values = append(values, v)
			}
			want = append(want, values)
		}
		if source%8 == 7 {
			runtime.GC()
		}
	}
	for i := range want {
		var found []int64
		for _, v := range iterators[i] {
			found = append(found, v)
		}
		for id, v := range want[i] {
			if found[id] != v || copies[i].Value(pregel.VertexID(id)) != v {
				t.Fatalf("search %d, vertex %d: %d and %d, want %d", i, id, found[id],
					copies[i].Value(pregel.VertexID(id)), v)
			}
		}
	}
}
