package graphio

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
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
		ids := Counted(len(of.IDs), "column of ids", "columns of ids")
		return f.fault(ids+": "+strings.Join(of.IDs, ","),
			fmt.Sprintf("%d: %s", of.ids(), of.idColumns()))
	}
	if _, err := strconv.Atoi(of.Name); err != nil && of.Name != "" {
		yes := true // the column is given by name
		o.Header = &yes
	}
	if of.Named {
		if err := o.namedRows(f, of.Number); err != nil {
			return err
		}
	}
	c, err := o.understand(f, format)
	if err != nil {
		return err
	}
	name := of.Name
	if name == "" && of.Number > 0 {
		name = strconv.Itoa(of.Number)
	}
	if c.at[2], err = c.valueColumn(name); err != nil {
		return err
	}
	return f.eachRecord(ctx, c, c.from, func(data []byte, _ int64, line int) ([]byte, error) {
		record, rest, _ := c.cutRecord(data)
		if len(record) == 0 {
			return rest, nil
		}
		return rest, c.value(of, record, line, each)
	})
}

// namedRows determines whether CSV rows that begin with names have a line of titles, as results of
// a run do.
func (o *Columns) namedRows(f *file, column int) error {
	c := csvGrammar{delimiter: ','}
	rows, _, err := c.rows(f)
	if err != nil || len(rows) == 0 {
		return err
	}
	first := rows[0]
	titled := first[0] == "vertex"
	if !titled && len(first) > 1 && usual(first[:1], vertexNames) == 0 {
		return firstLineFault("a first line that may have the names of columns: "+
			quote([]byte(strings.Join(first, ","))),
			fmt.Sprintf("%s:%.100s, which names the column", f.path,
				first[min(max(column, 2), len(first))-1]))
	}
	o.Header, o.Delimiter = &titled, ","
	return nil
}

// valueColumn returns the index of the column of values: the named one, or the only column without
// ids.
func (c *csvGrammar) valueColumn(name string) (int, error) {
	if name != "" {
		return c.column(name)
	}
	only := -1
	for i := range c.columns {
		if i == c.at[0] || i == c.at[1] {
			continue
		}
		if only >= 0 {
			return -1, firstLineFault("several columns that may have the values: "+
				strings.Join(c.titles, ", "), "FILE:COLUMN, which names one")
		}
		only = i
	}
	if only < 0 {
		return -1, firstLineFault("no column of values", "one beside the ids")
	}
	return only, nil
}

// value reads the value of a record that begins in this line. If ids are names, the value is
// unchanged text.
func (c *csvGrammar) value(of *Column, record []byte, line int, each eachLine) error {
	var cut cutter
	var fields [3][]byte
	bad := c.fields(&cut, record, false, &fields)
	v := &Value{}
	for i, id := range []*uint64{&v.ID, &v.To}[:of.ids()] {
		if bad == nil && len(fields[i]) == 0 {
			bad = wrong("nothing in "+c.title(i), "a vertex").inColumn(cut.starts[c.at[i]] + 1)
		}
		var wrong *fault
		if *id, wrong = wholeNumber(fields[i]); wrong != nil || of.Named {
			*id = NoNumber
		}
		v.Names[i] = fields[i]
	}
	if bad != nil {
		place(bad, record, line)
		return bad
	}
	_, v.IDAt = placeOf(cut.starts[c.at[0]], record, line)
	v.Line, v.At = placeOf(cut.starts[c.at[2]], record, line)
	if v.Text = fields[2]; !of.Named && len(v.Text) > 0 &&
		(v.Text[0] == '"' || bytes.ContainsAny(v.Text, "\r\n")) {
		v.Text = strconv.AppendQuote(nil, string(v.Text)) // quoted like texts in files of values
	}
	if found, expected := each(v); found != "" {
		return v.fault(found, expected)
	}
	return nil
}
