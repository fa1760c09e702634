package graphio

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/superstep-go/superstep/internal/edges"
)

// mtxBanner begins every Matrix Market file.
const mtxBanner = "%%MatrixMarket"

// lowerTriangle is which entries a symmetric matrix has: an edge in both triangles would be two edges. One with all entries
// is a general matrix.
const lowerTriangle = `those with row >= column alone, each edge once (a file with both triangles is "general", not "symmetric")`

// mtxHeader is what a Matrix Market file says before its entries (Boisvert, Pozo, Remington 1996):
//
//	%%MatrixMarket matrix coordinate FIELD SYMMETRY
//	% comments
//	ROWS COLUMNS ENTRIES
type mtxHeader struct {
	field     string // one of mtxFields
	symmetric bool
	rows      uint64
	entries   uint64
	sizeLine  int
	remarks   int
}

// readMatrixMarket reads a matrix whose entries are edges from row to column. Its vertices are 1 to rows. Nothing is
// allocated by what the header says before the entries have been read.
func (r *reader) readMatrixMarket(ctx context.Context, f *file) (*edges.RankInput, error) {
	lines := &lineReader{r: f.content}
	h, err := readMTXHeader(lines)
	if err != nil {
		return nil, inFile(err, f.path)
	}
	if err := h.allows(r, f.path); err != nil {
		return nil, err
	}
	g := h.grammar(r.Weights == edges.Float32)
	t, err := r.readTable(ctx, f, start{lines.offset, lines.line}, g)
	if err != nil {
		return nil, err
	}
	defer t.slabs.close()
	path := f.path
	check := func(entries int, _ uint64) error { return inFile(h.check(entries), path) }
	if !r.partial {
		if err := check(t.n+len(r.skipped), 0); err != nil {
			return nil, err
		}
	}
	x := consecutive(1, int(h.rows))
	list, _, err := pack(ctx, r.Team, t, x, r.Weights)
	if err != nil {
		return nil, err
	}
	s := r.input(path, list, x, r.directed(!h.symmetric))
	s.Spans, s.Check, s.CountSkipped = t.spans, check, true
	s.Account = r.account(f, h.what(), h.remarks+t.remarks, s, g.columns == 3)
	return s, nil
}

// allows refuses a direction that the matrix does not have.
func (h *mtxHeader) allows(r *reader, path string) error {
	if h.symmetric && r.directed(false) {
		return &fault{
			file: path, line: 1, column: 1, found: "a symmetric matrix to be read as directed",
			expected: "a general one (an undirected graph is walked both ways already)",
		}
	}
	return nil
}

// grammar is that of the entries.
func (h *mtxHeader) grammar(single bool) grammar {
	g := grammar{columns: 3, marks: "%", low: 1, high: h.rows, single: single, lower: h.symmetric, layout: `3: "row column value"`}
	if h.field == "pattern" {
		g.columns, g.layout = 2, `2: "row column"`
	}
	return g
}

// what says what kind of matrix it is.
func (h *mtxHeader) what() string {
	if h.symmetric {
		return "Matrix Market, " + h.field + " symmetric"
	}
	return "Matrix Market, " + h.field + " general"
}

// check compares the header with the n entries there are.
func (h *mtxHeader) check(n int) error {
	if h.entries != uint64(n) {
		return &fault{
			line: h.sizeLine, column: 1, found: counted(n, "entry", "entries") + " in the file",
			expected: thousands(h.entries) + ", as this line says",
		}
	}
	if most := mostVertices(n); h.rows > most {
		return &fault{
			line: h.sizeLine, column: 1, found: fmt.Sprintf("%s rows for %s", thousands(h.rows), counted(n, "entry", "entries")),
			expected: fmt.Sprintf("at most %s (1024 an entry)", thousands(most)),
		}
	}
	return nil
}

// readMTXHeader reads the lines before the entries.
func readMTXHeader(lines *lineReader) (*mtxHeader, error) {
	banner, err := lines.next()
	if err == io.EOF {
		return nil, &fault{line: 1, column: 1, found: "the end of the file", expected: mtxBanner}
	}
	if err != nil {
		return nil, err
	}
	h, f := parseBanner(banner)
	if f != nil {
		return nil, lines.at(f)
	}
	for {
		line, err := lines.next()
		if err == io.EOF {
			return nil, &fault{line: lines.line + 1, column: 1, found: "the end of the file", expected: "a line of rows, columns and entries"}
		}
		if err != nil {
			return nil, err
		}
		text := trimLine(line)
		switch {
		case len(text) == 0:
		case text[0] == '%':
			h.remarks++
		default:
			h.sizeLine = lines.line
			if f := h.parseSize(line); f != nil {
				return nil, lines.at(f)
			}
			return h, nil
		}
	}
}

// mtxFields are the kinds of entries that are read; those of unsigned-integer are written by SciPy.
var mtxFields = []string{"pattern", "real", "integer", "unsigned-integer"}

// parseBanner reads the first line.
func parseBanner(line []byte) (*mtxHeader, *fault) {
	words := strings.Fields(strings.ToLower(string(line[:min(len(line), 1024)])))
	if len(words) == 0 || words[0] != strings.ToLower(mtxBanner) {
		return nil, &fault{found: quote(line), expected: mtxBanner}
	}
	if len(words) != 5 {
		return nil, &fault{found: quote(line), expected: mtxBanner + " matrix coordinate FIELD SYMMETRY"}
	}
	for i, allowed := range [][]string{{"matrix"}, {"coordinate"}, mtxFields, {"general", "symmetric"}} {
		if word := words[i+1]; !slices.Contains(allowed, word) {
			f := &fault{found: quote([]byte(word)), expected: strings.Join(allowed, " or ")}
			return nil, f.at(line, fieldAt(line, i+1))
		}
	}
	return &mtxHeader{field: words[3], symmetric: words[4] == "symmetric"}, nil
}

// parseSize reads the line of rows, columns and entries.
func (h *mtxHeader) parseSize(line []byte) *fault {
	var sizes [3]uint64
	text := trimLine(line)
	for i := range sizes {
		var field []byte
		field, text = cutField(text)
		x, f := wholeNumber(field)
		if len(bytes.TrimSpace(field)) == 0 {
			f, field = &fault{found: counted(i, "number", "numbers")}, line[len(line):]
		}
		if f != nil {
			f.expected = "rows, columns and entries, three whole numbers"
			return f.at(line, field)
		}
		sizes[i] = x
	}
	switch {
	case len(text) > 0:
		return (&fault{found: "more than three numbers", expected: "rows, columns and entries"}).at(line, text)
	case sizes[0] != sizes[1]:
		return &fault{found: fmt.Sprintf("%s rows and %s columns", thousands(sizes[0]), thousands(sizes[1])), expected: "as many rows as columns"}
	case sizes[0] > maxVertices:
		return tooMany(sizes[0])
	}
	h.rows, h.entries = sizes[0], sizes[2]
	return nil
}
