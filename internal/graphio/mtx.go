package graphio

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// mtxBanner begins every Matrix Market file.
const mtxBanner = "%%MatrixMarket"

// lowerTriangle describes the entries of a symmetric matrix. Entries in both triangles would be two
// edges; such a matrix is general.
const lowerTriangle = `only entries with row >= column, each edge once (a file with both triangles is "general", not "symmetric")`

// mtxKind describes a kind of matrix: the allowed words of the banner, and the numbers in the line
// of sizes.
type mtxKind struct {
	banner [4][]string // the words after the first
	sizes  string      // description of the sizes
	count  int         // how many numbers
	noun   string      // name of a line of data
}

// The kinds of matrices that are read: graphs, and columns of values. SciPy writes unsigned
// integers.
var (
	mtxGraph = mtxKind{
		[4][]string{{"matrix"}, {"coordinate"}, {"pattern", "real", "integer", "unsigned-integer"}, {"general", "symmetric"}},
		"rows, columns and entries", 3, "entry",
	}
	mtxColumn = mtxKind{
		[4][]string{{"matrix"}, {"array"}, {"real", "integer", "unsigned-integer"}, {"general"}},
		"rows and columns", 2, "value",
	}
)

// mtxHeader is the header of a Matrix Market file (Boisvert, Pozo, Remington 1996):
//
//	%%MatrixMarket matrix coordinate FIELD SYMMETRY     %%MatrixMarket matrix array FIELD general
//	% comments                                          % comments
//	ROWS COLUMNS ENTRIES                                ROWS 1
type mtxHeader struct {
	countedHeader
	field, symmetry string
}

// readMatrixMarket reads a matrix whose entries are edges from row to column. Its vertices are 1 to
// the number of rows. It does not allocate by the sizes in the header before the entries are read.
func (r *reader) readMatrixMarket(_ context.Context, p *parsed) error {
	h, err := readMTXHeader(p.f.lineReader(), &mtxGraph)
	if err != nil {
		return err
	}
	symmetric := h.symmetry == "symmetric"
	if symmetric && r.directed(false) {
		return wrong("a symmetric matrix to be read as directed",
			"a general one (an undirected graph is walked both ways already)").onLine(1, 1)
	}
	h.describe(p, r.grammar(h.field != "pattern"), "Matrix Market, "+h.field+" "+h.symmetry)
	p.marks, p.lower, p.Directed = "%", symmetric, !symmetric
	if p.layout = `2: "row column"`; p.columns == 3 {
		p.layout = `3: "row column value"`
	}
	return nil
}

// isMatrixMarket reports whether a text begins with the banner of Matrix Market.
func isMatrixMarket(head []byte) bool {
	return len(head) >= len(mtxBanner) &&
		strings.EqualFold(string(head[:len(mtxBanner)]), mtxBanner)
}

// readMTXHeader reads the lines before the data.
func readMTXHeader(lines *lineReader, kind *mtxKind) (*mtxHeader, error) {
	h := &mtxHeader{countedHeader: countedHeader{noun: kind.noun}}
	expected := mtxBanner
	return h, h.read(lines, &expected, func(line []byte) (bool, *fault) {
		first := expected == mtxBanner
		expected = "a line of " + kind.sizes
		switch text := trimLine(line); {
		case first:
			return false, h.banner(line, kind)
		case len(text) == 0:
			return false, nil
		case text[0] == '%':
			h.remarks++
			return false, nil
		}
		return true, h.size(line, kind)
	})
}

// banner reads the first line.
func (h *mtxHeader) banner(line []byte, kind *mtxKind) *fault {
	words := strings.Fields(strings.ToLower(string(line[:min(len(line), 1024)])))
	if len(words) == 0 || words[0] != strings.ToLower(mtxBanner) {
		return wrong(quote(line), mtxBanner)
	}
	if len(words) != 5 {
		return wrong(quote(line),
			fmt.Sprintf("%s matrix %s FIELD SYMMETRY", mtxBanner, kind.banner[1][0]))
	}
	for i, allowed := range kind.banner {
		if word := words[i+1]; !slices.Contains(allowed, word) {
			return wrong(quote([]byte(word)), strings.Join(allowed, " or ")).at(line,
				fieldAt(line, i+1))
		}
	}
	h.field, h.symmetry = words[3], words[4]
	return nil
}

// size reads the line of sizes.
func (h *mtxHeader) size(line []byte, kind *mtxKind) *fault {
	sizes, bad := wholeNumbers(line, trimLine(line), kind.count, 0,
		fmt.Sprintf("%s, %d whole numbers", kind.sizes, kind.count))
	switch {
	case bad != nil:
		return bad
	case len(sizes) == 2 && sizes[1] != 1:
		return wrong(fmt.Sprintf("%d columns", sizes[1]), "1: a column of values")
	case len(sizes) == 2:
		h.vertices, h.edges = sizes[0], sizes[0]
		return nil
	case sizes[0] != sizes[1]:
		return wrong(fmt.Sprintf("%s rows and %s columns", Thousands(sizes[0]),
			Thousands(sizes[1])), "as many rows as columns")
	}
	h.vertices, h.edges = sizes[0], sizes[2]
	return nil
}
