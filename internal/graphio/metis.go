package graphio

import (
	"bytes"
	"context"
	"fmt"
)

// metisHeader is the first line of a METIS graph (manual of METIS 5.1, 4.1.1):
//
//	VERTICES EDGES [FORMAT [WEIGHTS]]
//
// FORMAT has three digits: whether there are sizes of vertices, weights of vertices, and weights of
// edges. After the header there is a line for each vertex, from vertex 1: its size, its weights and
// its neighbours, each with the weight of the edge. An edge is in the lines of both its ends.
type metisHeader struct {
	countedHeader
	before   int // numbers before the neighbours
	weighted bool
}

// readMETIS reads a METIS graph. The vertex of a line is the line's number, so each rank reads the
// file in order from its beginning to the end of its part. The team parses pieces in parallel.
func (r *reader) readMETIS(ctx context.Context, p *parsed) error {
	f := p.f
	if r.SkipBad > 0 {
		return f.fault("METIS with --skip-bad",
			"a format whose lines can be skipped: the number of a METIS line is its vertex")
	}
	h, err := readMETISHeader(f.lineReader())
	if err == nil && r.directed(false) {
		err = wrong("a METIS graph to be read as directed",
			"an undirected one, which it is (it is walked both ways already)").onLine(h.line, 1)
	}
	if err != nil {
		return err
	}
	h.describe(p, r.grammar(h.weighted), "METIS")
	p.twice, p.own = true, h.list
	src := f.stream(h.from.offset, r.piece, nil)
	src.count = metisRows
	src.low, src.high = r.part(f.size(), 0, f.size())
	p.table, err = r.filled(f, p.columns,
		func(t *table) error { return r.parseInto(ctx, t, p.textFile, src) })
	if err != nil {
		return err
	}
	// the rank with the last part has read the whole file
	if r.rank == r.ranks-1 && uint64(src.counted) < h.vertices {
		bad := wrong(Counted(src.counted, "line")+" of vertices in the file", Thousands(h.vertices)+
			", as this line says (a vertex without neighbours has an empty one)")
		return bad.onLine(h.line, 1)
	}
	p.Unbalanced = r.unbalanced(p.textFile)
	return nil
}

// metisRows counts the lines of vertices: all lines except comments.
func metisRows(data []byte) int {
	n := bytes.Count(data, newline) - bytes.Count(data, []byte("\n%"))
	if len(data) > 0 && data[0] == '%' {
		n--
	}
	return n
}

// readMETISHeader reads the lines up to the first that is not a comment.
func readMETISHeader(lines *lineReader) (*metisHeader, error) {
	const what = "the numbers of vertices and edges, and perhaps a format and a number of weights"
	h := &metisHeader{countedHeader: countedHeader{noun: "edge"}}
	expected := what
	return h, h.read(lines, &expected, func(line []byte) (bool, *fault) {
		if len(line) > 0 && line[0] == '%' {
			h.remarks++
			return false, nil
		}
		return true, h.parse(line, what)
	})
}

func (h *metisHeader) parse(line []byte, what string) *fault {
	numbers, bad := wholeNumbers(line, trimLine(line), 2, 2, what)
	if bad != nil {
		return bad
	}
	h.vertices, h.edges = numbers[0], numbers[1]
	if len(numbers) == 2 {
		return nil
	}
	format := numbers[2]
	if format > 111 || format%10 > 1 || format/10%10 > 1 {
		return wrong(fmt.Sprintf("the format %d", format),
			"three digits, each 0 or 1: sizes of vertices, weights of vertices, weights of edges")
	}
	weights := uint64(0)
	if format/10%10 == 1 {
		weights = 1
	}
	if len(numbers) == 4 {
		if numbers[3] > 1024 || weights == 0 && numbers[3] > 1 {
			return wrong(Counted(numbers[3], "weight")+" of each vertex",
				"as many as the format has, at most 1024")
		}
		weights *= numbers[3]
	}
	h.before, h.weighted = int(weights+format/100), format%10 == 1
	return nil
}

// list reads the line of a vertex.
func (h *metisHeader) list(p *parser, line []byte) *fault {
	if len(line) > 0 && line[0] == '%' {
		p.comments++
		return nil
	}
	text := bytes.Trim(line, " \t")
	u := uint64(p.first + p.lines - p.comments)
	if u > h.vertices {
		if len(text) == 0 {
			return nil
		}
		return wrong(fmt.Sprintf("line %s of a vertex: %s", Thousands(u), quote(text)),
			fmt.Sprintf("%s, as line %d says", Counted(h.vertices, "line"), h.line)).at(line, text)
	}
	for range h.before {
		var field []byte
		from := text
		if field, text = cutField(text); len(field) == 0 {
			return wrong(fmt.Sprintf("fewer than %s before the neighbours", Counted(h.before,
				"number")), "sizes and weights of the vertex").inColumn(len(line) + 1)
		}
		if _, bad := weight(field, false); bad != nil {
			return bad.at(line, from)
		}
	}
	return p.neighbors(u, line, text)
}
