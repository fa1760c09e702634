package graphio

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/superstep-go/superstep/internal/edges"
)

// listMarks are the bytes that begin comments in edge lists.
const listMarks = "#%"

// maxID is the largest input id. No vertex has the number above it.
const maxID = math.MaxUint64 - 1

// pairs and triples describe the lines of an edge list in errors.
const (
	pairs   = `2: "u v" (a list with weights is of format wel)`
	triples = `3: "u v w", two ids and a weight`
)

// readEdgeList reads a list of lines "u v" or, in format wel, "u v w". Its vertices are the ids
// that occur. A part of a list keeps its input ids.
func (r *reader) readEdgeList(_ context.Context, p *parsed) error {
	p.Directed = true
	if r.Directed == nil { // the comments count
		told := declared(p.f.head())
		switch p.note = told.warning; {
		case told.directed != nil:
			p.Directed = *told.directed
			p.note = fmt.Sprintf("%s, as its comment says: %s", edges.Kind(p.Directed),
				quote([]byte(told.by)))
		case told.by != "":
			return bipartite(p.f, told.by)
		}
	}
	p.grammar = r.listGrammar(r.format == WEL, pairs)
	if r.format == WEL {
		p.follow(columns(p.f.head()) - p.columns)
	}
	p.others, p.what, p.Check = r.others, listNames[r.format]+p.ignored(), someEdges(r.name)
	return nil
}

// noEdges is the fault of a file of edges that has none: probably a download or a program failed.
func noEdges(path string) error { return fileFault(path, "no edges", "one or more") }

// someEdges returns a check that refuses a file without edges, after all of it was read.
func someEdges(path string) func(tuples int, _ uint64) error {
	return func(tuples int, _ uint64) error {
		if tuples == 0 {
			return noEdges(path)
		}
		return nil
	}
}

var listNames = map[Format]string{
	SNAP: "snap edge list", EL: "edge list", WEL: "weighted edge list",
}

// listGrammar returns the grammar of an edge list, with or without weights. layout describes its
// lines.
func (r *reader) listGrammar(weighted bool, layout string) grammar {
	g := r.grammar(weighted)
	if g.marks, g.layout = listMarks, layout; weighted {
		g.layout = triples
	}
	return g
}

// follow allows this number of columns after those that are read.
func (g *grammar) follow(columns int) {
	if columns > 0 {
		g.after = columns
		g.layout = fmt.Sprintf("%d as in the first line: %s, and %s", g.columns+columns,
			g.layout[len("3: "):], Counted(columns, "more", "more"))
	}
}

// ignored describes the columns that are not read, if there are any.
func (g *grammar) ignored() string {
	if n := g.before + g.after; n > 0 {
		return " with " + Counted(n, "other column")
	}
	return ""
}

// inFile names the file in a fault that does not name one.
func inFile(err error, path string) error {
	if f, ok := err.(*fault); ok && f.file == "" {
		f.file = path
	}
	return err
}

// account describes in one line how a file was understood.
func (r *reader) account(
	f *file, what string, remarks int, s *edges.RankInput, weighted bool,
) string {
	parts := []string{what}
	if f.codec != plain {
		parts = append(parts, f.codec.String())
	}
	if remarks > 0 {
		parts = append(parts, Counted(remarks, "comment line"))
	}
	parts = append(parts, Counted(s.Edges.Len(), "edge"), Counted(s.Vertices, "vertex"))
	if ids := idsAccount(&s.Input); ids != "" {
		parts = append(parts, ids)
	}
	name := f.path
	if len(r.others) > 0 {
		name = fmt.Sprintf("%s (%s)", r.name, Counted(1+len(r.others), "file"))
	}
	if n := len(r.skipped); n > 0 {
		parts = append(parts, Counted(n, "malformed line")+" left out")
	}
	parts = append(parts, "weights "+weightsAccount(weighted, r.Weights))
	parts = append(parts, edges.Kind(s.Directed))
	return name + ": " + strings.Join(parts, ", ")
}

// note adds a line to the notes of an input. If there are several ranks, only the first adds it.
func (r *reader) note(s *edges.RankInput, path, line string) {
	if r.rank == 0 {
		s.Notes = append(s.Notes, path+": "+line)
	}
}

// idsAccount describes the ids of the vertices.
func idsAccount(in *edges.Input) string {
	if in.Vertices == 0 {
		return ""
	}
	if in.Names != nil {
		return fmt.Sprintf("named %q..%q", in.Names.Name(0), in.Names.Name(uint64(in.Vertices-1)))
	}
	n := uint64(in.Vertices)
	first, last := in.Labels.Of(0), in.Labels.Of(n-1)
	if last-first == n-1 {
		return fmt.Sprintf("ids %d..%d", first, last)
	}
	return fmt.Sprintf("ids %d..%d sparse", first, last)
}

func weightsAccount(has bool, kind edges.Weights) string {
	switch {
	case !has:
		return "no"
	case kind == edges.Unweighted:
		return "dropped"
	default:
		return kind.String()
	}
}
