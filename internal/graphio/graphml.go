package graphio

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/names"
)

// A file of GraphML (http://graphml.graphdrawing.org) is read element by element, so that it takes
// the memory of its edges alone. Entities other than XML's own are not expanded: they are faults.
const (
	graphmlDepth = 64      // how deep elements may be nested
	graphmlBatch = 1 << 14 // edges of a batch
)

// graphml is a file of GraphML while it is read.
type graphml struct {
	r     *reader
	f     *file
	bytes *tokenReader
	d     *xml.Decoder
	p     parser
	t     *table
	index int

	names    *names.Table
	declared []uint64       // a set of provisional ids: those of nodes
	pending  map[uint64]int // those of ends of edges that are no nodes yet, with the line
	nodes    int
	numeric  bool // all names so far are plain numbers

	weight     string // the id of the key of weights
	weightName string
	byDefault  *float64          // the weight of edges that say none
	keys       []string          // names of attributes of edges
	elsewhere  map[string]string // of keys of weights that are not for edges: what they are for
	graph      bool              // has begun
	directed   bool
	edge       *graphmlEdge // that is being read
	data       int          // the depth of the data or the default that is being read; 0 is none
	text       []byte
	ofKey      string // the key whose default is read
	line       int    // of the element that is read
	edges      int    // begun so far
	from, to   int    // of them this rank's first, and the one after its last
}

type graphmlEdge struct {
	u, v   uint64
	weight *float64
	own    bool // of this rank's part
}

// readGraphML reads a graph of GraphML. Its vertices are the nodes, by their ids: numbers, if all
// ids are, or names. Of several ranks each reads the whole file, since only all of it tells which
// names are nodes, and keeps the edges of its part.
func (r *reader) readGraphML(ctx context.Context, f *file) (*edges.RankInput, error) {
	if r.SkipBad > 0 {
		return nil, fileFault(f.path, "GraphML with --skip-bad", "a format of lines: elements are not left out")
	}
	g := &graphml{r: r, f: f, bytes: &tokenReader{f: f}, names: names.NewTable(), pending: map[uint64]int{}, elsewhere: map[string]string{}, numeric: r.Columns.IDs != "name"}
	g.d = xml.NewDecoder(g.bytes)
	g.t = r.newTable(f, 3)
	g.p.grammar = grammar{columns: 3, single: r.Weights == edges.Float32}
	defer g.t.slabs.close()
	defer g.names.Close()
	if err := g.read(ctx); err != nil {
		return nil, inFile(err, f.path)
	}
	if err := f.unchanged(); err != nil {
		return nil, err
	}
	g.t.seal()
	return g.input(ctx)
}

// read reads the whole file.
func (g *graphml) read(ctx context.Context) error {
	for depth, n := 0, 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		g.bytes.left = maxLine
		g.line, _ = g.d.InputPos()
		token, err := g.d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			return g.syntax(err)
		}
		var bad *fault
		switch token := token.(type) {
		case xml.StartElement:
			if depth++; depth > graphmlDepth {
				bad = &fault{found: fmt.Sprintf("elements nested more than %d deep", graphmlDepth), expected: "fewer"}
				break
			}
			bad = g.begin(token, depth)
		case xml.EndElement:
			bad = g.end(token.Name.Local, depth)
			depth--
		case xml.CharData:
			if g.data > 0 && len(g.text)+len(token) <= maxLine {
				g.text = append(g.text, token...)
			}
		}
		if bad != nil {
			bad.line = g.line
			return bad
		}
		if len(g.p.ids) >= 2*graphmlBatch {
			if err := g.flush(); err != nil {
				return err
			}
		}
	}
	if !g.graph {
		return &fault{found: "no <graph>", expected: "a graph in <graphml>"}
	}
	if bad := g.undeclared(); bad != nil {
		return bad
	}
	return g.flush()
}

// syntax is the error of a file that is no XML, or cannot be read.
func (g *graphml) syntax(err error) error {
	var bad *xml.SyntaxError
	switch {
	case g.bytes.err != nil:
		return g.bytes.err
	case errors.As(err, &bad):
		return &fault{line: bad.Line, found: "XML at fault: " + bad.Msg, expected: "GraphML"}
	case strings.HasPrefix(err.Error(), "xml: encoding"):
		return &fault{line: g.line, found: "another encoding", expected: "UTF-8 (iconv converts, and the first line must say so)"}
	default:
		return &fault{line: g.line, found: err.Error(), expected: "GraphML"}
	}
}

// flush stores the edges read so far.
func (g *graphml) flush() error {
	b, err := g.t.store(0, g.index, &g.p)
	if err != nil {
		return err
	}
	g.t.put(g.index, b)
	g.index++
	g.p.reset()
	return nil
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// begin reads the beginning of an element.
func (g *graphml) begin(e xml.StartElement, depth int) *fault {
	name := e.Name.Local
	if depth == 1 && name != "graphml" {
		return &fault{found: "<" + name + ">", expected: "<graphml>"}
	}
	switch name {
	case "key":
		return g.key(e)
	case "default":
		if g.ofKey != "" && g.ofKey == g.weight {
			g.data, g.text = depth, g.text[:0]
		}
	case "graph":
		return g.beginGraph(e)
	case "hyperedge":
		return &fault{found: "a hyperedge", expected: "edges of two ends"}
	case "node":
		return g.node(attribute(e, "id"))
	case "edge":
		return g.beginEdge(e)
	case "data":
		if of := g.elsewhere[attribute(e, "key")]; g.edge != nil && of != "" {
			return &fault{found: fmt.Sprintf("data of an edge by the key %q, which is for %s", attribute(e, "key"), of), expected: `a <key for="edge">, or for="all"`}
		}
		if g.edge != nil && g.weight != "" && attribute(e, "key") == g.weight {
			g.data, g.text = depth, g.text[:0]
		}
	}
	return nil
}

// key reads the beginning of the key of an attribute: that of weights is the one named, or the
// first of the usual names.
func (g *graphml) key(e xml.StartElement) *fault {
	if g.graph {
		return &fault{found: "a <key> within the graph", expected: "keys before it"}
	}
	g.ofKey = ""
	name := attribute(e, "attr.name")
	if of := attribute(e, "for"); of != "edge" && of != "all" && of != "" {
		if name == g.r.Columns.Weight || g.r.Columns.Weight == "" && usual([]string{name}, weightNames) == 0 {
			g.elsewhere[attribute(e, "id")] = of
		}
		return nil
	}
	g.ofKey = attribute(e, "id")
	g.keys = append(g.keys, name)
	wanted := name == g.r.Columns.Weight
	if g.r.Columns.Weight == "" {
		at := slices.Index(weightNames, strings.ToLower(name))
		before := slices.Index(weightNames, strings.ToLower(g.weightName))
		wanted = at >= 0 && (before < 0 || at < before)
	}
	if wanted && g.ofKey != "" {
		g.weight, g.weightName, g.byDefault = g.ofKey, name, nil
	}
	return nil
}

func (g *graphml) beginGraph(e xml.StartElement) *fault {
	switch {
	case g.graph:
		return &fault{found: "another graph, or one within a node", expected: "one graph"}
	case g.r.Columns.Weight != "" && g.weight == "":
		bad := &fault{found: fmt.Sprintf("no attribute of edges %q", g.r.Columns.Weight), expected: "one of " + strings.Join(g.keys, ", ")}
		for _, id := range slices.Sorted(maps.Keys(g.elsewhere)) {
			bad.found += fmt.Sprintf(": the key %q is for %s", id, g.elsewhere[id])
		}
		if len(g.keys) == 0 {
			bad.expected = `a <key for="edge">`
		}
		return bad
	}
	g.graph = true
	switch kind := attribute(e, "edgedefault"); kind {
	case "directed":
		g.directed = true
	case "undirected":
	default:
		return &fault{found: "edgedefault=" + strconv.Quote(kind), expected: "directed or undirected"}
	}
	if g.weight == "" {
		g.p.columns, g.t.weighted = 2, false
	}
	return nil
}

// id returns the provisional id of a name.
func (g *graphml) id(name string) (uint64, *fault) {
	if name == "" {
		return 0, &fault{found: "no id of a node", expected: "one"}
	}
	if id, err := strconv.ParseUint(name, 10, 64); err != nil || id > maxID || strconv.FormatUint(id, 10) != name {
		if g.r.Columns.IDs == "number" {
			return 0, &fault{found: "the id " + quote([]byte(name)), expected: "a whole number (--ids name reads ids of any kind)"}
		}
		g.numeric = false
	}
	g.p.names.Reset()
	g.p.names.Add([]byte(name))
	var one [1]uint64
	return g.names.Take(&g.p.names, one[:0])[0], nil
}

func (g *graphml) isDeclared(id uint64) bool {
	return id/64 < uint64(len(g.declared)) && g.declared[id/64]>>(id%64)&1 == 1
}

// node reads a node.
func (g *graphml) node(name string) *fault {
	id, bad := g.id(name)
	switch {
	case bad != nil:
		return bad
	case !g.graph:
		return &fault{found: "a node outside of the graph", expected: "nodes in <graph>"}
	case g.isDeclared(id):
		return &fault{found: "the node " + quote([]byte(name)) + " again", expected: "every node once"}
	}
	for uint64(len(g.declared)) <= id/64 {
		g.declared = append(g.declared, 0)
	}
	g.declared[id/64] |= 1 << (id % 64)
	g.nodes++
	delete(g.pending, id)
	return nil
}

func (g *graphml) beginEdge(e xml.StartElement) *fault {
	if g.edge != nil || !g.graph {
		return &fault{found: "an edge within an edge or outside of the graph", expected: "edges in <graph>"}
	}
	if kind := attribute(e, "directed"); kind != "" && g.r.Directed == nil && (kind == "true") != g.directed {
		return &fault{found: "directed=" + strconv.Quote(kind) + " in a graph whose edges are " + directedAccount(g.directed), expected: "edges of one kind (--directed or --undirected takes all for that)"}
	}
	owner := g.owner()
	g.edge = &graphmlEdge{own: owner == g.r.rank}
	if g.edges++; owner < g.r.rank {
		g.from = g.edges
	}
	if owner <= g.r.rank {
		g.to = g.edges
	}
	for i, to := range []*uint64{&g.edge.u, &g.edge.v} {
		name := [...]string{"source", "target"}[i]
		id, bad := g.id(attribute(e, name))
		if bad != nil {
			bad.found += " in " + name
			return bad
		}
		if !g.isDeclared(id) {
			if _, ok := g.pending[id]; !ok {
				g.pending[id] = g.line
			}
		}
		*to = id
	}
	return nil
}

// end reads the end of an element.
func (g *graphml) end(name string, depth int) *fault {
	if g.data > 0 && depth == g.data {
		g.data = 0
		w, bad := weight([]byte(strings.TrimSpace(string(g.text))), g.p.single)
		if bad != nil {
			return bad
		}
		if g.edge != nil {
			g.edge.weight = &w
		} else {
			g.byDefault = &w
		}
	}
	switch name {
	case "key":
		g.ofKey = ""
	case "edge":
		return g.endEdge()
	}
	return nil
}

// endEdge stores an edge.
func (g *graphml) endEdge() *fault {
	e := g.edge
	g.edge = nil
	if e == nil {
		return nil
	}
	if g.weight != "" {
		w := e.weight
		if w == nil {
			w = g.byDefault
		}
		if w == nil {
			return &fault{found: fmt.Sprintf("an edge without %q", g.weightName), expected: "one for every edge, or a default"}
		}
		if e.own {
			g.p.weights = append(g.p.weights, *w)
		}
	}
	if e.own {
		g.p.ids = append(g.p.ids, e.u, e.v)
	}
	return nil
}
