package cli

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/jobspec"
	"github.com/superstep-go/superstep/internal/resultlines"
)

// tableFlags say what the columns of tables are: of CSV, TSV, JSON lines and Parquet.
type tableFlags struct {
	source, target, weight, delimiter string
	vertices, vertex                  string
	header, ids                       *oneOf
}

func (f *tableFlags) define(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.source, "source-column", "", "tables: the `COLUMN` of the edges' sources, a name or a number (default: a column with a usual name, or the first)")
	cmd.Flags().StringVar(&f.target, "target-column", "", "tables: the `COLUMN` of the edges' targets (default: a column with a usual name, or the second)")
	cmd.Flags().StringVar(&f.weight, "weight-column", "", "tables and GraphML: the `COLUMN` of weights (default: a column with a usual name)")
	cmd.Flags().StringVar(&f.delimiter, "delimiter", "", "CSV: the `CHARACTER` between columns, or the word tab (default: detected)")
	cmd.Flags().StringVar(&f.vertices, "vertices", "", "tables: a `FILE` (CSV, TSV or Parquet) with a line for each vertex, including vertices without edges")
	cmd.Flags().StringVar(&f.vertex, "vertex-column", "", "the `COLUMN` of ids in the file of --vertices (default: a column with a usual name, or the first)")
	f.header = wordFlag(cmd, "header", "CSV and TSV: whether the first line has the names of the columns", "auto", "yes", "no")
	f.ids = wordFlag(cmd, "ids", "tables and GraphML: whether vertices are numbers or names", append([]string{"auto"}, graphio.IDKinds...)...)
	nothing(cmd, "source-column", "target-column", "weight-column", "delimiter", "vertex-column")
}

// words returns the flags as a command line has them.
func (f *tableFlags) words() []string {
	var all []string
	for _, flag := range [][2]string{
		{"source-column", f.source},
		{"target-column", f.target},
		{"weight-column", f.weight},
		{"delimiter", f.delimiter},
		{"header", unlessAuto(f.header)},
		{"ids", unlessAuto(f.ids)},
		{"vertices", f.vertices},
		{"vertex-column", f.vertex},
	} {
		if flag[1] != "" {
			all = append(all, "--"+flag[0]+" "+quoted(flag[1]))
		}
	}
	return all
}

// unlessAuto returns the word of a flag, or nothing for auto.
func unlessAuto(f *oneOf) string {
	if f == nil || f.value == "auto" {
		return ""
	}
	return f.value
}

func (f *tableFlags) columns() (graphio.Columns, error) {
	c := graphio.Columns{Source: f.source, Target: f.target, Weight: f.weight, Delimiter: f.delimiter, IDs: unlessAuto(f.ids), Vertices: f.vertices, Vertex: f.vertex}
	if f.vertex != "" && f.vertices == "" {
		return c, usagef("--vertex-column is of the file that --vertices names")
	}
	if word := unlessAuto(f.header); word != "" {
		yes := word == "yes"
		c.Header = &yes
	}
	if f.delimiter != "" {
		if _, err := graphio.ParseDelimiter(f.delimiter); err != nil {
			return c, usagef("--delimiter: %w", err)
		}
	}
	return c, nil
}

// vertexParameters are the parameters of the job with vertices by their input ids, where the input has names for them.
func (l *loaded) vertexParameters() (map[string]string, error) {
	if l.graph.Names == nil {
		return l.spec.Parameters, nil
	}
	values, err := jobspec.VertexParameters(l.entry.Parameters, l.spec.Parameters, l.graph.Names.Find)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.graph.Name, err)
	}
	return values, nil
}

// unnamed reads lines of a result with names: the input ids of the vertices, and the values, with
// blanks between fields.
func unnamed(lines []byte, form resultlines.Form, find func(name string) (uint64, bool)) (labels []uint64, values []string, err error) {
	for line := range bytes.Lines(lines) {
		vertex, value := form.Cut(line)
		label, ok := find(resultlines.Unquoted(string(vertex)))
		if !ok {
			return nil, nil, fmt.Errorf("found a value for %.80q, which is no vertex", vertex)
		}
		parts, err := columnsOf(form, value)
		if err != nil {
			return nil, nil, err
		}
		labels, values = append(labels, label), append(values, strings.Join(parts, " "))
	}
	return labels, values, nil
}
