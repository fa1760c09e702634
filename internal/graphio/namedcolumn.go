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

// namedLine is a line of values of vertices by their names, for errors.
const namedLine = "name<TAB>value"

// named returns a value of a vertex by its name.
func named(line int, name, text []byte) *Value {
	return &Value{Line: line, ID: NoNumber, Names: [2][]byte{name}, Text: text}
}

// lineFault is a fault of a line whose file is not named yet.
func lineFault(line int, found, expected string) *fault {
	return &fault{line: line, found: found, expected: expected}
}

// namedRows reads rows of CSV.
func namedRows(ctx context.Context, f *file, column int, each eachLine) error {
	rows := csv.NewReader(f.content)
	rows.FieldsPerRecord, rows.ReuseRecord = -1, true
	for first := true; ctx.Err() == nil; first = false {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if wrong := new(csv.ParseError); errors.As(err, &wrong) {
			return lineFault(wrong.Line, wrong.Err.Error(), "a row of CSV")
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
				found := "a first line that may have the names of columns"
				title := row[min(max(column, 2), len(row))-1]
				return lineFault(line, fmt.Sprintf("%s: %.200s", found, strings.Join(row, ",")),
					fmt.Sprintf("%s:%.100s, which names the column", f.path, title))
			}
		}
		at, columns := column-1, counted(len(row), "column", "columns")
		if column == 0 {
			if at = 1; len(row) != 2 {
				return lineFault(line, columns, "2, a name and a value; FILE:3 names the third column")
			}
		}
		if at >= len(row) || name == "" {
			return lineFault(line, columns+", the first with "+quote([]byte(name)),
				fmt.Sprintf("a name, and %d columns or more", at+1))
		}
		v := named(line, []byte(name), []byte(row[at]))
		if found, expected := each(v); found != "" {
			return v.fault(found, expected)
		}
	}
	return nil
}

// namedLines reads lines of text.
func namedLines(ctx context.Context, lines *lineReader, of *Column, each eachLine) error {
	for ctx.Err() == nil {
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
		if all := bytes.Fields(line); !ok && of.Loose && len(all) > 1 {
			name, fields, ok = all[0], all[1:], true
			text = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(line), name))
		}
		switch {
		case !ok || len(name) == 0:
			return lineFault(lines.line, quote(line), namedLine)
		case name[0] == '"':
			plain, err := strconv.Unquote(string(name))
			if err != nil {
				return lineFault(lines.line, quote(name),
					"a name quoted as Go does, or that begins with no quotation mark")
			}
			name = []byte(plain)
		}
		if column := of.Number; column > 0 {
			if column-2 >= len(fields) {
				return lineFault(lines.line, counted(len(fields)+1, "column", "columns"),
					fmt.Sprintf("%d or more", column))
			}
			text = fields[column-2]
		}
		v := named(lines.line, name, text)
		if found, expected := each(v); found != "" {
			return v.fault(found, expected)
		}
	}
	return nil
}
