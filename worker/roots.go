package worker

import (
	"context"
	"strings"

	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graphio"
	files "github.com/superstep-go/superstep/internal/store"
)

// confine returns a context in which files that jobs name are below the worker's roots.
func (o *Config) confine(ctx context.Context) context.Context { return files.Confine(ctx, o.roots) }

// allowed returns the full names of the files that a job names, and refuses those outside of the
// roots before anything is looked at.
func allowed(ctx context.Context, name string) (string, error) {
	if name == "" || generate.IsGenerator(name) {
		return name, nil
	}
	roots := files.RootsOf(ctx)
	parts := graphio.Split(ctx, name)
	for i, part := range parts {
		if err := roots.Check(part); err != nil {
			return "", err
		}
		if part == "" || files.IsS3(part) {
			continue
		}
		full, err := roots.Path(part)
		if err != nil {
			return "", err
		}
		parts[i] = full
	}
	return strings.Join(parts, ","), nil
}
