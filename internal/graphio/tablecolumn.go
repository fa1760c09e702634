package graphio

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// readTableColumn reads a column of a table.
func readTableColumn(ctx context.Context, f *file, format Format, of *Column, each eachLine) error {
	o := Columns{ofVertices: !of.OfEdges, IDs: IDKinds[0]}
	o.naming = "FILE:FROM,TO,COLUMN, which names them"
	switch {
	case len(of.IDs) == of.ids() && of.OfEdges:
		o.Source, o.Target = of.IDs[0], of.IDs[1]
	case len(of.IDs) == of.ids():
		o.Source = of.IDs[0]
	case len(of.IDs) > 0:
		ids := counted(len(of.IDs), "column of ids", "columns of ids")
		return fileFault(f.path, ids+": "+strings.Join(of.IDs, ","),
			fmt.Sprintf("%d: %s", of.ids(), of.idColumns()))
	}
	if _, err := strconv.Atoi(of.Name); err != nil && of.Name != "" {
		yes := true // a column with a name
		o.Header = &yes
	}
	c, _, from, err := o.understand(f.head(), f.headIsAll(), format)
	if err != nil {
		return err
	}
	name := of.Name
	if name == "" && of.Number > 0 {
		name = strconv.Itoa(of.Number)
	}
	if c.at[2], err = c.valueColumn(name, from.offset > 0); err != nil {
		return err
	}
	if _, err := f.content.Discard(int(from.offset)); err != nil {
		return err
	}
	src := &streamSource{f: f, offset: from.offset, size: pieceSize, ranks: 1, first: -1, csv: c}
	t := tableValues{csv: c, line: from.lines, ends: of.ids(), each: each}
	for {
		var p piece
		if err := src.next(ctx, &p); err != nil {
			return endOfLists(err)
		}
		if bad := t.piece(ctx, &p); bad != nil {
			return bad
		}
	}
}

// valueColumn returns which column has the values: the one that is named, or the only one that no id has.
func (c *csvGrammar) valueColumn(name string, header bool) (int, error) {
	if name != "" {
		return c.column(name, header)
	}
	only := -1
	for i := range c.columns {
		if i == c.at[0] || i == c.at[1] {
			continue
		}
		if only >= 0 {
			return -1, firstLineFault("several columns that may have the values: "+strings.Join(c.titles, ", "), "FILE:COLUMN, which names one")
		}
		only = i
	}
	if only < 0 {
		return -1, firstLineFault("no column of values", "one beside the ids")
	}
	return only, nil
}

// tableValues reads the values of a column of a table.
type tableValues struct {
	csv  *csvGrammar
	line int  // lines read
	ends int  // ids of a line
	skip bool // records at fault are left out
	each eachLine
}

// piece reads the values of a piece.
func (t *tableValues) piece(ctx context.Context, p *piece) error {
	data := p.data
	if p.at == 0 {
		data = bytes.TrimPrefix(data, utf8BOM)
	}
	for len(data) > 0 && ctx.Err() == nil {
		end := t.csv.recordEnd(data, 0)
		if end < 0 { // quotes that do not end, as the cutter says
			end = len(data) - 1
		}
		record := bytes.TrimSuffix(data[:end], []byte{'\r'})
		first := t.line + 1
		t.line += bytes.Count(data[:end+1], newline)
		data = data[end+1:]
		if len(record) == 0 {
			continue
		}
		if bad := t.record(record, first); bad != nil {
			return bad
		}
	}
	return nil
}

// record reads the values of a record that begins in a line.
func (t *tableValues) record(record []byte, line int) error {
	c := t.csv
	var fields [3][]byte
	var starts [3]int
	n := 0
	bad := checkLine(record)
	if bad == nil && !utf8.Valid(record) {
		bad = &fault{column: validBytes(record) + 1, found: "bytes that are not UTF-8: " + quote(record), expected: "text in UTF-8"}
	}
	for cut := (cutter{record: record, delimiter: c.delimiter}); bad == nil && cut.more(); n++ {
		var field []byte
		for i, at := range c.at {
			if at == n {
				starts[i] = cut.at
			}
		}
		if field, bad = cut.field(); bad == nil {
			c.keep(n, field, &fields)
		}
	}
	if bad == nil && n != c.columns {
		bad = &fault{
			column: c.begins(record, min(n, c.columns)) + 1,
			found:  counted(n, "column", "columns") + ": " + quote(record), expected: fmt.Sprintf("%d as in the first line", c.columns),
		}
	}
	v := &Value{}
	_, v.IDAt = c.placeOf(starts[0], record, line)
	v.Line, v.At = c.placeOf(starts[2], record, line)
	for i := range t.ends {
		if bad == nil && len(fields[i]) == 0 {
			bad = &fault{column: c.begins(record, c.at[i]) + 1, found: "nothing in " + c.title(i), expected: "a vertex"}
		}
		id, wrong := wholeNumber(fields[i])
		if wrong != nil {
			id = NoNumber
		}
		if v.Names[i] = fields[i]; i == 0 {
			v.ID = id
		} else {
			v.To = id
		}
	}
	if bad != nil && t.skip {
		return nil
	}
	if bad != nil {
		c.place(bad, record, line)
		return bad
	}
	if v.Text = fields[2]; len(v.Text) > 0 && (v.Text[0] == '"' || bytes.ContainsAny(v.Text, "\r\n")) {
		v.Text = strconv.AppendQuote(nil, string(v.Text)) // as texts are in files of values
	}
	if found, expected := t.each(v); found != "" {
		return v.fault(found, expected)
	}
	return nil
}
