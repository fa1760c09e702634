package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/pregel"
)

// filler writes the lines of a result.
type filler = func(ctx context.Context, w io.Writer) error

// lineForm is how the lines of a result read: "id value", or "name<TAB>value" with tabs between the fields of a value.
type lineForm struct {
	named  bool
	fields []engine.Field
}

// formOf is the form of the results of a job on a cluster, whose program this one may not have.
func (a *app) formOf(program string, parameters map[string]string) lineForm {
	f := lineForm{fields: []engine.Field{{Name: "value"}}}
	e, err := a.programs.Find(program)
	if err != nil {
		return f
	}
	if p, err := e.New(parameters, func(uint64) (pregel.VertexID, bool) { return 0, true }); err == nil {
		f.fields = p.Fields()
	}
	return f
}

// cut divides a line in a vertex and its value.
func (f lineForm) cut(line []byte) (vertex, value []byte) {
	by := []byte{' '}
	if f.named {
		by[0] = '\t'
	}
	vertex, value, _ = bytes.Cut(bytes.TrimSuffix(line, []byte{'\n'}), by)
	return vertex, value
}

// split divides a value in what is written for its parts.
func (f lineForm) split(value []byte) []string {
	if f.named {
		return strings.Split(string(value), "\t")
	}
	return strings.Fields(string(value))
}

// columns divides a value in its fields, each as it is without the quotes that a line of text needs.
func (f lineForm) columns(value []byte) ([]string, error) {
	parts := []string{string(value)}
	if len(f.fields) > 1 {
		parts = f.split(value)
	}
	if len(parts) != len(f.fields) {
		return nil, usagef("--output-format: found the value %.80q, expected %s", value, things(len(f.fields), "field", "fields"))
	}
	for i, p := range parts {
		parts[i] = unquoted(p)
	}
	return parts, nil
}

// unquoted is a text without the quotes that lines have around what would not be read as one field.
func unquoted(text string) string {
	if strings.HasPrefix(text, `"`) {
		if plain, err := strconv.Unquote(text); err == nil {
			return plain
		}
	}
	return text
}

// resultFormat is --output-format: what --output is written as.
type resultFormat struct{ *oneOf }

func (f *resultFormat) define(cmd *cobra.Command) {
	f.oneOf = wordFlag(cmd, "output-format", "what --output is written as: text, csv or jsonl; auto: csv or jsonl if FILE ends so, else text", "auto", "text", "csv", "jsonl")
}

// of is the format of a file, which auto takes from how its name ends.
func (f *resultFormat) of(path string) string {
	if f.value != "auto" {
		return f.value
	}
	path = strings.ToLower(path)
	path = strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".zst")
	switch {
	case strings.HasSuffix(path, ".csv"):
		return "csv"
	case strings.HasSuffix(path, ".jsonl"), strings.HasSuffix(path, ".ndjson"):
		return "jsonl"
	default:
		return "text"
	}
}

// save writes what fill writes in the format of a file.
func (f *resultFormat) save(path string, form lineForm, fill filler) filler {
	format := f.of(path)
	if format == "text" {
		return fill
	}
	return func(ctx context.Context, w io.Writer) error {
		out := &table{form: form}
		buffer := bufio.NewWriterSize(w, 1<<16)
		if format == "csv" {
			rows := csv.NewWriter(buffer)
			header := []string{"vertex"}
			for _, f := range form.fields {
				header = append(header, f.Name)
			}
			if err := rows.Write(header); err != nil {
				return err
			}
			out.row = func(vertex string, values []string) error {
				return rows.Write(append(append(header[:0], vertex), values...))
			}
			out.end = rows.Flush
		} else {
			out.row = func(vertex string, values []string) error {
				_, err := buffer.Write(out.object(vertex, values))
				return err
			}
			out.end = func() {}
		}
		if err := fill(ctx, out); err != nil {
			return err
		}
		out.end()
		return buffer.Flush()
	}
}

// table takes the lines of a result, and writes a row for each.
type table struct {
	form   lineForm
	lines  lineCutter
	buffer []byte
	row    func(vertex string, values []string) error
	end    func()
}

// Write takes lines, or parts of them.
func (t *table) Write(data []byte) (int, error) {
	return t.lines.each(data, func(line []byte) error {
		vertex, value := t.form.cut(line)
		values, err := t.form.columns(value)
		if err != nil {
			return err
		}
		return t.row(unquoted(string(vertex)), values)
	})
}

// object is a line of JSON. What is infinite or no number is null, for which JSON has no other word.
func (t *table) object(vertex string, values []string) []byte {
	b := append(t.buffer[:0], `{"vertex":`...)
	b = appendJSON(b, vertex, t.form.named)
	for i, f := range t.form.fields {
		b = appendJSON(append(b, ','), f.Name, true)
		b = appendJSON(append(b, ':'), values[i], f.Vertex && t.form.named)
	}
	t.buffer = append(b, '}', '\n')
	return t.buffer
}

// appendJSON appends a text as a number or a truth value if it reads as one and is no name, else as a string.
func appendJSON(dst []byte, text string, name bool) []byte {
	if !name {
		switch text {
		case "true", "false":
			return append(dst, text...)
		case "infinity", "-infinity", "nan":
			return append(dst, "null"...)
		}
		if text != "" && (text[0] == '-' || text[0] >= '0' && text[0] <= '9') && json.Valid([]byte(text)) {
			return append(dst, text...)
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string, which is never refused
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte{'\n'})...)
}

// lineCutter puts lines together of the parts that writers are given.
type lineCutter struct{ rest []byte }

// each calls f for the lines that end in data, with their line breaks, and keeps what is left. A line is f's until it returns.
func (c *lineCutter) each(data []byte, f func(line []byte) error) (int, error) {
	n := len(data)
	for len(data) > 0 {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			c.rest = append(c.rest, data...)
			break
		}
		line := data[:end+1]
		data = data[end+1:]
		if len(c.rest) > 0 {
			c.rest = append(c.rest, line...)
			line = c.rest
		}
		if err := f(line); err != nil {
			return 0, err
		}
		c.rest = c.rest[:0]
	}
	return n, nil
}
