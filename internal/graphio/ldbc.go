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
	files, missing := ldbcFiles{base: base}, []string{}
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

// readLDBC reads FILE.v, FILE.properties and FILE.e, which is p.f. The vertices are those in
// FILE.v. Parts of a graph list their vertices.
func (r *reader) readLDBC(ctx context.Context, p *parsed) error {
	files, err := ldbcFilesOf(r.name)
	if err != nil {
		return err
	}
	about, err := r.openProperties(ctx, files)
	if err != nil {
		return err
	}
	v := textFile{grammar: vertexGrammar}
	if v.f, err = r.open(ctx, files.vertices); err != nil {
		return err
	}
	defer v.f.Close()
	if columns(v.f.head()) == 0 && v.f.headIsAll() {
		return noLists(v.f.path)
	}
	if err := v.f.foreign(v.f.head(), LDBC); err != nil {
		return err
	}
	if p.listed, err = r.readTable(ctx, v); err != nil {
		return err
	}
	p.only = true
	p.Repeated = r.lineOf(v, p.listed.spans[0].From, false, " again", "every vertex once")
	if !r.partial {
		if p.numbering, err = r.numberListed(ctx, p); err != nil {
			return inFile(err, v.f.path)
		}
	}
	p.grammar = r.ldbcGrammar(&files, about, p.f)
	if p.table, err = r.readTable(ctx, p.textFile); err == nil {
		err = v.f.unchanged(ctx)
	}
	if err != nil {
		return err
	}
	p.what = "Graphalytics edges" + p.ignored()
	p.Directed = about.directed == nil || *about.directed
	p.Undeclared = r.lineOf(p.textFile, p.table.spans[0].From, false, "",
		"one of the vertices in "+v.f.path)
	p.around = [2]string{
		fmt.Sprintf("%s: Graphalytics vertices, %s", v.f.path, Counted(p.listed.n, "vertex")),
		files.account(about, r.Directed),
	}
	return nil
}

// account describes which input determined the direction of edges.
func (f *ldbcFiles) account(p *properties, override *bool) string {
	switch {
	case override != nil:
		return fmt.Sprintf("%s: %s, as asked for", f.base, edges.Kind(*override))
	case p.directed != nil:
		return fmt.Sprintf("%s: %s", f.properties, edges.Kind(*p.directed))
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
	return readProperties(ctx, f, filepath.Base(files.base))
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
