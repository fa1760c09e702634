package graphio

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/superstep-go/superstep/internal/edges"
)

// warnTable warns about information that a table of edges cannot hold.
func (w *writer) warnTable() error {
	vertices, _, err := w.extent()
	if err != nil {
		return err
	}
	isolated, err := w.isolated(vertices)
	if err != nil {
		return err
	}
	if isolated > 0 {
		w.warn("%s not written: format %s has only edges",
			Counted(isolated, "isolated vertex is", "isolated vertices are"), w.format)
	}
	if !w.in.Directed {
		w.warn(
			"format %s does not say that the graph is undirected: say so when reading it", w.format)
	}
	return nil
}

// table writes lines of CSV, TSV or JSON: source, target and, if the graph has weights, weight.
func (w *writer) table() error {
	if err := w.warnTable(); err != nil {
		return err
	}
	l, header := w.layout(","), ""
	switch w.format {
	case TSV:
		l = w.layout("\t")
	case JSONLines:
		l.before, l.end = [3]string{`{"source":`, `,"target":`, `,"weight":`}, "}\n"
	}
	if w.format != JSONLines {
		header = "source" + l.before[1] + "target"
		if l.weighted {
			header += l.before[2] + "weight"
		}
		header += l.end
	}
	if w.in.Names != nil {
		l.name = func(dst []byte, v uint64) ([]byte, error) {
			var room [64]byte
			name := w.in.Names.Append(room[:0], w.in.Labels.Of(v))
			switch {
			case w.format == JSONLines:
				return AppendJSON(dst, name), nil
			case bytes.Contains(name, []byte("\r\n")) || bytes.IndexByte(name, 0) >= 0:
				return nil, fmt.Errorf("format %s cannot hold the name %s: \\r\\n is read as \\n, and a NUL byte refused; jsonl and parquet can", w.format, quote(name))
			}
			return AppendCSV(dst, name, l.before[1]), nil
		}
	}
	return w.lines(w.path, header, l)
}

// AppendCSV appends a field. It quotes the field if necessary, also if it begins or ends with
// blanks, which readers remove.
func AppendCSV(dst, text []byte, delimiter string) []byte {
	blank := len(text) > 0 &&
		(text[0] == ' ' || text[0] == '\t' || text[len(text)-1] == ' ' || text[len(text)-1] == '\t')
	if !blank && !bytes.ContainsAny(text, "\"\r\n"+delimiter) {
		return append(dst, text...)
	}
	dst = append(dst, '"')
	dst = append(dst, strings.ReplaceAll(string(text), `"`, `""`)...)
	return append(dst, '"')
}

// AppendJSON appends a string in JSON.
func AppendJSON(dst, text []byte) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(string(text)) // encoding a string cannot fail
	return append(dst, bytes.TrimSuffix(b.Bytes(), newline)...)
}

// dimacs writes a DIMACS graph: for coloring if the file's suffix is .col, or if the graph is
// undirected and has no weights; otherwise for shortest paths.
func (w *writer) dimacs() error {
	vertices, err := w.fromOne()
	if err != nil {
		return err
	}
	directed, weighted := w.in.Directed, w.in.Edges.Weighted()
	coloring := strings.HasSuffix(strings.ToLower(w.base), ".col") || !directed && !weighted
	switch {
	case coloring && directed:
		return fmt.Errorf(
			"format dimacs for coloring (.col) holds undirected graphs, the graph is directed")
	case !coloring && !weighted:
		return fmt.Errorf(
			"format dimacs for shortest paths (.gr) needs weights, the graph has none")
	case coloring && weighted:
		w.warn("the weights are not written: graphs of DIMACS for coloring have none")
	case !coloring && !directed:
		w.warn("each edge is written as two arcs, one each way: graphs of DIMACS for shortest paths are directed")
	}
	n, header, letter := w.in.Edges.Len(), "p sp", "a "
	if coloring {
		header, letter = "p edge", "e "
	} else if !directed {
		n *= 2
	}
	l := w.layout(" ")
	l.before[0], l.weighted, l.labels = letter, !coloring, edges.Consecutive(1)
	l.both = !coloring && !directed
	return w.lines(w.path, fmt.Sprintf("%s %d %d\n", header, vertices, n), l)
}

// fromOne returns the number of vertices. It refuses ids other than 1 to n, and 0 to n-1, which are
// written one higher.
func (w *writer) fromOne() (vertices int, err error) {
	if vertices, _, err = w.extent(); err != nil {
		return 0, err
	}
	first, ok := consecutiveLabels(w.in.Labels, vertices)
	if !ok || first > 1 {
		return 0, fmt.Errorf(
			"format %s needs vertices 1 to n, or 0 to n-1 to be written one higher", w.format)
	}
	if first == 0 && vertices > 0 {
		w.warn("ids are written one higher: format %s counts from 1", w.format)
	}
	return vertices, nil
}
