package cli

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
)

// columnFile is what --column says: the file whose values a vertex column of the program begins with, and which column of it these
// are; 0 is all that follows the id.
type columnFile struct {
	name, path string
	at         int
}

// splitColumns reads --column NAME=FILE[:N] flags.
func splitColumns(flags []string) ([]columnFile, error) {
	var all []columnFile
	seen := map[string]bool{}
	for _, f := range flags {
		name, path, ok := strings.Cut(f, "=")
		c := columnFile{name: name, path: path}
		if i := strings.LastIndexByte(path, ':'); i >= 0 && strings.Trim(path[i+1:], "0123456789") == "" && i+1 < len(path) {
			var err error
			if c.at, err = strconv.Atoi(path[i+1:]); err != nil || c.at < 2 {
				return nil, usagef("--column %s: found column %.80s of the file, expected 2 or more: the id is column 1", f, path[i+1:])
			}
			c.path = path[:i]
		}
		switch {
		case !ok || name == "" || c.path == "":
			return nil, usagef("--column %s: expected NAME=FILE, or NAME=FILE:N for column N of it", f)
		case c.path == "-":
			return nil, usagef("--column %s: it reads files; for standard input use %s=/dev/stdin", f, name)
		case seen[name]:
			return nil, usagef("--column %s: the column is given twice", f)
		}
		seen[name] = true
		all = append(all, c)
	}
	return all, nil
}

// checkColumns refuses columns that a program does not have, and files that are not there, before the graph is loaded.
func checkColumns(program engine.Program, files []columnFile) error {
	for _, c := range files {
		if _, err := program.Column(c.name); err != nil {
			return usageError{fmt.Errorf("--column: %w", err)}
		}
		if _, err := os.Stat(c.path); err != nil {
			return fmt.Errorf("--column %s: %w", c.name, err)
		}
	}
	return nil
}

// fillColumns reads what the columns of a job begin with.
func fillColumns(ctx context.Context, job engine.Bound, g *graph.Graph, files []columnFile) error {
	for _, c := range files {
		p, err := job.Prefill(c.name)
		if err != nil {
			return err
		}
		if err := p.ReadFile(ctx, g, c.path, c.at); err != nil {
			return fmt.Errorf("--column %s: %w", c.name, err)
		}
	}
	return nil
}
