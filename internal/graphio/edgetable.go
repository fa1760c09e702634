package graphio

import (
	"context"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/names"
)

// edgeTable is what a table of edges is, whose vertices are the ids or the names that occur.
type edgeTable struct {
	names    *names.Table // of vertices with names; nil of numbers
	said     string       // what was understood of it
	weighted bool
	directed bool // what the format says
	// where the lines of data begin in another file of the table, if it may have several
	begin func(f *file) (start, error)
}

// readNamed reads lines whose vertices are numbers or names.
func (r *reader) readNamed(ctx context.Context, f *file, from start, g grammar, e edgeTable) (*edges.RankInput, error) {
	defer e.names.Close()
	t, err := r.readTables(ctx, f, from, g, e.begin)
	if err != nil {
		return nil, err
	}
	defer t.slabs.close()
	return r.edgesOf(ctx, f, t, e)
}

// edgesOf makes an input of a table that was read.
func (r *reader) edgesOf(ctx context.Context, f *file, t *table, e edgeTable) (*edges.RankInput, error) {
	path := r.name
	check := someEdges(path)
	all := t
	var also *table
	if r.Columns.Vertices != "" {
		var err error
		if also, err = r.readVertices(ctx, e.names); err != nil {
			return nil, err
		}
		defer also.slabs.close()
		all = t.with(also)
		e.said += ", " + also.said
	}
	var x *numbering
	var dictionary *names.Dictionary
	if !r.partial {
		err := check(t.n, 0)
		if err == nil && also != nil {
			err = r.once(ctx, also, e.names != nil)
		}
		if err != nil {
			return nil, err
		}
		if e.names == nil {
			if x, err = number(ctx, r.Team, all); err != nil {
				return nil, inFile(err, path)
			}
		}
	}
	if e.names != nil {
		if n := e.names.Len(); uint64(n) > maxVertices-1 {
			return nil, inFile(tooMany(uint64(n)), path)
		}
		x = new(numbering)
		dictionary, x.named = e.names.Sort(r.Team)
		defer x.named.Close()
		x.n = dictionary.Len()
	}
	s, _, err := r.packed(ctx, path, t, x, r.directed(e.directed))
	if err != nil {
		return nil, err
	}
	if s.Names = dictionary; dictionary != nil && r.partial {
		s.Naming, s.Vertices = edges.Texts, 0
	}
	s.Largest, s.Check = t.max, check
	if also != nil && r.partial {
		if err := r.listOf(also, x, s); err != nil {
			s.Close()
			return nil, err
		}
	}
	s.Account = r.account(f, e.said, t.remarks, s, e.weighted)
	r.note(s, f.path, e.said)
	if also != nil && !r.partial && x.n > also.n {
		r.added(s, x.n-also.n)
		s.Account = append(s.Account, s.Notes[1:]...)
	}
	return s, nil
}
