package graphio

import (
	"context"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/names"
)

// parsed is the content of a graph before its vertices are numbered. The vertices are those of
// numbering or of names; otherwise the ids that occur in edges or in listed.
type parsed struct {
	f                  *file
	table              *table
	what               string // the format and its columns, for the user
	remarks            int    // comment lines before the data
	directed, weighted bool   // according to the format or the file

	numbering *numbering   // if the vertices are known without the edges
	names     *names.Table // if vertices have names
	listed    *table       // vertices declared by the input
	only      bool         // only listed vertices exist

	// See edges.RankInput.
	check                func(tuples int, largest uint64) error
	countSkipped         bool
	undeclared, repeated func(ctx context.Context, at int, id uint64) error
	unbalanced           func(ctx context.Context) error
}

// close frees the tables. It is idempotent.
func (p *parsed) close() {
	for _, t := range []*table{p.table, p.listed} {
		if t != nil {
			t.slabs.close()
		}
	}
}

// finish numbers the vertices, packs the edges and frees the tables. It returns an error if the
// graph as a whole is at fault. A part of a graph keeps its input ids, and the functions of the
// result check the whole graph.
func (r *reader) finish(ctx context.Context, p *parsed) (*edges.RankInput, error) {
	t := p.table
	defer p.close()
	x, dictionary, err := r.numberParsed(ctx, p)
	if err != nil {
		return nil, inFile(err, r.name)
	}
	if dictionary != nil {
		defer x.named.Close()
	}
	list, undeclared, err := pack(ctx, r.Team, t, x, r.Weights)
	if err != nil {
		return nil, err
	}
	if undeclared >= 0 {
		return nil, p.undeclared(ctx, undeclared, t.undeclaredIn(undeclared, x))
	}
	s, done := r.input(r.name, list, x, r.directed(p.directed)), false
	defer func() { // also if memory is refused
		if !done {
			s.Close()
		}
	}()
	if p.numbering == nil {
		s.Largest = t.max
	}
	s.Names, s.Spans, s.Balance = dictionary, t.spans, t.balance
	s.Check, s.CountSkipped, s.Unbalanced = p.check, p.countSkipped, p.unbalanced
	if r.partial {
		r.share(p, x, s)
	} else {
		err = r.judge(ctx, p)
		s.Account = r.account(p.f, p.what, p.remarks+t.remarks, s, p.weighted)
	}
	if err != nil {
		return nil, err
	}
	done = true
	return s, nil
}

// numberParsed numbers the vertices, and returns their names if they have any. It returns no
// numbering if all parts of the graph are needed to number them.
func (r *reader) numberParsed(
	ctx context.Context, p *parsed,
) (x *numbering, d *names.Dictionary, err error) {
	if p.listed != nil && !r.partial && p.numbering == nil {
		if x, err = r.numberListed(ctx, p); err != nil || p.only {
			return x, nil, err
		}
	}
	switch {
	case p.numbering != nil:
		return p.numbering, nil, nil
	case p.names != nil:
		if n := p.names.Len(); uint64(n) > maxVertices-1 {
			return nil, nil, tooMany(uint64(n))
		}
		x = new(numbering)
		d, x.named = p.names.Sort(r.Team)
		x.n = d.Len()
		return x, d, nil
	case r.partial:
		return nil, nil, nil
	case p.listed != nil:
		x, err = number(ctx, r.Team, p.table.with(p.listed))
	default:
		x, err = number(ctx, r.Team, p.table)
	}
	return x, nil, err
}

// numberListed numbers the listed vertices. A repeated vertex is an error. It frees their table
// unless other vertices are numbered with them.
func (r *reader) numberListed(ctx context.Context, p *parsed) (*numbering, error) {
	x, err := number(ctx, r.Team, p.listed)
	if err == nil && x.n < p.listed.n {
		at, id := repeated(p.listed, x)
		err = p.repeated(ctx, at, id)
	}
	if err != nil || p.only {
		p.listed.slabs.close()
	}
	return x, err
}

// judge checks the graph as a whole.
func (r *reader) judge(ctx context.Context, p *parsed) error {
	if p.table.balance != (balance{}) {
		return p.unbalanced(ctx)
	}
	if p.check == nil {
		return nil
	}
	n := p.table.n
	if p.countSkipped {
		n += len(r.skipped)
	}
	return p.check(n, p.table.max)
}

// share completes the input of a part of a graph.
func (r *reader) share(p *parsed, x *numbering, s *edges.RankInput) {
	if p.names != nil {
		s.Naming, s.Vertices = edges.Texts, 0
	}
	if p.listed == nil {
		return
	}
	p.listed.slabs.admission.admit(8*int64(p.listed.n), "the list of its vertices")
	s.IDs = p.listed.ids()
	if x != nil {
		x.translate(s.IDs)
	}
	s.Spans = append(s.Spans, p.listed.spans...)
	s.Undeclared, s.Repeated = p.undeclared, p.repeated
	if p.only {
		s.Naming = edges.Listed
	} else {
		s.Added = func(n int) { r.added(s, n) }
	}
}

// tableGrammar returns the grammar of lines whose vertices are numbers or names.
func (r *reader) tableGrammar(weighted, named bool) grammar {
	g := grammar{columns: 2, high: maxID, single: r.single(), zeros: r.Columns.IDs != ""}
	if weighted {
		g.columns = 3
	}
	if named {
		g.named = names.NewTable()
	}
	return g
}

// readNamed reads lines with a grammar of tableGrammar.
func (r *reader) readNamed(
	ctx context.Context, from start, g grammar, p *parsed,
) (*edges.RankInput, error) {
	defer g.named.Close()
	p.names, p.weighted = g.named, g.columns == 3
	var err error
	if p.table, err = r.readTable(ctx, p.f, r.others, from, g); err != nil {
		return nil, err
	}
	return r.edgesOf(ctx, p)
}

// edgesOf makes an input from a parsed table of edges.
func (r *reader) edgesOf(ctx context.Context, p *parsed) (*edges.RankInput, error) {
	defer p.close()
	p.check = someEdges(r.name)
	if r.Columns.Vertices != "" {
		if err := r.readVertices(ctx, p); err != nil {
			return nil, err
		}
	}
	s, err := r.finish(ctx, p)
	if err != nil {
		return nil, err
	}
	r.note(s, p.f.path, p.what)
	if p.listed != nil && !r.partial && s.Vertices > p.listed.n {
		r.added(s, s.Vertices-p.listed.n)
		s.Account = append(s.Account, s.Notes[1:]...)
	}
	return s, nil
}
