package graphio

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Value is a value of a vertex or an edge in a file.
type Value struct {
	Line int // in the file, from 1
	IDAt int // position of the ids in the line, from 1
	At   int // position of the value
	// the vertex, or the ends of an edge (To is 0 for vertices); NoNumber if an id is not a number
	ID, To uint64
	// Names are the texts of the ids in a table, or in lines with names. They are valid until the
	// next value is read.
	Names [2][]byte
	Text  []byte // valid until the next value is read
	// The callback sets OfID if it reports an error of an id, not of the value.
	OfID bool
}

// NoNumber is the ID of a vertex that only has a name. It is not a valid id.
const NoNumber = maxID + 1

// Vertex returns the text in the file for an end, 0 or 1.
func (v *Value) Vertex(end int) string {
	switch {
	case v.Names[end] != nil && [2]uint64{v.ID, v.To}[end] == NoNumber:
		return quote(v.Names[end])
	case end == 0:
		return strconv.FormatUint(v.ID, 10)
	}
	return strconv.FormatUint(v.To, 10)
}

// Fault returns an error of the value, or of its ids.
func (v *Value) Fault(path, found, expected string) error {
	return inFile(v.fault(found, expected), path)
}

func (v *Value) fault(found, expected string) *fault {
	column := v.At
	if v.OfID {
		column = v.IDAt
	}
	return wrong(found, expected).onLine(v.Line, column)
}

// eachLine is the callback of ReadColumn.
type eachLine func(v *Value) (found, expected string)

// Descriptions of lines of values, for errors.
const (
	vertexLine = `"id value"`
	edgeLine   = `"from to value"`
)

// ReadColumn reads a file of values, plain or compressed. Its lines are "id value", "from to value"
// for edges, or contain names. ReadColumn calls each with every value in the column of. The ids are
// the first columns, counted from 1. Column 0 is the rest of the line after the ids and a blank, as
// WriteValues writes it; it may be empty. If each returns a non-empty found, this is an error of
// the line.
//
// The file may also be a Matrix Market array of one column, whose rows from 1 are vertices, or a
// coordinate matrix, whose entries are edges. In a table, which is CSV or TSV by its name, ids may
// be names. A CSV file of values by names may have a line of titles.
func ReadColumn(
	ctx context.Context, path string, of Column, each func(v *Value) (found, expected string),
) error {
	format, column := formatOfName(path), of.Number
	of.Named = of.Named && of.Name == ""
	if column < 0 || column > 0 && column <= of.ids() {
		return fileFault(path, fmt.Sprintf("column %d for values", column),
			fmt.Sprintf("%d or more: %s", of.ids()+1, of.idColumns()))
	}
	f, err := newReader(ReadOptions{}, pieceSize).open(ctx, path)
	if err != nil {
		return err
	}
	defer f.Close()
	if format != CSV && format != TSV {
		format = ""
	}
	if !of.Named {
		if err := f.foreign(f.head(), format); err != nil {
			return err
		}
	}
	lines := f.lineReader()
	switch {
	case format != "" && !(of.Named && format == TSV):
		err = readTableColumn(ctx, f, format, &of, each)
	case !of.Named && isMatrixMarket(f.head()):
		err = readMatrix(ctx, lines, &of, each)
	default:
		_, err = readLines(ctx, lines, &of, each)
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return inFile(err, path)
	}
	return f.unchanged(ctx)
}

// readMatrix reads the values of a Matrix Market file: of a coordinate matrix, whose entries are
// edges, or of an array of one column, whose rows are vertices.
func readMatrix(ctx context.Context, lines *lineReader, of *Column, each eachLine) error {
	kind := &mtxGraph
	if !of.OfEdges {
		kind, of.rows = &mtxColumn, true
	}
	if of.rows && of.Number > 0 {
		return wrong("a Matrix Market array, which has no column "+strconv.Itoa(of.Number),
			"lines "+vertexLine)
	}
	h, err := readMTXHeader(lines, kind)
	if err != nil {
		return err
	}
	n, err := readLines(ctx, lines, of, func(v *Value) (found, expected string) {
		if of.rows && v.ID > h.edges {
			return "a value of row " + Thousands(v.ID),
				fmt.Sprintf("%s, as line %d says", Counted(h.edges, "row"), h.line)
		}
		return each(v)
	})
	if err != nil {
		return err
	}
	return h.check(n)
}

// readLines reads a column of lines that begin with ids or with names, and returns the number of
// values.
func readLines(
	ctx context.Context, lines *lineReader, of *Column, each eachLine,
) (n int, err error) {
	for ctx.Err() == nil {
		line, err := lines.next()
		if err != nil {
			return n, endOfLists(err)
		}
		line = bytes.TrimSuffix(line, carriage)
		v := Value{Line: lines.line, ID: uint64(n) + 1}
		var bad *fault
		if of.Named {
			if len(line) == 0 {
				continue
			}
			bad = v.parseNamed(line, of)
		} else {
			text := bytes.TrimLeft(line, " \t")
			if len(text) == 0 || strings.IndexByte(listMarks, text[0]) >= 0 {
				continue
			}
			v.IDAt = offsetIn(line, text) + 1
			bad = v.parse(line, text, of).at(line, text)
			v.At = offsetIn(line, v.Text) + 1
		}
		if bad != nil {
			bad.line = lines.line
			return n, bad
		}
		if found, expected := each(&v); found != "" {
			return n, v.fault(found, expected)
		}
		n++
	}
	return n, nil
}

// parse reads the ids and the value of a line. text is the line without leading blanks. In a file
// of rows, it counts them as ids.
func (v *Value) parse(line, text []byte, of *Column) *fault {
	g, rest := grammar{high: maxID}, text
	if of.rows {
		if v.Text, rest = cutField(trimLine(text)); len(rest) > 0 {
			return wrong("more than one number: "+quote(trimLine(text)),
				"one a line").at(line, rest)
		}
		return nil
	}
	for _, id := range []*uint64{&v.ID, &v.To}[:of.ids()] {
		rest = bytes.TrimLeft(rest, " \t")
		field, _ := cutField(rest)
		if len(field) == 0 {
			return wrong(fmt.Sprintf(`one id in "%d"`, v.ID), edgeLine).at(line, rest)
		}
		var bad *fault
		if *id, bad = g.id(field); bad != nil {
			return bad.at(line, field)
		}
		rest = rest[len(field):]
	}
	if len(rest) == 0 {
		if of.OfEdges {
			return wrong(fmt.Sprintf(`no value in "%d %d"`, v.ID, v.To), edgeLine)
		}
		return wrong(fmt.Sprintf(`no value in "%d"`, v.ID), vertexLine)
	}
	if v.Text = rest[1:]; of.Number > 0 {
		v.Text = fieldAt(rest, of.Number-of.ids()-1)
	}
	switch {
	case of.Number == 0 || len(v.Text) > 0:
		return nil
	case of.OfEdges:
		return wrong(fmt.Sprintf("no column %d for the edge from %d to %d", of.Number, v.ID, v.To),
			"one of every edge")
	}
	return wrong(fmt.Sprintf("no column %d for vertex %d", of.Number, v.ID), "one of every vertex")
}
