package graphio

import (
	"cmp"
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

var vertexGrammar = grammar{
	columns: 1, more: true, marks: listMarks, high: maxID, layout: "1: a vertex id",
}

// ldbcGrammar returns the grammar of e, which is FILE.e: the columns named in FILE.properties, or
// as many as the first line has.
func (r *reader) ldbcGrammar(f *ldbcFiles, p *properties, e *file) grammar {
	if p.edges == nil {
		n := columns(e.head())
		list := r.listGrammar(n >= 3, ldbcPairs)
		list.follow(n - 3)
		return list
	}
	names := *p.edges
	at, weighted := p.weightColumn()
	list := r.listGrammar(weighted, ldbcPairs)
	if list.after = len(names); weighted {
		list.before, list.after = at, len(names)-1-at
	}
	if list.before+list.after > 0 {
		list.layout = fmt.Sprintf(`%d: "u v %s", as %s says`, 2+len(names),
			strings.Join(names, " "), f.properties)
	}
	return list
}

// readLDBC reads FILE.v, FILE.e and FILE.properties. The vertices are those in FILE.v. Parts of a
// graph list their vertices.
func (r *reader) readLDBC(ctx context.Context, path string) (*edges.RankInput, error) {
	files, err := ldbcFilesOf(path)
	if err != nil {
		return nil, err
	}
	about, err := r.openProperties(ctx, files)
	if err != nil {
		return nil, err
	}
	v, err := r.open(ctx, files.vertices)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	e, err := r.open(ctx, files.edges)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	if columns(v.head()) == 0 && v.headIsAll() {
		return nil, noLists(v.path)
	}
	if err := cmp.Or(v.foreign(v.head(), LDBC), e.foreign(e.head(), LDBC)); err != nil {
		return nil, err
	}
	g := r.ldbcGrammar(&files, about, e)
	p := &parsed{
		f: e, what: "Graphalytics edges" + g.others(), weighted: g.columns == 3, only: true,
		directed: about.directed == nil || *about.directed,
	}
	defer p.close()
	if p.listed, err = r.readTable(ctx, v, nil, start{}, vertexGrammar); err != nil {
		return nil, err
	}
	p.repeated = r.lineOf(v, vertexGrammar, start{}, p.listed.spans[0].From, false, " again",
		"every vertex once")
	if !r.partial {
		if p.numbering, err = r.numberListed(ctx, p); err != nil {
			return nil, inFile(err, r.name)
		}
	}
	if p.table, err = r.readTable(ctx, e, nil, start{}, g); err == nil {
		err = v.unchanged()
	}
	if err != nil {
		return nil, err
	}
	p.undeclared = r.lineOf(e, g, start{}, p.table.spans[0].From, false, "",
		"one of the vertices in "+v.path)
	s, err := r.finish(ctx, p)
	if err == nil && !r.partial {
		s.Account = []string{
			fmt.Sprintf("%s: Graphalytics vertices, %s", v.path, counted(s.Vertices, "vertex")),
			s.Account[0], files.account(about, r.Directed),
		}
	}
	return s, err
}

// account describes which input determined the direction of edges.
func (f *ldbcFiles) account(p *properties, override *bool) string {
	switch {
	case override != nil:
		return fmt.Sprintf("%s: %s, as asked for", f.base, directedAccount(*override))
	case p.directed != nil:
		return fmt.Sprintf("%s: %s", f.properties, directedAccount(*p.directed))
	case f.properties != "":
		return fmt.Sprintf(
			"%s: does not say whether edges are directed: taken as directed", f.properties)
	default:
		return fmt.Sprintf("%s.properties: no such file: edges taken as directed", f.base)
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
