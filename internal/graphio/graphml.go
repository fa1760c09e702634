package graphio

import (
	"bytes"
	"cmp"
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

// A file of GraphML (http://graphml.graphdrawing.org) is read token by token, so that it takes the
// memory of its names and edges alone. Entities other than XML's own are not expanded: they are
// faults.
const (
	graphmlDepth = 64      // maximum nesting of elements
	graphmlBatch = 1 << 14 // edges in a batch
)

// graphml is the state of reading a GraphML file.
type graphml struct {
	r     *reader
	to    *parsed
	bytes *tokenReader
	d     *xml.Decoder
	p     parser
	index int

	declared []uint64 // set of the provisional ids of nodes
	// provisional ids of edge ends that are not declared as nodes yet, with their lines
	pending map[uint64]int
	numeric bool // all names so far are plain numbers

	weight      string // the id of the key of weights
	weightName  string
	byDefault   *float64          // weight of edges without a weight
	keys        []string          // names of edge attributes
	elsewhere   map[string]string // keys of weights that are not for edges, and what they are for
	graph       bool              // the element graph has begun
	directed    bool
	line        int    // line at which the last token begins
	depth       int    // number of open elements
	text        []byte // text of a weight
	edges       int    // so far
	first, last int    // indices of this rank's first edge, and after its last edge
}

// readGraphML reads a GraphML graph. Its vertices are the nodes. Their ids are numbers if all are
// numbers, otherwise names. Each rank reads the whole file, because only the whole file tells which
// names are nodes. It keeps the edges of its part.
func (r *reader) readGraphML(ctx context.Context, p *parsed) error {
	if r.SkipBad > 0 {
		return p.f.fault("GraphML with --skip-bad", "a format of lines: elements are not left out")
	}
	g := &graphml{
		r: r, to: p, bytes: &tokenReader{Reader: p.f.content}, pending: map[uint64]int{},
		elsewhere: map[string]string{}, numeric: r.Columns.IDs != "name",
	}
	g.d = xml.NewDecoder(g.bytes)
	p.table, p.named = r.newTable(p.f, 3), names.NewTable()
	g.p.grammar = r.grammar(true)
	err := g.read(ctx)
	if err == nil {
		err = p.f.unchanged(ctx)
	}
	if err != nil {
		return err
	}
	p.table.seal()
	return g.describe(ctx)
}

// read reads the whole file.
func (g *graphml) read(ctx context.Context) error {
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		g.bytes.left = maxLine
		token, err := g.token()
		if err == io.EOF {
			break
		}
		if e, begins := token.(xml.StartElement); begins && err == nil {
			err = g.element(e)
		}
		if bad, ok := err.(*fault); ok && bad.line == 0 {
			bad.line = g.line
		}
		if err != nil {
			return err
		}
		if len(g.p.ids) >= 2*graphmlBatch {
			g.flush()
		}
	}
	if !g.graph {
		return wrong("no <graph>", "a graph in <graphml>")
	}
	if len(g.pending) > 0 {
		first := slices.Min(slices.Collect(maps.Values(g.pending)))
		return wrong("an edge with an end that is no node", "a <node> for every end").
			onLine(first, 0)
	}
	g.flush()
	return nil
}

// token reads the next token. It fails if the token is nested too deep.
func (g *graphml) token() (xml.Token, error) {
	g.line, _ = g.d.InputPos()
	token, err := g.d.Token()
	if err != nil && err != io.EOF {
		return nil, g.syntax(err)
	}
	switch token.(type) {
	case xml.StartElement:
		g.depth++
	case xml.EndElement:
		g.depth--
	}
	if g.depth > graphmlDepth {
		return nil, wrong(fmt.Sprintf("elements nested more than %d deep", graphmlDepth), "fewer")
	}
	return token, err
}

// syntax translates an error of the XML decoder.
func (g *graphml) syntax(err error) error {
	var bad *xml.SyntaxError
	switch {
	case g.bytes.err != nil:
		return g.bytes.err
	case errors.As(err, &bad):
		return wrong("invalid XML: "+bad.Msg, "GraphML").onLine(bad.Line, 0)
	case strings.HasPrefix(err.Error(), "xml: encoding"):
		return wrong("another encoding",
			"UTF-8 (iconv converts, and the first line must say so)").onLine(g.line, 0)
	default:
		return wrong(err.Error(), "GraphML").onLine(g.line, 0)
	}
}

// flush stores the edges read so far.
func (g *graphml) flush() {
	g.to.table.store(0, g.index, &g.p)
	g.index++
	g.p.reset()
}

func attribute(attributes []xml.Attr, name string) string {
	for _, a := range attributes {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// element reads the beginning of an element. It reads keys, nodes and edges completely.
func (g *graphml) element(e xml.StartElement) (err error) {
	ofWeight := ""
	switch name := e.Name.Local; {
	case g.depth == 1 && name != "graphml":
		return wrong("<"+name+">", "<graphml>")
	case name == "graph":
		return g.beginGraph(e.Attr)
	case name == "hyperedge":
		return wrong("a hyperedge", "edges of two ends")
	case name == "edge":
		return g.addEdge(e)
	case name == "key":
		ofWeight, err = g.key(e.Attr)
	case name == "node":
		err = g.node(attribute(e.Attr, "id"))
	default:
		return nil
	}
	if err != nil {
		return err
	}
	w, err := g.within(e, ofWeight)
	if ofWeight != "" {
		g.byDefault = w
	}
	return err
}

// within reads an element to its end. It returns the weight in the last inner element named
// ofWeight, or nil if there is none.
func (g *graphml) within(e xml.StartElement, ofWeight string) (w *float64, err error) {
	line := 0 // line at which the current weight begins
	for depth := g.depth; g.depth >= depth; {
		token, err := g.token()
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case xml.StartElement:
			name, key := token.Name.Local, attribute(token.Attr, "key")
			switch {
			case line > 0:
				return nil, wrong("<"+name+"> within a weight", "a number alone")
			case token.Name.Space != e.Name.Space: // an element of another XML namespace
			case name == "graph":
				return nil, wrong("another graph, or one within a node", "one graph")
			case name == "node" || name == "edge" || name == "hyperedge":
				return nil, wrong(fmt.Sprintf("<%s> within <%s>", name, e.Name.Local),
					"nodes and edges in <graph>")
			case g.depth > depth+1 || name != ofWeight:
			case name == "data" && g.elsewhere[key] != "":
				return nil, wrong(fmt.Sprintf("data of an edge by the key %q, which is for %s",
					key, g.elsewhere[key]), `a <key for="edge">, or for="all"`)
			case name == "default" || key == g.weight && key != "":
				line, g.text = g.line, g.text[:0]
			}
		case xml.CharData:
			if line > 0 {
				g.text = append(g.text, token...)
			}
		case xml.EndElement:
			if line == 0 {
				continue
			}
			x, bad := weight(bytes.TrimSpace(g.text), g.p.single)
			if bad != nil {
				return nil, bad.onLine(line, 0)
			}
			w, line = &x, 0
		}
	}
	return w, nil
}

// key reads the key of an attribute. The key of weights has the name in the options, or the first
// of the usual names. If this is the key of weights, it returns the name of the element with the
// default weight.
func (g *graphml) key(attributes []xml.Attr) (ofWeight string, err error) {
	if g.graph {
		return "", wrong("a <key> within the graph", "keys before it")
	}
	id, name := attribute(attributes, "id"), attribute(attributes, "attr.name")
	if of := attribute(attributes, "for"); of != "edge" && of != "all" && of != "" {
		if name == g.r.Columns.Weight ||
			g.r.Columns.Weight == "" && usual([]string{name}, weightNames) == 0 {
			g.elsewhere[id] = of
		}
		return "", nil
	}
	g.keys = append(g.keys, name)
	wanted := name == g.r.Columns.Weight
	if g.r.Columns.Weight == "" {
		at := slices.Index(weightNames, strings.ToLower(name))
		before := slices.Index(weightNames, strings.ToLower(g.weightName))
		wanted = at >= 0 && (before < 0 || at < before)
	}
	if !wanted || id == "" {
		return "", nil
	}
	g.weight, g.weightName = id, name
	return "default", nil
}

func (g *graphml) beginGraph(attributes []xml.Attr) error {
	switch {
	case g.graph:
		return wrong("another graph, or one within a node", "one graph")
	case g.r.Columns.Weight != "" && g.weight == "":
		bad := wrong(fmt.Sprintf("no attribute of edges %q", g.r.Columns.Weight),
			"one of "+strings.Join(g.keys, ", "))
		for _, id := range slices.Sorted(maps.Keys(g.elsewhere)) {
			bad.found += fmt.Sprintf(": the key %q is for %s", id, g.elsewhere[id])
		}
		if len(g.keys) == 0 {
			bad.expected = `a <key for="edge">`
		}
		return bad
	}
	g.graph = true
	switch kind := attribute(attributes, "edgedefault"); kind {
	case "directed":
		g.directed = true
	case "undirected":
	default:
		return wrong("edgedefault="+strconv.Quote(kind), "directed or undirected")
	}
	if g.weight == "" {
		g.p.columns, g.to.table.weighted = 2, false
	}
	return nil
}

// id returns the provisional id of a name.
func (g *graphml) id(name, in string) (uint64, error) {
	if name == "" {
		return 0, wrong("no id of a node"+in, "one")
	}
	if id, err := strconv.ParseUint(name, 10, 64); err != nil || id > maxID ||
		strconv.FormatUint(id, 10) != name {
		if g.r.Columns.IDs == "number" {
			return 0, wrong("the id "+quote([]byte(name))+in,
				"a whole number (--ids name reads ids of any kind)")
		}
		g.numeric = false
	}
	g.p.names.Reset()
	g.p.names.Add([]byte(name))
	var one [1]uint64
	return g.to.named.Take(&g.p.names, one[:0])[0], nil
}

func (g *graphml) isDeclared(id uint64) bool {
	return id/64 < uint64(len(g.declared)) && g.declared[id/64]>>(id%64)&1 == 1
}

// node reads a node.
func (g *graphml) node(name string) error {
	id, err := g.id(name, "")
	switch {
	case err != nil:
		return err
	case !g.graph:
		return wrong("a node outside of the graph", "nodes in <graph>")
	case g.isDeclared(id):
		return wrong("the node "+quote([]byte(name))+" again", "every node once")
	}
	for uint64(len(g.declared)) <= id/64 {
		g.declared = append(g.declared, 0)
	}
	g.declared[id/64] |= 1 << (id % 64)
	delete(g.pending, id)
	return nil
}

// addEdge stores an edge if it is in this rank's part.
func (g *graphml) addEdge(e xml.StartElement) (err error) {
	line, owner := g.line, g.owner()
	if !g.graph {
		return wrong("an edge outside of the graph", "edges in <graph>")
	}
	if kind := attribute(e.Attr, "directed"); kind != "" && g.r.Directed == nil &&
		(kind == "true") != g.directed {
		return wrong("directed="+strconv.Quote(kind)+" in a graph whose edges are "+edges.Kind(
			g.directed), "edges of one kind (--directed or --undirected takes all for that)")
	}
	var ends [2]uint64
	for i, name := range []string{"source", "target"} {
		if ends[i], err = g.id(attribute(e.Attr, name), " in "+name); err != nil {
			return err
		}
		if _, waits := g.pending[ends[i]]; !waits && !g.isDeclared(ends[i]) {
			g.pending[ends[i]] = line
		}
	}
	w, err := g.within(e, "data")
	if err != nil {
		return err
	}
	if w = cmp.Or(w, g.byDefault); g.weight != "" && w == nil {
		return wrong(fmt.Sprintf("an edge without %q", g.weightName),
			"one for every edge, or a default").onLine(line, 0)
	}
	if g.edges++; owner < g.r.rank {
		g.first = g.edges
	}
	if owner <= g.r.rank {
		g.last = g.edges
	}
	if owner == g.r.rank {
		g.p.ids = append(g.p.ids, ends[:]...)
		if w != nil {
			g.p.weights = append(g.p.weights, *w)
		}
	}
	return nil
}
