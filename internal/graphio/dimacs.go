package graphio

import (
	"context"
	"fmt"
	"io"
)

// countedHeader is a header with the number of vertices, which are numbered from 1, and of lines of
// data.
type countedHeader struct {
	vertices, edges uint64
	line            int
	noun            string // name of a line of data
	from            start  // beginning of the lines of data
	remarks         int
}

// check compares the header with the number of lines n. It refuses a number of vertices that is
// implausible for so few lines.
func (h *countedHeader) check(n int) error {
	if h.edges != uint64(n) {
		return wrong(Counted(n, h.noun)+" in the file",
			Thousands(h.edges)+", as this line says").onLine(h.line, 1)
	}
	if most := mostVertices(n); h.vertices > most {
		return wrong(fmt.Sprintf("%s vertices for %s", Thousands(h.vertices), Counted(n, h.noun)),
			fmt.Sprintf("at most %s (1024 each)", Thousands(most))).onLine(h.line, 1)
	}
	return nil
}

// wholeNumbers reads n numbers, and up to optional more. They must fill text, the end of a line.
func wholeNumbers(line, text []byte, n, optional int, what string) ([]uint64, *fault) {
	var all []uint64
	for len(text) > 0 {
		var field []byte
		field, text = cutField(text)
		x, bad := wholeNumber(field)
		if bad == nil && len(all) == n+optional {
			bad = &fault{found: "more than " + Counted(n+optional, "number")}
		}
		if bad != nil {
			bad.expected = what
			return nil, bad.at(line, field)
		}
		all = append(all, x)
	}
	if len(all) < n {
		return nil, wrong(Counted(len(all), "number"), what).at(line, line[len(line):])
	}
	return all, nil
}

// dimacsKinds are the DIMACS problems whose graphs are read, by the word after p. letter begins
// their lines; weighted and directed describe the edges.
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

// readDIMACS reads a graph of the DIMACS challenges. Its vertices are 1 to the number in the
// header.
func (r *reader) readDIMACS(_ context.Context, p *parsed) error {
	kind, h, err := readDIMACSHeader(p.f.lineReader())
	if err == nil {
		h.describe(p, r.grammar(kind.weighted), kind.what)
		p.letter, p.layout, p.Directed = kind.letter, kind.form, kind.directed
	}
	return err
}

// describe describes a file whose header counts the vertices and edges.
func (h *countedHeader) describe(p *parsed, g grammar, what string) {
	p.grammar, p.from, p.what, p.remarks = g, h.from, what, h.remarks
	p.low, p.high, p.numbering = 1, h.vertices, consecutive(1, int(h.vertices))
	path := p.f.path
	p.Check = func(tuples int, _ uint64) error { return inFile(h.check(tuples), path) }
	p.CountSkipped = true
}

// read calls parse with the lines of the header. parse reports whether a line is the last one.
func (h *countedHeader) read(
	lines *lineReader, expected *string, parse func(line []byte) (last bool, bad *fault),
) error {
	for {
		line, err := lines.next()
		if err == io.EOF {
			return wrong("the end of the file", *expected).onLine(lines.line+1, 1)
		}
		if err != nil {
			return err
		}
		last, bad := parse(line)
		if bad == nil && h.vertices > maxVertices {
			bad = tooMany(h.vertices)
		}
		if bad != nil {
			return lines.at(bad)
		}
		if last {
			h.line, h.from = lines.line, start{lines.offset, lines.line}
			return nil
		}
	}
}

// readDIMACSHeader reads the lines up to the problem line.
func readDIMACSHeader(lines *lineReader) (kind dimacsKind, h *countedHeader, err error) {
	expected := "p sp VERTICES ARCS or p edge VERTICES EDGES"
	h = &countedHeader{noun: "edge"}
	err = h.read(lines, &expected, func(line []byte) (bool, *fault) {
		word, rest := cutField(trimLine(line))
		switch string(word) {
		case "":
			return false, nil
		case "c":
			h.remarks++
			return false, nil
		case "p":
		default:
			return false, wrong(quote(line), expected)
		}
		problem, rest := cutField(rest)
		var known bool
		if kind, known = dimacsKinds[string(problem)]; !known {
			return false, wrong("the problem "+quote(problem), expected)
		}
		sizes, bad := wholeNumbers(line, rest, 2, 0, "vertices and edges, two whole numbers")
		if bad == nil {
			h.vertices, h.edges = sizes[0], sizes[1]
		}
		return true, bad
	})
	return kind, h, err
}
