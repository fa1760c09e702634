package graphio

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// NamedValue is a value that a file has of a vertex by its name.
type NamedValue struct {
	Line       int    // of the file, from 1
	Name, Text []byte // until the next one is read
}

// namedLine is a line of values of vertices by their names, for errors.
const namedLine = "name<TAB>value"

// ReadNamedColumn reads a file of values of vertices by their names, as results of graphs with names are written: lines "name<TAB>value", with tabs between
// the fields of a value, or, if the file's name ends in .csv, rows of CSV with or without the line of titles. It calls each with the values in a column of it,
// where the name is column 1; column 0 is all that follows the name. A line without a tab may be one of ids, "id value", if loose says so: where it is not known
// whether the graph has names. What each returns as found, if that is anything, is an error of the line, with what it expected.
func ReadNamedColumn(ctx context.Context, path string, of Column, loose bool, each func(v NamedValue) (found, expected string)) error {
	if of.Name != "" { // of a table
		return ReadColumn(ctx, path, false, of, func(v *Value) (found, expected string) { return each(NamedValue{v.Line, v.Names[0], v.Text}) })
	}
	column := of.Number
	if column < 0 || column == 1 {
		return LineError(path, 0, fmt.Sprintf("column %d for values", column), "2 or more: the name is column 1")
	}
	f, err := newReader(ReadOptions{}, pieceSize).open(ctx, path)
	if err != nil {
		return err
	}
	defer f.Close()
	checked := func(v NamedValue) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if found, expected := each(v); found != "" {
			return LineError(path, v.Line, found, expected)
		}
		return nil
	}
	if base, _ := splitCodec(path); strings.HasSuffix(strings.ToLower(base), ".csv") {
		err = namedRows(f.content, path, column, checked)
	} else {
		err = namedLines(&lineReader{r: f.content}, path, column, loose, checked)
	}
	if err != nil {
		return inFile(err, path)
	}
	return f.unchanged()
}

// namedRows reads rows of CSV.
func namedRows(content io.Reader, path string, column int, each func(NamedValue) error) error {
	rows := csv.NewReader(content)
	rows.FieldsPerRecord, rows.ReuseRecord = -1, true
	for first := true; ; first = false {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if wrong := new(csv.ParseError); errors.As(err, &wrong) {
			return LineError(path, wrong.Line, wrong.Err.Error(), "a row of CSV")
		}
		if err != nil {
			return err
		}
		line, _ := rows.FieldPos(0)
		name := row[0]
		if first {
			if name = strings.TrimPrefix(name, string(utf8BOM)); name == "vertex" { // as results are written
				continue
			}
			if usual([]string{name}, vertexNames) == 0 && len(row) > 1 {
				return LineError(path, line, fmt.Sprintf("a first line that may have the names of columns: %.200s", strings.Join(row, ",")),
					fmt.Sprintf("%s:%.100s, which names the column", path, row[min(max(column, 2), len(row))-1]))
			}
		}
		at := column - 1
		if column == 0 {
			if at = 1; len(row) != 2 {
				return LineError(path, line, counted(len(row), "column", "columns"), "2, a name and a value; FILE:3 names the third column")
			}
		}
		if at >= len(row) || name == "" {
			return LineError(path, line, counted(len(row), "column", "columns")+", the first with "+quote([]byte(name)), fmt.Sprintf("a name, and %d columns or more", at+1))
		}
		if err := each(NamedValue{line, []byte(name), []byte(row[at])}); err != nil {
			return err
		}
	}
}

// namedLines reads lines of text.
func namedLines(lines *lineReader, path string, column int, loose bool, each func(NamedValue) error) error {
	for {
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if line = bytes.TrimSuffix(line, []byte{'\r'}); len(line) == 0 {
			continue
		}
		name, text, ok := bytes.Cut(line, []byte{'\t'})
		fields := bytes.Split(text, []byte{'\t'})
		if all := bytes.Fields(line); !ok && loose && len(all) > 1 {
			name, fields, ok = all[0], all[1:], true
			text = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(line), name))
		}
		switch {
		case !ok || len(name) == 0:
			return LineError(path, lines.line, quote(line), namedLine)
		case name[0] == '"':
			plain, err := strconv.Unquote(string(name))
			if err != nil {
				return LineError(path, lines.line, quote(name), "a name quoted as Go does, or that begins with no quotation mark")
			}
			name = []byte(plain)
		}
		if column > 0 {
			if column-2 >= len(fields) {
				return LineError(path, lines.line, counted(len(fields)+1, "column", "columns"), fmt.Sprintf("%d or more", column))
			}
			text = fields[column-2]
		}
		if err := each(NamedValue{lines.line, name, text}); err != nil {
			return err
		}
	}
}
