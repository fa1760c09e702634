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

// ldbcFilesOf returns the files that belong to path: one of them, or what their names have in
// common.
func ldbcFilesOf(path string) (ldbcFiles, error) {
	base, c := splitCodec(path)
	for _, end := range []string{".v", ".e", ".properties"} {
		if cut, ok := strings.CutSuffix(base, end); ok {
			base = cut
			break
		}
	}
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
		return files, fileFault(path, "no file "+strings.Join(missing, " and none "), "vertices in FILE.v and edges in FILE.e")
	}
	if p := base + ".properties"; exists(p) {
		files.properties = p
	}
	return files, nil
}

// ldbcPairs is the layout of a line of FILE.e without weights, vertexGrammar that of FILE.v, where
// columns of the vertex may follow its id: ReadColumn reads them.
const ldbcPairs = `2: "u v"`

var vertexGrammar = grammar{columns: 1, more: true, marks: listMarks, high: maxID, layout: "1: a vertex id"}

// ldbcGraph is the files of a graph, opened.
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

// ldbcGrammar is that of FILE.e: the columns that FILE.properties names, or else as many as the
// first line has.
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
		list.layout = fmt.Sprintf(`%d: "u v %s", as %s says`, 2+len(names), strings.Join(names, " "), g.properties)
	}
	return list
}

// check refuses files that are no text, and a graph that has no vertices.
func (g *ldbcGraph) check() error {
	head := g.v.head()
	if columns(head) == 0 && g.v.headIsAll() {
		return fileFault(g.v.path, "no vertices", "one a line")
	}
	if err := g.v.foreign(head, LDBC); err != nil {
		return err
	}
	return g.e.foreign(g.e.head(), LDBC)
}

// Close closes the vertices and the edges.
func (g *ldbcGraph) Close() { _, _ = g.v.Close(), g.e.Close() }

func (g *ldbcGraph) directed() bool { return g.p.directed == nil || *g.p.directed }

// readLDBC reads FILE.v, FILE.e and FILE.properties. The vertices are those of FILE.v, which are
// listed of a part.
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
	defer vertices.slabs.close()
	var x *numbering
	if !r.partial {
		if x, err = r.numberVertices(ctx, g.vertices, vertices, func(k int, id uint64) error { return repeatedAt(g.v, 0, k, id) }); err != nil {
			return nil, err
		}
		vertices.slabs.close()
	}
	t, err := r.readTable(ctx, g.e, start{}, g.grammar)
	if err != nil {
		return nil, err
	}
	defer t.slabs.close()
	if err := g.v.unchanged(); err != nil {
		return nil, err
	}
	s, undeclared, err := r.packed(ctx, path, t, x, r.directed(g.directed()))
	if err != nil {
		return nil, err
	}
	undeclaredIn := func(f *file, tuple int, id uint64) error {
		return faultAt(f, t.spans[0].From, tuple, id, fmt.Sprintf("vertex %d", id), "one of the vertices in "+g.vertices)
	}
	if undeclared >= 0 {
		return nil, undeclaredIn(g.e, undeclared, t.undeclaredIn(undeclared, x))
	}
	if !r.partial {
		s.Account = append([]string{fmt.Sprintf("%s: Graphalytics vertices, %s", g.v.path, counted(x.n, "vertex", "vertices"))},
			append(r.account(g.e, "Graphalytics edges"+g.grammar.others(), t.remarks, s, g.grammar.columns == 3), g.account(r.Directed))...)
		return s, nil
	}
	if err := r.admission(g.v).admit(8*int64(vertices.n), "the list of its vertices"); err != nil {
		s.Close()
		return nil, err
	}
	s.Naming, s.Spans = edges.Listed, append(s.Spans, vertices.spans...)
	s.IDs = vertices.ids()
	s.Undeclared = func(ctx context.Context, tuple int, id uint64) error {
		return r.reopened(ctx, g.edges, func(f *file) error { return undeclaredIn(f, tuple, id) })
	}
	s.Repeated = func(ctx context.Context, place int, id uint64) error {
		return r.reopened(ctx, g.vertices, func(f *file) error { return repeatedAt(f, vertices.spans[0].From, place, id) })
	}
	return s, nil
}

// reopened returns what f says of a file that is opened anew.
func (r *reader) reopened(ctx context.Context, path string, f func(*file) error) error {
	in, err := r.open(ctx, path)
	if err != nil {
		return err
	}
	defer in.Close()
	return f(in)
}

// faultAt is a fault of an id in the k-th line of data from an offset on.
func faultAt(f *file, from int64, k int, id uint64, found, expected string) error {
	if !f.regular { // it cannot be read again
		return fileFault(f.path, found, expected)
	}
	line, column, err := lineOf(f, from, k, listMarks, id)
	if err != nil {
		return err
	}
	return &fault{file: f.path, line: line, column: column, found: found, expected: expected}
}

// repeatedAt is the fault of a vertex that was listed before.
func repeatedAt(f *file, from int64, k int, id uint64) error {
	return faultAt(f, from, k, id, fmt.Sprintf("vertex %d again", id), "every vertex once")
}

// account says where the direction of edges is from.
func (g *ldbcGraph) account(override *bool) string {
	switch {
	case override != nil:
		return fmt.Sprintf("%s: %s, as asked for", g.base, directedAccount(*override))
	case g.p.directed != nil:
		return fmt.Sprintf("%s: %s", g.properties, directedAccount(*g.p.directed))
	case g.properties != "":
		return fmt.Sprintf("%s: does not say whether edges are directed: taken as directed", g.properties)
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

// numberVertices numbers a list of ids, each of them once: of one that has come before, by its
// place in the list, again says what is wrong.
func (r *reader) numberVertices(ctx context.Context, path string, t *table, again func(k int, id uint64) error) (*numbering, error) {
	x, err := number(ctx, r.Team, t)
	if err != nil {
		return nil, inFile(err, path)
	}
	if x.n < t.n {
		return nil, again(repeated(t, x))
	}
	return x, nil
}

// repeated returns the first id of t that has come before, and its place.
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

// undeclaredIn returns the first endpoint of tuple i that has no number; one of them has none.
func (t *table) undeclaredIn(i int, x *numbering) uint64 {
	batch := t.batchOf(i)
	u, v := t.batches[batch].tuple(i - t.starts[batch])
	if _, known := x.of(u); known {
		return v
	}
	return u
}
