package library_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/pregel"
)

// reader returns, for each vertex, the initial values of its columns, and their values after a
// change.
type reader struct{}

var (
	rankBefore  = pregel.NewVertexColumn[float64]("rank")
	wordsBefore = pregel.NewVertexColumn[[]string]("words")
	sumBefore   = pregel.NewVertexColumn[int64]("sum")
	edgeSums    = pregel.NewEdgeColumn[int64]("edge sums")
)

// reading has the values that a reader found in superstep 0.
type reading struct {
	Rank  float64
	Words []string
	Sum   int64
}

func (reader) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }
func (reader) Traits() pregel.Traits {
	return pregel.Traits{Columns: []pregel.Column{rankBefore, wordsBefore, sumBefore, edgeSums}}
}

func (reader) Compute(v *pregel.Vertex[reading, int64], _ int64) {
	if v.Superstep() == 0 {
		v.Set(reading{rankBefore.Of(v), wordsBefore.Of(v), sumBefore.Of(v)})
		rankBefore.Set(v, 0) // no other run sees this change
		return
	}
	v.VoteToHalt()
}

// summing adds the input id of a vertex to the initial value of its column, in superstep 0 only.
type summing struct{}

func (summing) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }
func (summing) Traits() pregel.Traits {
	return pregel.Traits{Columns: []pregel.Column{sumBefore}}
}

func (summing) Compute(v *pregel.Vertex[int64, int64], _ int64) {
	v.Set(sumBefore.Of(v) + int64(v.Label()))
	v.VoteToHalt()
}

// parents returns the parent of every vertex in the tree of an earlier run.
type parents struct{}

var parentBefore = pregel.NewVertexColumn[pregel.VertexID]("parent")

func (parents) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }
func (parents) Traits() pregel.Traits {
	return pregel.Traits{Columns: []pregel.Column{parentBefore}}
}

func (parents) Compute(v *pregel.Vertex[pregel.VertexID, int64], _ int64) {
	v.Set(parentBefore.Of(v))
	v.VoteToHalt()
}

func must[V, M any](t *testing.T, g *superstep.Graph, p pregel.Program[V, M], columns ...superstep.Input,
) *superstep.Result[V] {
	t.Helper()
	res, err := superstep.Run(t.Context(), g, p, superstep.Options{Columns: columns})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestInput: columns begin with the results of earlier runs, or with zero.
func TestInput(t *testing.T) {
	everywhere(t, "uniform:vertices=500,degree=3", func(g *superstep.Graph) {
		ranks, texts := must(t, g, algorithms.PageRank{Iterations: 3}),
			must(t, g, pregel.List(words{}))
		sums := must(t, g, summing{})
		sums = must(t, g, summing{}, superstep.From(sumBefore, sums))
		sums = must(t, g, summing{}, superstep.From(sumBefore, sums))
		all := []superstep.Input{superstep.From(rankBefore, ranks), superstep.From(wordsBefore,
			texts), superstep.From(sumBefore, sums)}
		for _, given := range [][]superstep.Input{nil, all[1:2], all} {
			read := 0
			for label, found := range must(t, g, reader{}, given...).All() {
				var want reading
				if len(given) > 0 {
					want.Words, _ = texts.At(label)
				}
				if len(given) > 1 {
					want.Rank, _ = ranks.At(label)
					want.Sum = 3 * int64(label)
				}
				if fmt.Sprintf("%#v", found) != fmt.Sprintf("%#v", want) &&
					!(len(found.Words) == 0 && len(want.Words) == 0 && found.Rank == want.Rank &&
						found.Sum == want.Sum) {
					t.Fatalf("in %v with %d inputs: vertex %d read %#v, expected %#v", g.Grid(),
						len(given), label, found, want)
				}
				read++
			}
			if read != 500 {
				t.Fatalf("found %d values, expected 500", read)
			}
		}
		tree := must(t, g, algorithms.BFS{Source: 2})
		for label, parent := range must(t, g, parents{}, superstep.From(parentBefore, tree)).All() {
			if want, _ := tree.At(label); parent != want {
				t.Fatalf("vertex %d has the parent %d, expected %d", label, parent, want)
			}
		}
	})
}

// TestInputOfManyValues fills columns with many blocks and messages.
func TestInputOfManyValues(t *testing.T) {
	if testing.Short() {
		t.Skip("some 100,000 vertices")
	}
	_, conn := connected(t)
	g, err := conn.Load(t.Context(), "path:vertices=150000", superstep.LoadOptions{Partitions: 3})
	g = open(t, g, err)
	sums := must(t, g, summing{}, superstep.From(sumBefore, must(t, g, summing{})))
	for label, sum := range sums.All() {
		if sum != 2*int64(label) {
			t.Fatalf("vertex %d has %d", label, sum)
		}
	}
}

// TestInputOfAnotherGraph: vertices are matched by their input ids.
func TestInputOfAnotherGraph(t *testing.T) {
	small, err := superstep.FromEdges(t.Context(),
		[]superstep.Edge{{From: 9, To: 3}, {From: 3, To: 7}, {From: 70, To: 3}})
	small = open(t, small, err)
	_, conn := connected(t)
	remote, err := conn.Load(t.Context(), "star:vertices=50")
	remote = open(t, remote, err)
	for _, options := range []superstep.LoadOptions{{}, {Partitions: 4}} {
		big, err := superstep.Load(t.Context(), "path:vertices=50", options)
		big = open(t, big, err)
		for label, sum := range must(t, big, summing{},
			superstep.From(sumBefore, must(t, small, summing{}))).All() {
			want := int64(label)
			if label == 9 || label == 3 || label == 7 {
				want *= 2
			}
			if sum != want {
				t.Errorf("vertex %d has %d, expected %d", label, sum, want)
			}
		}
		for label, sum := range must(t, big, summing{},
			superstep.From(sumBefore, must(t, remote, summing{}))).All() {
			if sum != 2*int64(label) {
				t.Errorf("vertex %d has %d", label, sum)
			}
		}
		again, err := big.Repartition(t.Context(), superstep.LoadOptions{Partitions: 2})
		again = open(t, again, err)
		tree := must(t, big, algorithms.BFS{Source: 2})
		for label, parent := range must(t, again, parents{},
			superstep.From(parentBefore, tree)).All() {
			if want, _ := tree.At(label); parent != want {
				t.Errorf("vertex %d has the parent %d, expected %d", label, parent, want)
			}
		}
		err = run(t, small, parents{},
			superstep.Options{Columns: []superstep.Input{superstep.From(parentBefore, tree)}})
		refusedWith(t, err, "column parent: values of type pregel.VertexID may be vertices")
	}
}

func refusedWith(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("found %v, expected %q", err, want)
	}
}

// TestInputRefuses has inputs that do not exist or do not fit.
func TestInputRefuses(t *testing.T) {
	c, conn := connected(t)
	here := grid(t)
	there, err := conn.Load(t.Context(), "path:vertices=9")
	there = open(t, there, err)
	other, err := conn.Load(t.Context(), "path:vertices=9")
	other = open(t, other, err)
	given := func(inputs ...superstep.Input) superstep.Options { return superstep.Options{Columns: inputs} }
	var before *superstep.Result[int64]
	namesake := pregel.NewVertexColumn[int64]("sum")
	for _, g := range []*superstep.Graph{here, there} {
		sums := must(t, g, summing{})
		refusedWith(t, run(t, g, summing{}, given(superstep.Input{})),
			"From or FromFile did not make an Input")
		refusedWith(t, run(t, g, parents{}, given(superstep.From(sumBefore, sums))),
			`parents: its Traits lists no column "sum"`)
		refusedWith(t, run(t, g, summing{}, given(superstep.From(namesake, sums))),
			"column sum: the program lists another column of that name")
		refusedWith(t, run(t, g, summing{}, given(superstep.From(sumBefore, sums),
			superstep.From(sumBefore, sums))),
			"superstep: Options.Columns: column sum is given twice")
		for _, none := range []*superstep.Result[int64]{nil, {}} {
			refusedWith(t, run(t, g, summing{}, given(superstep.From(sumBefore, none))),
				"column sum: found an empty Result")
		}
		var nothing func(uint64) int64
		refusedWith(t, run(t, g, summing{}, given(superstep.From(sumBefore, nothing))),
			"column sum: the function is nil")
		edges := pregel.NewVertexColumn[int64]("edge sums")
		refusedWith(t, run(t, g, reader{}, given(superstep.From(edges, sums))),
			"column edge sums: the program lists another column of that name")
	}
	refusedWith(t, run(t, there, summing{}, given(superstep.From(sumBefore,
		must(t, here, summing{})))), "the result is from another cluster")
	refusedWith(t, run(t, other, summing{},
		given(superstep.From(sumBefore, must(t, there, summing{})))), "or of another load of it")
	var loads []*superstep.Graph
	for range 2 { // the same name for another graph
		for _, old := range loads {
			if _, err := c.Client.DropGraph(t.Context(),
				&control.DropGraphRequest{Name: "again"}); err != nil {
				t.Fatal(old.NumVertices(), err)
			}
		}
		_, err := c.Client.LoadGraph(t.Context(),
			&control.LoadGraphRequest{Name: "again", SourceJson: job.Text(&job.Source{Input: "path:vertices=9"})})
		if err != nil {
			t.Fatal(err)
		}
		g, err := conn.Graph(t.Context(), "again")
		loads = append(loads, open(t, g, err))
		if len(loads) == 1 {
			before = must(t, g, summing{})
			must(t, g, summing{}, superstep.From(sumBefore, before))
		}
	}
	refusedWith(t, run(t, loads[1], summing{}, given(superstep.From(sumBefore, before))),
		"or of another load of it")
	refusedWith(t, run(t, loads[0], summing{},
		given(superstep.From(sumBefore, func(uint64) int64 { return 1 }))),
		"graph again was loaded since the client listed its vertices")
	_, elsewhere := connected(t)
	far, err := elsewhere.Load(t.Context(), "path:vertices=9")
	far = open(t, far, err)
	refusedWith(t, run(t, there, summing{}, given(superstep.From(sumBefore,
		must(t, far, summing{})))), "the result is from another cluster")
	closed, err := superstep.Load(t.Context(), "path:vertices=9")
	if err != nil {
		t.Fatal(err)
	}
	res := must(t, closed, summing{})
	closed.Close()
	refusedWith(t, run(t, here, summing{}, given(superstep.From(sumBefore, res))),
		"column sum: superstep: the graph is closed")
	if states := strings.Join(jobs(t, c), " "); strings.Count(states, "failed") != 3 {
		t.Errorf("the jobs are %s: three were refused by the master alone", states)
	}
}
