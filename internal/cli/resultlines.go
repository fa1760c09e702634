package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/resultlines"
)

// filler writes the lines of a result.
type filler = func(ctx context.Context, w io.Writer) error

// columnsOf splits a value into its fields.
func columnsOf(form resultlines.Form, value []byte) ([]string, error) {
	values, ok := form.Columns(value)
	if !ok {
		return nil, usagef("--output-format: found the value %.80q, expected %s", value,
			graphio.Counted(len(form.Fields), "field"))
	}
	return values, nil
}

// resultFormat is the flag --output-format.
type resultFormat struct {
	Format string `flag:"output-format" group:"output,more" words:"auto,text,csv,jsonl,parquet" help:"the format of --output: text, csv, jsonl or parquet; auto: by the end of the file's name, else text"`
}

// of returns the format of a file. auto derives it from the file's name.
func (f *resultFormat) of(path string) string {
	return cmp.Or(f.Format, formatsByEnding[filepath.Ext(withoutCompression(path))], "text")
}

var formatsByEnding = map[string]string{
	".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".pq": "parquet",
}

// withoutCompression cuts the ending of a compression off a name. It returns it in lower case.
func withoutCompression(path string) string {
	return strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(path), ".gz"), ".zst")
}

// foreignEndings are endings of file names that are not written: tables of other programs, graphs
// and archives.
var foreignEndings = []string{
	".xlsx", ".xls", ".ods", ".json", ".xml", ".html", ".arrow", ".feather", ".orc", ".avro", ".h5",
	".hdf5", ".npy", ".npz", ".pkl", ".pickle", ".db", ".sqlite", ".duckdb",
	".graphml", ".gexf", ".gml", ".mtx", ".sg", ".wsg", ".zip", ".7z", ".rar", ".tar", ".lz4",
}

// check rejects file names that contradict the format.
func (f *resultFormat) check(path string) error {
	base := withoutCompression(path)
	if path != "-" && len(base) < len(path) && f.of(path) == "parquet" {
		return usagef("--output %s: Parquet is compressed already: expected a name without %s",
			path, path[len(base):])
	}
	end := filepath.Ext(base)
	if f.Format == "" && slices.Contains(foreignEndings, end) {
		return usagef("--output %s: %s: expected .txt, .csv, .jsonl or .parquet, or --output-format", path, end)
	}
	return nil
}

// save converts what fill writes to the format of a file.
func (f *resultFormat) save(path string, form resultlines.Form, fill filler) filler {
	format := f.of(path)
	switch format {
	case "text":
		return fill
	case "parquet":
		return saveParquet(form, fill)
	}
	return func(ctx context.Context, w io.Writer) error {
		out := &table{form: form}
		buffer := bufio.NewWriterSize(w, 1<<16)
		if format == "csv" {
			out.row = func(vertex string, values []string) error {
				b := graphio.AppendCSV(out.buffer[:0], []byte(vertex), ",")
				for _, value := range values {
					b = graphio.AppendCSV(append(b, ','), []byte(value), ",")
				}
				out.buffer = append(b, '\n')
				_, err := buffer.Write(out.buffer)
				return err
			}
			if err := out.row("vertex", form.Names()); err != nil {
				return err
			}
		} else {
			out.row = func(vertex string, values []string) error {
				_, err := buffer.Write(out.object(vertex, values))
				return err
			}
		}
		if err := fill(ctx, out); err != nil {
			return err
		}
		return buffer.Flush()
	}
}

// table parses the lines of a result, and writes a row for each.
type table struct {
	form   resultlines.Form
	lines  resultlines.Cutter
	buffer []byte
	row    func(vertex string, values []string) error
}

// Write accepts lines, or parts of them.
func (t *table) Write(data []byte) (int, error) {
	return t.lines.Each(data, func(line []byte) error {
		vertex, value := t.form.Cut(line)
		values, err := columnsOf(t.form, value)
		if err != nil {
			return err
		}
		return t.row(resultlines.Unquoted(string(vertex)), values)
	})
}

// object formats a line of JSON. Infinity and NaN become null, because JSON cannot represent them.
func (t *table) object(vertex string, values []string) []byte {
	b := append(t.buffer[:0], `{"vertex":`...)
	b = appendJSON(b, vertex, t.form.Named)
	for i, f := range t.form.Fields {
		b = appendJSON(append(b, ','), f.Name, true)
		b = append(b, ':')
		switch {
		case f.Kind == reflect.Array && json.Valid([]byte(values[i])):
			b = append(b, values[i]...)
		case f.Kind == reflect.Slice:
			b = t.list(b, values[i], f.Vertices && t.form.Named)
		default:
			b = appendJSON(b, values[i], f.Vertex && t.form.Named)
		}
	}
	t.buffer = append(b, '}', '\n')
	return t.buffer
}

// list appends an array of the numbers, booleans or names in a list.
func (t *table) list(dst []byte, text string, names bool) []byte {
	dst = append(dst, '[')
	for i, part := range t.form.Split([]byte(text)) {
		if text == "" { // an empty list
			break
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendJSON(dst, resultlines.Unquoted(part), names)
	}
	return append(dst, ']')
}

// appendJSON appends text as a number or boolean if it is one and not a name, and otherwise as a
// string.
func appendJSON(dst []byte, text string, name bool) []byte {
	if !name {
		switch text {
		case "true", "false":
			return append(dst, text...)
		case "infinity", "-infinity", "nan":
			return append(dst, "null"...)
		}
		if text != "" && (text[0] == '-' || text[0] >= '0' && text[0] <= '9') &&
			json.Valid([]byte(text)) {
			return append(dst, text...)
		}
	}
	return graphio.AppendJSON(dst, []byte(text))
}
