package graphio

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/superstep-go/superstep/internal/edges"
)

// countedHeader is a header that says how many vertices there are, numbered from 1, and how many
// lines of data.
type countedHeader struct {
	vertices, edges uint64
	line            int
	noun, nouns     string // what the lines of data are
	from            start  // where they begin
	remarks         int
}

// check compares the header with the n lines there are.
func (h *countedHeader) check(n int) error {
	if h.edges != uint64(n) {
		return &fault{
			line: h.line, column: 1, found: counted(n, h.noun, h.nouns) + " in the file", expected: thousands(h.edges) + ", as this line says",
		}
	}
	return h.affordable(n)
}

// affordable refuses vertices that n edges do not make likely.
func (h *countedHeader) affordable(n int) error {
	if most := mostVertices(n); h.vertices > most {
		return &fault{
			line: h.line, column: 1, found: fmt.Sprintf("%s vertices for %s", thousands(h.vertices), counted(n, h.noun, h.nouns)),
			expected: fmt.Sprintf("at most %s (1024 each)", thousands(most)),
		}
	}
	return nil
}

// wholeNumbers reads so many numbers, or up to as many more as optional says, that are all of a
// text at the end of a line.
func wholeNumbers(line, text []byte, n, optional int, what string) ([]uint64, *fault) {
	var all []uint64
	for len(text) > 0 {
		var field []byte
		field, text = cutField(text)
		x, bad := wholeNumber(field)
		if bad == nil && len(all) == n+optional {
			bad = &fault{found: "more than " + counted(n+optional, "number", "numbers")}
		}
		if bad != nil {
			bad.expected = what
			return nil, bad.at(line, field)
		}
		all = append(all, x)
	}
	if len(all) < n {
		return nil, (&fault{found: counted(len(all), "number", "numbers"), expected: what}).at(line, line[len(line):])
	}
	return all, nil
}

// dimacsKinds are the problems of DIMACS whose graphs are read: by the word after p, the letter of
// their lines, whether these have weights and whether edges are directed.
var dimacsKinds = map[string]dimacsKind{
	"sp":   {letter: 'a', weighted: true, directed: true, what: "DIMACS shortest paths", form: "a SOURCE TARGET WEIGHT"},
	"edge": {letter: 'e', what: "DIMACS coloring", form: "e U V"},
	"col":  {letter: 'e', what: "DIMACS coloring", form: "e U V"},
}

type dimacsKind struct {
	letter             byte
	weighted, directed bool
	what, form         string
}

// dimacsLines reads the lines after the line of the problem.
type dimacsLines struct{ dimacsKind }

// readDIMACS reads a graph of the DIMACS challenges. Its vertices are 1 to what the header says.
func (r *reader) readDIMACS(ctx context.Context, f *file) (*edges.RankInput, error) {
	kind, h, err := readDIMACSHeader(&lineReader{r: f.content})
	if err != nil {
		return nil, inFile(err, f.path)
	}
	g := grammar{columns: 2, low: 1, high: h.vertices, single: r.Weights == edges.Float32, own: dimacsLines{kind}}
	if kind.weighted {
		g.columns = 3
	}
	t, err := r.readTable(ctx, f, h.from, g)
	if err != nil {
		return nil, err
	}
	return r.finish(ctx, h.parsed(f, t, kind.what, kind.directed, kind.weighted))
}

// parsed describes a table whose vertices and edges the header counts.
func (h *countedHeader) parsed(f *file, t *table, what string, directed, weighted bool) *parsed {
	return &parsed{
		f: f, table: t, what: what, remarks: h.remarks, directed: directed, weighted: weighted,
		numbering: consecutive(1, int(h.vertices)), countSkipped: true,
		check: func(tuples int, _ uint64) error { return inFile(h.check(tuples), f.path) },
	}
}

// readDIMACSHeader reads the lines up to that of the problem.
func readDIMACSHeader(lines *lineReader) (dimacsKind, *countedHeader, error) {
	const line = "p sp VERTICES ARCS or p edge VERTICES EDGES"
	h := &countedHeader{noun: "edge", nouns: "edges"}
	for {
		text, err := lines.next()
		if err == io.EOF {
			return dimacsKind{}, nil, &fault{line: lines.line + 1, found: "the end of the file", expected: line}
		}
		if err != nil {
			return dimacsKind{}, nil, err
		}
		word, rest := cutField(trimLine(text))
		switch string(word) {
		case "":
			continue
		case "c":
			h.remarks++
			continue
		case "p":
		default:
			return dimacsKind{}, nil, lines.at(&fault{found: quote(text), expected: line})
		}
		problem, rest := cutField(rest)
		kind, ok := dimacsKinds[string(problem)]
		if !ok {
			return kind, nil, lines.at(&fault{found: "the problem " + quote(problem), expected: line})
		}
		sizes, bad := wholeNumbers(text, rest, 2, 0, "vertices and edges, two whole numbers")
		if bad == nil && sizes[0] > maxVertices {
			bad = tooMany(sizes[0])
		}
		if bad != nil {
			return kind, nil, lines.at(bad)
		}
		h.vertices, h.edges, h.line = sizes[0], sizes[1], lines.line
		h.from = start{lines.offset, lines.line}
		return kind, h, nil
	}
}

func (d dimacsLines) line(p *parser, line []byte) *fault {
	text := trimLine(line)
	if len(text) == 0 {
		return nil
	}
	letter, rest := cutField(text)
	switch {
	case len(letter) == 1 && letter[0] == 'c':
		p.comments++
		return nil
	case len(letter) == 1 && letter[0] == 'n' && d.letter == 'e': // a vertex's color
		return nil
	case len(letter) != 1 || letter[0] != d.letter:
		return (&fault{found: quote(text), expected: d.form}).at(line, text)
	}
	for range 2 {
		if len(rest) == 0 {
			return (&fault{found: quote(text), expected: d.form}).at(line, rest)
		}
		var id uint64
		var bad *fault
		from := rest
		if id, rest, bad = p.nextID(rest); bad == nil && (id < p.low || id > p.high) {
			_, bad = p.id(fmt.Append(nil, id))
		}
		if bad != nil {
			return bad.at(line, from)
		}
		p.ids = append(p.ids, id)
	}
	if d.weighted {
		if len(rest) == 0 {
			return (&fault{found: quote(text), expected: d.form}).at(line, rest)
		}
		end := bytes.IndexAny(rest, " \t")
		if end < 0 {
			end = len(rest)
		}
		w, bad := plainWeight(rest[:end], p.single)
		if bad != nil {
			return bad.at(line, rest)
		}
		p.weights = append(p.weights, w)
		rest = bytes.TrimLeft(rest[end:], " \t")
	}
	if len(rest) > 0 {
		return (&fault{found: quote(text), expected: d.form}).at(line, rest)
	}
	return nil
}

// plainWeight is weight, and faster for short whole numbers.
func plainWeight(text []byte, single bool) (float64, *fault) {
	if x, end := digits(text, 0); end == len(text) && end > 0 && end <= 7 {
		return float64(x), nil
	}
	return weight(text, single)
}
