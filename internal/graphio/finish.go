package graphio

import (
	"context"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/names"
)

// parsed is a graph before its vertices are numbered. The vertices are those of numbering or the
// names of the grammar; otherwise the ids that occur in edges or in listed. The function of a
// format sets what the format knows of the result: Directed, Check, CountSkipped, Undeclared,
// Repeated and Unbalanced.
type parsed struct {
	edges.RankInput
	textFile
	table   *table // of the edges; if it is nil, finish reads the text file
	what    string // the format and its columns, for the user
	note    string // for the user, who should see it
	remarks int    // comment lines before the data
	// around are lines of the account before and after the line about the edges.
	around [2]string

	numbering *numbering // if the vertices are known without the edges
	listed    *table     // vertices declared by the input
	// only: there are only listed vertices or, if none are listed, each rank has all names
	only bool
}

// close frees the tables. It is idempotent.
func (p *parsed) close() {
	for _, t := range []*table{p.table, p.listed} {
		if t != nil {
			t.slabs.close()
		}
	}
	p.named.Close()
}

// finish numbers the vertices and packs the edges. It returns an error if the graph as a whole is
// at fault. A part of a graph keeps its input ids, and the functions of the result check the whole
// graph.
func (r *reader) finish(ctx context.Context, p *parsed) (_ *edges.RankInput, err error) {
	if p.table == nil {
		p.table, err = r.readTable(ctx, p.textFile)
	}
	if err == nil && r.Columns.Vertices != "" {
		err = r.readVertices(ctx, p)
	}
	if err != nil {
		return nil, err
	}
	t := p.table
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
		return nil, p.Undeclared(ctx, undeclared, t.undeclaredIn(undeclared, x))
	}
	s, done := p.RankInput, false
	s.Edges, s.Free = list, list.Close
	defer func() { // also if memory is refused
		if !done {
			s.Close()
		}
	}()
	s.Name, s.Directed, s.Names = r.name, r.directed(p.Directed), dictionary
	s.Spans, s.Balance = t.spans, t.balance
	if p.numbering == nil {
		s.Largest = t.max
	}
	if x != nil {
		s.Vertices, s.Labels = x.n, x.labels()
	} else {
		s.Naming = edges.Named
	}
	if r.partial {
		r.share(p, x, &s)
	} else if err := r.judge(ctx, p); err != nil {
		return nil, err
	}
	r.describe(p, &s)
	done = true
	return &s, nil
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
	case p.named != nil:
		if n := p.named.Len(); uint64(n) > maxVertices-1 {
			return nil, nil, tooMany(uint64(n))
		}
		x = new(numbering)
		d, x.named = p.named.Sort(r.Team)
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
		err = p.Repeated(ctx, at, id)
	}
	if p.only {
		p.listed.slabs.close()
	}
	return x, err
}

// judge checks the graph as a whole.
func (r *reader) judge(ctx context.Context, p *parsed) error {
	if p.table.balance != (balance{}) {
		return p.Unbalanced(ctx)
	}
	if p.Check == nil {
		return nil
	}
	n := p.table.n
	if p.CountSkipped {
		n += len(r.skipped)
	}
	return p.Check(n, p.table.max)
}

// share completes the input of a part of a graph.
func (r *reader) share(p *parsed, x *numbering, s *edges.RankInput) {
	switch {
	case p.named != nil && p.only:
		lo, hi := edges.Part(s.Vertices, r.rank, r.ranks)
		s.Names = s.Names.Part(uint64(lo), uint64(hi))
	case p.named != nil:
		s.Naming, s.Vertices = edges.Texts, 0
	}
	if p.listed == nil {
		return
	}
	p.listed.slabs.admission.admit(8*int64(p.listed.n), "the list of its vertices")
	s.IDs = make([]uint64, 0, p.listed.n)
	for _, b := range p.listed.batches {
		s.IDs = append(s.IDs, b.words...)
	}
	if x != nil {
		x.translate(s.IDs)
	}
	s.Spans = append(s.Spans, p.listed.spans...)
	if p.only {
		s.Naming = edges.Listed
	} else {
		s.Added = func(n int) { r.added(s, n) }
	}
}

// describe adds the account and the notes.
func (r *reader) describe(p *parsed, s *edges.RankInput) {
	if namesIn[r.format] {
		r.note(s, p.f.path, p.what)
	}
	accounted := len(s.Notes)
	if p.note != "" {
		r.note(s, p.f.path, p.note)
	}
	if r.partial {
		return
	}
	if p.listed != nil && !p.only && s.Vertices > p.listed.n {
		r.added(s, s.Vertices-p.listed.n)
	}
	line := r.account(p.f, p.what, p.remarks+p.table.remarks, s, p.columns == 3)
	if s.Account = []string{line}; p.around[0] != "" {
		s.Account = []string{p.around[0], line, p.around[1]}
	}
	s.Account = append(s.Account, s.Notes[accounted:]...)
}
