package master

import (
	"context"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	layout "github.com/superstep-go/superstep/internal/graph"
)

// kind is a kind of job. What the master knows of one kind alone is in the file that registers it.
type kind struct {
	// asked reports whether a job is of this kind.
	asked func(spec *control.JobSpec) bool
	// check refuses a job that cannot be run, before it is queued, and completes its spec. grid is the job's or that of its graph
	// of the catalog, if either is known.
	check func(programs engine.Registry, spec *control.JobSpec, grid layout.Grid) error
	// shape makes the grid of a job that asks for none, of so many partitions.
	shape func(partitions int) layout.Grid
	// coordinate runs an attempt at a job on its workers.
	coordinate func(ctx context.Context, r *run) error
}

// kinds are those registered. A job of none of them is a vertex program.
var kinds []*kind

// register adds a kind of job; init functions call it.
func register(k kind) { kinds = append(kinds, &k) }

func kindOf(spec *control.JobSpec) *kind {
	for _, k := range kinds {
		if k.asked(spec) {
			return k
		}
	}
	return &programKind
}
