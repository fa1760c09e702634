package graphio

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
)

// Value is a value that a file has of a vertex, or of an edge.
type Value struct {
	Line   int    // of the file, from 1
	ID, To uint64 // of an edge its ends, else To is 0
	Text   []byte // until the next one is read
}

// eachLine is what ReadColumn calls with values.
type eachLine func(v Value) (found, expected string)

// Lines of values, for errors.
const (
	vertexLine = `"id value"`
	edgeLine   = `"from to value"`
)

// ReadColumn reads a file of lines "id value", or of edges "from to value", plain or compressed, and calls each with the values in a column
// of it, where the ids are the first columns, from 1. Column 0 is what WriteValues has written: all that follows the ids and a blank, be it
// nothing. What each returns as found, if that is anything, is an error of the line, with what it expected. A Matrix Market array of
// one column is a file of values of vertices, too, whose ids are its rows from 1 on, and a matrix of coordinates one of edges.
func ReadColumn(ctx context.Context, path string, ofEdges bool, column int, each func(v Value) (found, expected string)) error {
	if ids := idsOf(ofEdges); column < 0 || column > 0 && column <= ids {
		return &fault{path, 0, fmt.Sprintf("column %d for values", column), fmt.Sprintf("%d or more: %s", ids+1, idColumns(ofEdges))}
	}
	f, err := newReader(ReadOptions{}, pieceSize).open(ctx, path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.foreign(f.head(), ""); err != nil {
		return err
	}
	lines := &lineReader{r: f.content}
	head, _ := bytes.CutPrefix(f.head(), utf8BOM)
	switch matrix := isMatrixMarket(head); {
	case matrix && ofEdges:
		err = readEntries(ctx, lines, column, each)
	case matrix:
		err = readVector(ctx, lines, column, each)
	default:
		_, err = readFields(ctx, lines, ofEdges, column, each)
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return inFile(err, path)
	}
	return f.unchanged()
}

// idsOf is how many ids a line begins with, and idColumns says it.
func idsOf(ofEdges bool) int {
	if ofEdges {
		return 2
	}
	return 1
}

func idColumns(ofEdges bool) string {
	if ofEdges {
		return "the ids are columns 1 and 2"
	}
	return "the id is column 1"
}

// readVector reads a column of Matrix Market, whose ids are its rows.
func readVector(ctx context.Context, lines *lineReader, column int, each eachLine) error {
	if column > 0 {
		return &fault{found: "a Matrix Market array, which has no column " + strconv.Itoa(column), expected: "lines " + vertexLine}
	}
	return eachElement(lines, func(row uint64, value []byte) *fault {
		if ctx.Err() != nil {
			return &fault{} // which is not told
		}
		if found, expected := each(Value{Line: lines.line, ID: row, Text: value}); found != "" {
			return &fault{found: found, expected: expected}
		}
		return nil
	})
}

// readEntries reads the values of a matrix in Market's coordinates, whose entries are edges.
func readEntries(ctx context.Context, lines *lineReader, column int, each eachLine) error {
	h, err := readMTXHeader(lines)
	if err != nil {
		return err
	}
	n, err := readFields(ctx, lines, true, column, each)
	if err != nil {
		return err
	}
	return h.check(n)
}

// readFields reads a column of lines that begin with ids, and returns how many there are.
func readFields(ctx context.Context, lines *lineReader, ofEdges bool, column int, each eachLine) (n int, err error) {
	err = eachValue(lines, func(id uint64, rest []byte) *fault {
		if ctx.Err() != nil {
			return &fault{} // which is not told
		}
		v := Value{Line: lines.line, ID: id}
		if ofEdges {
			var f *fault
			if v.To, rest, f = secondID(id, rest); f != nil {
				return f
			}
		}
		if len(rest) == 0 && !ofEdges {
			return noValue(id)
		} else if len(rest) == 0 {
			return &fault{found: fmt.Sprintf(`no value in "%d %d"`, id, v.To), expected: edgeLine}
		}
		v.Text = rest[1:]
		if column > 0 {
			at := idsOf(ofEdges) + 1
			for v.Text, rest = cutField(bytes.Trim(rest, " \t")); at < column && len(rest) > 0; at++ {
				v.Text, rest = cutField(rest)
			}
			if at < column || len(v.Text) == 0 {
				return noColumn(column, v, ofEdges)
			}
		}
		n++
		if found, expected := each(v); found != "" {
			return &fault{found: found, expected: expected}
		}
		return nil
	})
	return n, err
}

// secondID reads the id after the first one, and returns what follows it, with the blank before.
func secondID(first uint64, rest []byte) (uint64, []byte, *fault) {
	rest = bytes.TrimLeft(rest, " \t")
	field, _ := cutField(rest)
	if len(field) == 0 {
		return 0, nil, &fault{found: fmt.Sprintf(`one id in "%d"`, first), expected: edgeLine}
	}
	g := grammar{high: maxID}
	id, f := g.id(field)
	return id, rest[len(field):], f
}

func noColumn(column int, v Value, ofEdges bool) *fault {
	if ofEdges {
		return &fault{found: fmt.Sprintf("no column %d for the edge from %d to %d", column, v.ID, v.To), expected: "one of every edge"}
	}
	return &fault{found: fmt.Sprintf("no column %d for vertex %d", column, v.ID), expected: "one of every vertex"}
}
