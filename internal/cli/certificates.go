package cli

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/algorithms/verify"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/pregel"
)

// certificates are the checkers of the built-in programs' results, by name.
var certificates = map[string]certificate{
	"betweenness": {check: with(func(c *claim, p *algorithms.Betweenness) error {
		return verify.Betweenness(c.Graph, c.origins(p.Sources, p.Samples), numbers(c))
	})},
	"bfs": {check: with(func(c *claim, p *algorithms.BFS) error {
		if c.values["output"] == "level" {
			return verify.Levels(c.Graph, int(p.Source), integers(c))
		}
		return verify.BFS(c.Graph, int(p.Source), verticesOrNone(c))
	})},
	"cdlp": {check: with(func(c *claim, p *algorithms.CDLP) error {
		labels := vertices(c)
		for v, l := range labels {
			labels[v] = c.Labels.Of(l)
		}
		return verify.CDLP(c.Graph, p.Iterations, labels)
	})},
	"cg": {tolerance: true, check: with(func(c *claim, p *algorithms.CG) error {
		b, err := c.begins("b")
		if err != nil {
			return err
		}
		if p.Ones {
			b = nil
		}
		_, err = verify.Solution(c.Graph, b, numbers(c), p.Tolerance)
		return err
	})},
	"closeness": {check: with(func(c *claim, p *algorithms.Closeness) error {
		closeness, harmonic := twoNumbers(c)
		return verify.Closeness(c.Graph, c.origins(p.Sources, p.Samples), closeness, harmonic)
	})},
	"coloring": {check: func(c *claim) error { return verify.Coloring(c.Graph, integers(c)) }},
	"degrees": {check: func(c *claim) error {
		return verify.Degrees(c.Graph,
			column(c, "three whole numbers", func(text string) (d [3]int64, err error) {
				_, err = fmt.Sscan(text, &d[0], &d[1], &d[2])
				return d, err
			}))
	}},
	"eigenvector": {stopped: true, check: with(func(c *claim, p *algorithms.Eigenvector) error {
		limit, tolerance := p.Limits()
		// Superstep s runs iteration s-1.
		return verify.Eigenvector(c.Graph, c.most(limit, c.iterations-1), tolerance, numbers(c))
	})},
	"hits": {stopped: true, check: with(func(c *claim, p *algorithms.HITS) error {
		limit, tolerance := p.Limits()
		hub, authority := twoNumbers(c)
		// Superstep s runs half iteration s-1.
		return verify.HITS(c.Graph, c.most(2*limit, c.iterations-1), tolerance, hub, authority)
	})},
	"hyperball": {check: func(c *claim) error {
		reached, harmonic := twoNumbers(c)
		return verify.HyperBall(c.Graph, reached, harmonic)
	}},
	"kcore": {check: with(func(c *claim, p *algorithms.KCore) error {
		if p.K > 0 {
			return verify.InCore(c.Graph, p.K, integers(c))
		}
		return verify.KCore(c.Graph, integers(c))
	})},
	"lcc": {check: func(c *claim) error { return verify.LCC(c.Graph, numbers(c)) }},
	"louvain": {check: with(func(c *claim, p *algorithms.Louvain) error {
		var modularity float64
		if err := json.Unmarshal(c.aggregates["modularity"], &modularity); err != nil {
			return fmt.Errorf("the modularity that was reported: %w", err)
		}
		return verify.Louvain(c.Graph, p.Tolerance, modularity, vertices(c))
	})},
	"matching": {check: func(c *claim) error { return verify.Matching(c.Graph, verticesOrNone(c)) }},
	"mis": {check: func(c *claim) error {
		return verify.MIS(c.Graph, column(c, "true or false", strconv.ParseBool))
	}},
	"msf": {check: func(c *claim) error {
		trees, branches := forest(c)
		return verify.MSF(c.Graph, trees, branches)
	}},
	"pagerank": {stopped: true, check: with(func(c *claim, p *algorithms.PageRank) error {
		return verify.Ranks(c.Graph, p.Damping, c.most(p.Iterations, c.iterations), p.Tolerance,
			numbers(c), c.places(p.Sources)...)
	})},
	"scc": {check: func(c *claim) error { return verify.SCC(c.Graph, vertices(c)) }},
	"sssp": {check: with(func(c *claim, p *algorithms.SSSP[float64]) error {
		return verify.SSSP(c.Graph, int(p.Source), numbers(c))
	})},
	"triangles": {check: func(c *claim) error { return verify.Triangles(c.Graph, integers(c)) }},
	"walks": {check: with(func(c *claim, p *algorithms.Walks) error {
		return verify.Walks(c.Graph, p.Walks, p.Length, p.P, p.Q, walks(c))
	})},
	"wcc": {check: func(c *claim) error { return verify.WCC(c.Graph, vertices(c)) }},
}

// most returns the number of iterations of a run: limit, or done if the run was stopped before.
func (c *claim) most(limit, done int) int {
	if c.ended.Complete() {
		return limit
	}
	return max(min(limit, done), 0)
}

// with makes a check that receives the program's parameters, with defaults. Its vertices are input
// vertices.
func with[P any](check func(c *claim, p *P) error) func(c *claim) error {
	return func(c *claim) error {
		p := new(P)
		err := engine.Fill(p, c.values, func(label uint64) (pregel.VertexID, bool) {
			v, ok := c.Labels.Find(label, c.Vertices)
			return pregel.VertexID(v), ok
		})
		if err != nil {
			return err
		}
		return check(c, p)
	}
}

// origins returns the start vertices of searches: sources, or else a sample.
func (c *claim) origins(sources []pregel.VertexID, samples int) []int {
	if len(sources) == 0 {
		return verify.Sample(c.Graph, samples)
	}
	return c.places(sources)
}

// places converts vertices to ints.
func (*claim) places(vertices []pregel.VertexID) (all []int) {
	for _, v := range vertices {
		all = append(all, int(v))
	}
	return all
}

// numbers parses values that are floats.
func numbers(c *claim) []float64 {
	return column(c, "a number",
		func(text string) (float64, error) { return strconv.ParseFloat(text, 64) })
}

// integers parses values that are integers.
func integers(c *claim) []int64 {
	return column(c, "a whole number",
		func(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) })
}

// twoNumbers parses values that are two floats.
func twoNumbers(c *claim) (first, second []float64) {
	first = make([]float64, c.Vertices)
	second = make([]float64, c.Vertices)
	all := column(c, "two numbers", func(text string) (pair [2]float64, err error) {
		a, b, _ := strings.Cut(strings.Replace(text, "\t", " ", 1), " ")
		pair[0], err = strconv.ParseFloat(a, 64)
		if err == nil {
			pair[1], err = strconv.ParseFloat(b, 64)
		}
		return pair, err
	})
	for v, pair := range all {
		first[v], second[v] = pair[0], pair[1]
	}
	return first, second
}

// forest parses values that consist of a vertex, for the tree, and edges as other:weight.
func forest(c *claim) (trees []uint64, branches [][]verify.Branch) {
	type value struct {
		tree  uint64
		edges []verify.Branch
	}
	trees, branches = make([]uint64, c.Vertices), make([][]verify.Branch, c.Vertices)
	for v, x := range column(c, "the id of a vertex, and edges as id:weight",
		func(text string) (x value, err error) {
			tree, rest, err := c.next(text)
			for err == nil && rest != "" {
				var e verify.Branch
				if e.To, rest, err = c.next(strings.TrimPrefix(rest, " ")); err == nil {
					var weight string
					weight, rest, _ = strings.Cut(strings.TrimPrefix(rest, ":"), " ")
					e.Weight, err = strconv.ParseFloat(weight, 64)
				}
				x.edges = append(x.edges, e)
			}
			x.tree = uint64(tree)
			return x, err
		}) {
		trees[v], branches[v] = x.tree, x.edges
	}
	return trees, branches
}

// verticesOrNone parses values that are vertex ids or -1. It returns input vertices.
func verticesOrNone(c *claim) []int64 {
	return column(c, "the id of a vertex, or -1", func(text string) (int64, error) {
		if text == "-1" {
			return -1, nil
		}
		return c.called(text)
	})
}

// next parses the vertex at the beginning of text, in which a backslash escapes delimiters. rest is
// what follows.
func (c *claim) next(text string) (vertex int64, rest string, err error) {
	var name []byte
	i := 0
	for ; i < len(text) && strings.IndexByte(" :;", text[i]) < 0; i++ {
		if text[i] == '\\' && i+1 < len(text) {
			i++
		}
		name = append(name, text[i])
	}
	vertex, err = c.called(string(name))
	return vertex, text[i:], err
}

// walks parses values that are lists of vertices separated by "; ". It returns input vertices.
func walks(c *claim) [][][]uint64 {
	return column(c, "walks", func(text string) ([][]uint64, error) {
		all := make([][]uint64, 1)
		for {
			v, rest, err := c.next(text)
			if err != nil {
				return nil, err
			}
			last := &all[len(all)-1]
			if *last = append(*last, uint64(v)); rest == "" {
				return all, nil
			}
			var more bool
			if text, more = strings.CutPrefix(rest, "; "); more {
				all = append(all, nil)
			} else {
				text = strings.TrimPrefix(rest, " ")
			}
		}
	})
}

// vertices parses values that are vertex ids. It returns input vertices.
func vertices(c *claim) []uint64 {
	return column(c, "the id of a vertex", func(text string) (uint64, error) {
		v, err := c.called(text)
		return uint64(v), err
	})
}
