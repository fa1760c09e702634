package library_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/pregel"
)

// carrier collects the initial values of each vertex's edges, in the direction of messages.
type carrier struct {
	Way int `param:"way" help:"the direction of messages: 0 out, 1 in, 2 both, 3 either"`
}

var (
	edgeNumber = pregel.NewEdgeColumn[int64]("number")
	edgeWord   = pregel.NewEdgeColumn[string]("word")
	edgeVertex = pregel.NewEdgeColumn[pregel.VertexID]("vertex")
	edgeList   = pregel.NewEdgeColumn[[]int]("list")
)

func (carrier) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }
func (p carrier) Traits() pregel.Traits {
	return pregel.Traits{
		Direction: pregel.Direction(p.Way),
		Columns:   []pregel.Column{edgeNumber, edgeWord, edgeVertex, edgeList},
	}
}

// carried has the values of an edge of a vertex. To is the other end.
type carried struct {
	To     pregel.VertexID
	Number int64
	Word   string
	Named  pregel.VertexID
}

func (p carrier) Compute(v *pregel.Vertex[[]carried, int64], _ int64) {
	write := func(e pregel.Edge) {
		v.Set(append(v.Value(), carried{e.To, edgeNumber.Of(e), edgeWord.Of(e), edgeVertex.Of(e)}))
	}
	for e := range v.Edges() {
		write(e)
	}
	if pregel.Direction(p.Way) == pregel.Either {
		for e := range v.InEdges() {
			write(e)
		}
	}
	v.VoteToHalt()
}

// carriedBy returns the values of a graph's vertices by input id: a sorted entry for each edge.
func carriedBy(
	t *testing.T, g *superstep.Graph, way pregel.Direction, columns ...superstep.Input,
) map[uint64][]string {
	t.Helper()
	all := map[uint64][]string{}
	for label, list := range must(t, g, carrier{int(way)}, columns...).All() {
		all[label] = []string{}
		for _, e := range list {
			all[label] = append(all[label],
				fmt.Sprint(g.Label(e.To), e.Number, e.Word, g.Label(e.Named)))
		}
		slices.Sort(all[label])
	}
	return all
}

// line is a line of an edge list with columns.
type line struct {
	from, to, number, named uint64
	word                    string
}

// twin returns what carriedBy should return, computed with maps. edges are the stored edges of the
// graph.
func twin(edges []line, directed bool, way pregel.Direction) map[uint64][]string {
	all := map[uint64][]string{}
	add := func(at, to uint64, e line) { all[at] = append(all[at], fmt.Sprint(to, e.number, e.word, e.named)) }
	for _, e := range edges {
		all[e.from], all[e.to] = append(all[e.from], []string{}...),
			append(all[e.to], []string{}...)
		if !directed || way != pregel.In {
			add(e.from, e.to, e)
		}
		if !directed && e.from != e.to || directed && way != pregel.Out {
			add(e.to, e.from, e)
		}
	}
	for at, list := range all {
		if !directed && way == pregel.Either { // out-edges and in-edges are the same
			list = append(list, list...)
		}
		slices.Sort(list)
		all[at] = list
	}
	return all
}

func text(edges []line, weighted bool) string {
	var b strings.Builder
	for _, e := range edges {
		if fmt.Fprintf(&b, "%d\t%d ", e.from, e.to); weighted {
			fmt.Fprint(&b, "0.5 ")
		}
		fmt.Fprintf(&b, "%d  %s %d\n", e.number, e.word, e.named)
	}
	return b.String()
}

// TestInputOfEdges reads edge columns of random graphs of all kinds from additional columns of the
// graph's file, and compares with maps.
func TestInputOfEdges(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 1))
	_, conn := connected(t)
	for trial := range 24 {
		n := 1 + random.Uint64N(40)
		var edges []line
		times := map[[2]uint64]int{}
		for range 1 + random.IntN(150) {
			e := line{1000 * random.Uint64N(n), 1000 * random.Uint64N(n), random.Uint64N(1000), 0, fmt.Sprintf("w%d", random.IntN(99))}
			if e.named = e.from; random.IntN(2) == 0 {
				e.named = e.to
			}
			edges = append(edges, e)
		}
		directed, keep, loops := trial%2 == 0, trial%3 == 0, trial%5 != 0
		var stored []line
		for _, e := range edges {
			key := [2]uint64{e.from, e.to}
			if !directed {
				key = [2]uint64{min(e.from, e.to), max(e.from, e.to)}
			}
			if times[key]++; (times[key] == 1 || keep) && (loops || e.from != e.to) {
				stored = append(stored, e)
			}
		}
		path := file(t, "graph.wel", text(edges, true))
		o := superstep.LoadOptions{Directed: directed, Undirected: !directed, Partitions: 1 + random.IntN(5), Threads: 1 + random.IntN(3)}
		if !loops {
			o.SelfLoops = superstep.DropSelfLoops
		}
		if !keep {
			o.Duplicates = superstep.FirstDuplicates
		}
		if trial%4 == 1 {
			o.Weights = superstep.Float32
		}
		load := superstep.Load
		if trial%4 == 3 {
			load, o.Threads = conn.Load, 0
		}
		g, err := load(t.Context(), path, o)
		g = open(t, g, err)
		for way := pregel.Out; way <= pregel.Either; way++ {
			found := carriedBy(t, g, way, superstep.FromFile(edgeNumber, path+":4"),
				superstep.FromFile(edgeWord, path+":5"), superstep.FromFile(edgeVertex, path+":6"))
			want := twin(stored, directed, way)
			for label, list := range found {
				if !slices.Equal(list, want[label]) {
					t.Fatalf("trial %d, directed %t, %v, %+v: vertex %d has\n%q, expected\n%q",
						trial, directed, way, o, label, list, want[label])
				}
			}
			for label, list := range want {
				if len(list) > 0 && len(found[label]) != len(list) {
					t.Fatalf("trial %d: vertex %d has %q", trial, label, found[label])
				}
			}
		}
	}
}

// TestInputOfEdgesRefuses: errors have the file, the line, what was found and what was expected.
func TestInputOfEdgesRefuses(t *testing.T) {
	_, conn := connected(t)
	for _, test := range []struct {
		graph   string
		options superstep.LoadOptions
		column  pregel.Column
		lines   string
		want    string
	}{
		{"1 2\n2 3\n", superstep.LoadOptions{}, edgeNumber, "1 2 5\n2 4 6\n", "lines:2:1: found vertex 4, expected one of "},
		{"1 2\n2 3\n", superstep.LoadOptions{}, edgeNumber, "1 2 5\n2 1 6\n", "lines:2:1: found an edge from 2 to 1, expected one of "},
		{"1 2\n2 3\n", superstep.LoadOptions{}, edgeNumber, "1 2 5\n1 2 5\n", "lines:2:1: found the edge from 1 to 2 again, expected as many as "},
		{"1 2\n2 3\n", superstep.LoadOptions{Undirected: true}, edgeNumber, "1 2 5\n2 1 5\n", "lines:2:1: found the edge from 2 to 1 again, expected as many as "},
		{"1 2\n2 3\n", superstep.LoadOptions{}, edgeNumber, "1 2 5\n", "lines: found no value of the edge from 2 to 3, expected one of every edge of "},
		{"1 2\n2 3\n", superstep.LoadOptions{}, edgeNumber, "1 2 x\n", `lines:1:5: found "x", expected a whole number`},
		{"1 2\n2 3\n", superstep.LoadOptions{}, edgeVertex, "1 2 1\n2 3 7\n", "lines:2:5: found vertex 7 as a value, expected one of the graph, or -1"},
		{"1 2\n2 3\n", superstep.LoadOptions{}, edgeNumber, "1 2\n", `lines:1:1: found no value in "1 2", expected "from to value"`},
		{"1 2\n2 3\n", superstep.LoadOptions{}, edgeList, "1 2 1\n", "column list: values of type []int cannot be read from files"},
		{"1 2 1\n1 2 2\n", superstep.LoadOptions{Weights: superstep.Float32}, edgeNumber, "1 2 1\n1 2 2\n", "lines:1:1: found one of parallel edges from 1 to 2 with other weights, expected one edge, as --duplicates first"},
		{"1 2 1\n1 2 2\n", superstep.LoadOptions{Duplicates: superstep.MinDuplicates}, edgeNumber, "1 2 1\n1 2 2\n", "lines:2:1: found another value of the edge from 1 to 2, expected the same of parallel edges that were merged by --duplicates min"},
		{"1 2\n2 3\n", superstep.LoadOptions{Grid: superstep.Grid{Rows: 2, Columns: 2}}, edgeNumber, "1 2 5\n", "edge column number: the edges of a vertex are spread over a column of the 2x2 grid of partitions; a grid of 4x1"},
	} {
		path, lines := file(t, "graph", test.graph), file(t, "lines", test.lines)
		here, err := superstep.Load(t.Context(), path, test.options)
		here = open(t, here, err)
		there, err := conn.Load(t.Context(), path, test.options)
		there = open(t, there, err)
		for _, g := range []*superstep.Graph{here, there} {
			refusedWith(t, run(t, g, carrier{},
				superstep.Options{Columns: []superstep.Input{superstep.FromFile(test.column,
					lines)}}), test.want)
		}
	}
	g, err := superstep.FromEdges(t.Context(),
		[]superstep.Edge{{From: 1, To: 2}, {From: 1, To: 2}, {From: 2, To: 1}, {From: 2, To: 2}},
		superstep.LoadOptions{Duplicates: superstep.SumDuplicates})
	g = open(t, g, err)
	all := carriedBy(t, g, pregel.Out,
		superstep.FromFile(edgeNumber, file(t, "lines", "1 2 7\n2 2 9\n2 1 8\n1 2 7\n")))
	if found := fmt.Sprint(all); !strings.Contains(found, "1:[2 7") ||
		!strings.Contains(found, "2:[1 8") || !strings.Contains(found, " 2 9") {
		t.Errorf("found %s", found)
	}
	refusedWith(t,
		run(t, g, carrier{},
			superstep.Options{Columns: []superstep.Input{superstep.FromFile(edgeNumber,
				file(t, "lines", ""))}}), "lines: found no value of the edge from ")
	refusedWith(t,
		run(t, g, carrier{},
			superstep.Options{Columns: []superstep.Input{superstep.FromFile(edgeNumber, "g.e:x")}}),
		`column number: g.properties: found no such file, expected one that names the column "x"`)
}
