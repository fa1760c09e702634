package graphio

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/superstep-go/superstep/internal/edges"
)

// ldbcFiles are the files of a graph of LDBC Graphalytics.
type ldbcFiles struct {
	base                        string
	vertices, edges, properties string // properties is "" when there are none
}

// ldbcFilesOf returns the files of a graph. path is one of them, or the common part of their names.
func ldbcFilesOf(path string) (ldbcFiles, error) {
	base, c := splitCodec(path)
	base = ldbcBase(base)
	files := ldbcFiles{base: base}
	missing := []string{}
	var ok bool
	if files.vertices, ok = beside(base, ".v", c); !ok {
		missing = append(missing, base+".v")
	}
	if files.edges, ok = beside(base, ".e", c); !ok {
		missing = append(missing, base+".e")
	}
	if len(missing) > 0 {
		return files, fileFault(path, "no file "+strings.Join(missing, " and none "),
			"vertices in FILE.v and edges in FILE.e")
	}
	if p := base + ".properties"; exists(p) {
		files.properties = p
	}
	return files, nil
}

// ldbcBase returns the common part of the files' names, given that part or one of the names.
func ldbcBase(name string) string {
	for _, end := range []string{".v", ".e", ".properties"} {
		if base, ok := strings.CutSuffix(name, end); ok {
			return base
		}
	}
	return name
}

// ldbcPairs describes a line of FILE.e without weights. vertexGrammar is the grammar of FILE.v. The
// id of a vertex may be followed by other columns, which ReadColumn reads.
const ldbcPairs = `2: "u v"`

var vertexGrammar = grammar{columns: 1, more: true, marks: listMarks, high: maxID, layout: "1: a vertex id"}

// ldbcGraph is the open files of a graph.
type ldbcGraph struct {
	ldbcFiles
	p       *properties
	v, e    *file
	grammar grammar // of e
}

// openLDBC opens the files that belong to path.
func (r *reader) openLDBC(ctx context.Context, path string) (*ldbcGraph, error) {
	files, err := ldbcFilesOf(path)
	if err != nil {
		return nil, err
	}
	g := &ldbcGraph{ldbcFiles: files}
	if g.p, err = r.openProperties(ctx, files); err != nil {
		return nil, err
	}
	if g.v, err = r.open(ctx, files.vertices); err != nil {
		return nil, err
	}
	if g.e, err = r.open(ctx, files.edges); err != nil {
		_ = g.v.Close()
		return nil, err
	}
	if err := g.check(); err != nil {
		g.Close()
		return nil, err
	}
	g.grammar = r.ldbcGrammar(g)
	return g, nil
}

// ldbcGrammar returns the grammar of FILE.e: the columns named in FILE.properties, or as many as
// the first line has.
func (r *reader) ldbcGrammar(g *ldbcGraph) grammar {
	if g.p.edges == nil {
		n := columns(g.e.head())
		list := r.listGrammar(n >= 3, ldbcPairs)
		list.follow(n - 3)
		return list
	}
	names := *g.p.edges
	at, weighted := g.p.weightColumn()
	list := r.listGrammar(weighted, ldbcPairs)
	if list.after = len(names); weighted {
		list.before, list.after = at, len(names)-1-at
	}
	if list.before+list.after > 0 {
		list.layout = fmt.Sprintf(`%d: "u v %s", as %s says`, 2+len(names),
			strings.Join(names, " "), g.properties)
	}
	return list
}

// check refuses files that are not text, and a graph without vertices.
func (g *ldbcGraph) check() error {
	head := g.v.head()
	if columns(head) == 0 && g.v.headIsAll() {
		return g.v.fault("no vertices", "one a line")
	}
	if err := g.v.foreign(head, LDBC); err != nil {
		return err
	}
	return g.e.foreign(g.e.head(), LDBC)
}

// Close closes the vertices and the edges.
func (g *ldbcGraph) Close() { _, _ = g.v.Close(), g.e.Close() }

// readLDBC reads FILE.v, FILE.e and FILE.properties. The vertices are those in FILE.v. Parts of a
// graph list their vertices.
func (r *reader) readLDBC(ctx context.Context, path string) (*edges.RankInput, error) {
	g, err := r.openLDBC(ctx, path)
	if err != nil {
		return nil, err
	}
	defer g.Close()
	vertices, err := r.readTable(ctx, g.v, start{}, vertexGrammar)
	if err != nil {
		return nil, err
	}
	p := &parsed{
		f: g.e, what: "Graphalytics edges" + g.grammar.others(), weighted: g.grammar.columns == 3,
		directed: g.p.directed == nil || *g.p.directed, listed: vertices, only: true,
		repeated: r.lineOf(g.v, vertexGrammar, start{}, vertices.spans[0].From, false, " again",
			"every vertex once"),
	}
	if !r.partial {
		if p.numbering, err = r.numberListed(ctx, p); err != nil {
			return nil, inFile(err, r.name)
		}
	}
	p.table, err = r.readTable(ctx, g.e, start{}, g.grammar)
	if err == nil {
		err = g.v.unchanged()
	}
	if err != nil {
		vertices.slabs.close()
		return nil, err
	}
	p.undeclared = r.lineOf(g.e, g.grammar, start{}, p.table.spans[0].From, false, "",
		"one of the vertices in "+g.vertices)
	s, err := r.finish(ctx, p)
	if err == nil && !r.partial {
		s.Account = append([]string{fmt.Sprintf("%s: Graphalytics vertices, %s", g.v.path, counted(s.Vertices, "vertex"))},
			append(s.Account, g.account(r.Directed))...)
	}
	return s, err
}

// account describes which input determined the direction of edges.
func (g *ldbcGraph) account(override *bool) string {
	switch {
	case override != nil:
		return fmt.Sprintf("%s: %s, as asked for", g.base, directedAccount(*override))
	case g.p.directed != nil:
		return fmt.Sprintf("%s: %s", g.properties, directedAccount(*g.p.directed))
	case g.properties != "":
		return fmt.Sprintf(
			"%s: does not say whether edges are directed: taken as directed", g.properties)
	default:
		return fmt.Sprintf("%s.properties: no such file: edges taken as directed", g.base)
	}
}

// openProperties reads the properties file, if there is one.
func (r *reader) openProperties(ctx context.Context, files ldbcFiles) (*properties, error) {
	if files.properties == "" {
		return new(properties), nil
	}
	f, err := r.open(ctx, files.properties)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readProperties(f, filepath.Base(files.base))
}

// repeated returns the index of the first repeated id of t, and the id.
func repeated(t *table, x *numbering) (int, uint64) {
	seen := make([]bool, x.n)
	k := 0
	for i := range t.batches {
		for _, id := range t.batches[i].words {
			number, _ := x.of(id)
			if seen[number] {
				return k, id
			}
			seen[number] = true
			k++
		}
	}
	panic("graphio: fewer vertices than ids, but none twice")
}

// undeclaredIn returns the first endpoint of tuple i without a number. At least one endpoint has
// none.
func (t *table) undeclaredIn(i int, x *numbering) uint64 {
	batch := t.batchOf(i)
	u, v := t.batches[batch].tuple(i - t.starts[batch])
	if _, known := x.of(u); known {
		return v
	}
	return u
}
