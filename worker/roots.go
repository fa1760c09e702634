package worker

import (
	"context"

	"github.com/superstep-go/superstep/internal/generate"
	files "github.com/superstep-go/superstep/internal/store"
)

// confine returns a context in which files that jobs name are below the worker's roots.
func (o *Config) confine(ctx context.Context) context.Context { return files.Confine(ctx, o.roots) }

// allowed refuses a file outside of the roots, before anything is looked at. What is in S3 is where the worker's environment says.
func allowed(ctx context.Context, name string) error {
	if generate.IsGenerator(name) || files.IsS3(name) {
		return nil
	}
	return files.RootsOf(ctx).Check(name)
}
