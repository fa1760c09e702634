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
func (r *reader) readEdgeList(ctx context.Context, f *file) (*edges.RankInput, error) {
	told := declared(f.head())
	if r.Directed != nil {
		told.directed, told.warning = nil, ""
	} else if told.directed == nil && told.by != "" {
		return nil, bipartite(f, told.by)
	}
	weighted := r.format == WEL
	g := r.listGrammar(weighted, pairs)
	if weighted {
		g.follow(columns(f.head()) - g.columns)
	}
	t, err := r.readTable(ctx, f, r.others, start{}, g)
	if err != nil {
		return nil, err
	}
	s, err := r.finish(ctx, &parsed{
		f: f, table: t, what: listNames[r.format] + g.others(), weighted: weighted,
		directed: told.directed == nil || *told.directed, check: someEdges(r.name),
	})
	if err != nil {
		return nil, err
	}
	line := told.warning
	if told.directed != nil {
		line = directedAccount(s.Directed) + ", as its comment says: " + quote([]byte(told.by))
	}
	if line != "" {
		r.note(s, f.path, line)
	}
	if !r.partial {
		s.Account = append(s.Account, s.Notes...)
	}
	return s, nil
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
	g := grammar{columns: 2, marks: listMarks, high: maxID, single: r.single(), layout: layout}
	if weighted {
		g.columns, g.layout = 3, triples
	}
	return g
}

// follow allows this number of columns after those that are read.
func (g *grammar) follow(columns int) {
	if columns > 0 {
		g.after = columns
		g.layout = fmt.Sprintf("%d as in the first line: %s, and %s", g.columns+columns,
			g.layout[len("3: "):], counted(columns, "more", "more"))
	}
}

// others describes the columns that are not read, if there are any.
func (g *grammar) others() string {
	if n := g.before + g.after; n > 0 {
		return " with " + counted(n, "other column")
	}
	return ""
}

// input makes the result from a list in memory. x has numbered the endpoints; nil means that they
// are input ids.
func (r *reader) input(
	path string, list *edges.Packed, x *numbering, directed bool,
) *edges.RankInput {
	s := new(edges.RankInput)
	s.Input = edges.Input{Name: path, Edges: list, Directed: directed, Free: list.Close}
	if x == nil {
		s.Naming = edges.Named
	} else {
		s.Vertices, s.Labels = x.n, x.labels()
	}
	return s
}

// inFile names the file in a fault that does not name one.
func inFile(err error, path string) error {
	if f, ok := err.(*fault); ok && f.file == "" {
		f.file = path
	}
	return err
}

// account describes in one line how a file was understood. For a part of a file it returns nothing.
func (r *reader) account(
	f *file, what string, remarks int, s *edges.RankInput, weighted bool,
) []string {
	if r.partial {
		return nil
	}
	parts := []string{what}
	if f.codec != plain {
		parts = append(parts, f.codec.String())
	}
	if remarks > 0 {
		parts = append(parts, counted(remarks, "comment line"))
	}
	parts = append(parts, counted(s.Edges.Len(), "edge"), counted(s.Vertices, "vertex"))
	if ids := idsAccount(&s.Input); ids != "" {
		parts = append(parts, ids)
	}
	name := f.path
	if len(r.others) > 0 {
		name = fmt.Sprintf("%s (%s)", r.name, counted(1+len(r.others), "file"))
	}
	if n := len(r.skipped); n > 0 {
		parts = append(parts, counted(n, "malformed line")+" left out")
	}
	parts = append(parts, "weights "+weightsAccount(weighted, r.Weights))
	parts = append(parts, directedAccount(s.Directed))
	return []string{name + ": " + strings.Join(parts, ", ")}
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

func directedAccount(directed bool) string {
	if directed {
		return "directed"
	}
	return "undirected"
}
