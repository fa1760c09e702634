package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/fill"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/kernel"
)

// columnFile is the value of --column: a column of the program, the file with its initial values,
// and the column of the file.
type columnFile struct {
	name, path string
	at         graphio.Column
}

// splitColumns parses the flags --column NAME=FILE[:N], where N may be a name.
func splitColumns(flags []string) ([]columnFile, error) {
	var all []columnFile
	seen := map[string]bool{}
	for _, f := range flags {
		name, path, ok := strings.Cut(f, "=")
		c := columnFile{name: name}
		var err error
		if c.path, c.at, err = graphio.SplitColumn(path); err != nil {
			return nil, usagef("--column %s: %w", name, err)
		}
		switch {
		case !ok || name == "" || c.path == "":
			return nil, usagef("--column %s: expected NAME=FILE[:N] or NAME=FILE:COLUMN", f)
		case c.path == "-":
			return nil, usagef("--column %s: expected a file; %s=/dev/stdin reads standard input",
				f, name)
		case seen[name]:
			return nil, usagef("--column %s: the column is given twice", f)
		}
		seen[name] = true
		all = append(all, c)
	}
	return all, nil
}

// checkColumns rejects unknown columns and missing files before the graph is loaded.
func checkColumns(program *engine.Program, files []columnFile) error {
	for _, c := range files {
		if _, err := program.Column(c.name); err != nil {
			return usageError{fmt.Errorf("--column: %w", err)}
		}
		if err := graphio.Present(c.path, graphio.SNAP); err != nil {
			return fmt.Errorf("--column %s: %w", c.name, err)
		}
	}
	return nil
}

// sendColumns sends the files with initial values of columns to a cluster. If this binary lacks the
// program, only the cluster checks the columns.
func (c *remote) sendColumns(ctx context.Context, spec *job.Spec) error {
	files := c.flags.columns
	if len(files) == 0 {
		return nil
	}
	var program *engine.Program
	if entry, err := c.app.programs.Find(spec.Program); err == nil {
		if program, err = entry.New(resolve.BeforeLoading(entry.Parameters, spec.Parameters,
			spec.Source), nil); err != nil {
			return err
		}
		if err := checkColumns(program, files); err != nil {
			return err
		}
	}
	named, loose := spec.Source != nil && resolve.MayBeNamed(spec.Source), true
	if spec.Graph != "" {
		g, err := c.client.Graph(ctx, spec.Graph)
		if err != nil {
			return err
		}
		named, loose = g.Named, false
	}
	spec.ColumnData = map[string]*job.ColumnData{}
	for _, f := range files {
		var column *kernel.Property
		if program != nil {
			known, err := program.Column(f.name)
			if err != nil {
				return err
			}
			column = &known
		}
		values := 0
		c.seen.stage("sending column "+f.name, 0, 0)
		f.at.Named, f.at.Loose = named && (column == nil || !column.OfEdges), loose
		data := &job.ColumnData{File: f.path, Named: f.at.Named}
		err := c.client.SendColumn(ctx, data, func(w io.Writer) (err error) {
			values, err = fill.CopyLines(ctx, w, column, f.path, f.at)
			return err
		})
		if err != nil {
			return fmt.Errorf("--column %s: %w", f.name, err)
		}
		warnEmpty(c.seen.warn, f, column != nil && column.OfEdges, values)
		spec.ColumnData[f.name] = data
	}
	return nil
}

// warnEmpty warns if a file has no values.
func warnEmpty(warn func(line string), f columnFile, ofEdges bool, values int) {
	if values == 0 && !ofEdges {
		warn(fmt.Sprintf("--column %s: %s has no values: every vertex begins with zero", f.name,
			f.path))
	}
}

// fillColumns sets the initial values of columns from files.
func fillColumns(
	ctx context.Context, job *engine.Job, g *graph.Graph, files []columnFile, warn func(string),
) error {
	for _, c := range files {
		p, err := job.Prefill(c.name)
		if err != nil {
			return err
		}
		values, err := fill.File(ctx, p, g, c.path, c.at)
		if err != nil {
			return fmt.Errorf("--column %s: %w", c.name, err)
		}
		warnEmpty(warn, c, p.OfEdges, values)
	}
	return nil
}
