package master

import (
	"context"
	"errors"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	layout "github.com/superstep-go/superstep/internal/graph"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
)

func init() {
	register(kind{
		alone: true,
		asked: func(spec *jobspec.Spec) bool { return spec.Netbench != nil },
		check: resolve.CheckNetbench, shape: layout.Of, coordinate: coordinateNetbench,
	})
}

// coordinateNetbench has the workers measure the network between them, all together. The report of the first is the result.
func coordinateNetbench(ctx context.Context, r *run) error {
	if len(r.team) < 2 {
		return errors.New("one worker has nobody to measure with: start another with superstep worker --master ADDR")
	}
	began := time.Now()
	defer func() { r.set(func(a *control.Job) { a.RunSeconds = time.Since(began).Seconds() }) }()
	meet := &control.Meet{Graph: r.job.graph(), Placements: r.job.placements}
	return r.server.together(ctx, r.id, r.epoch, r.team, "meeting", meet, func() error {
		r.advance(control.JobState_JOB_STATE_RUNNING)
		return r.storeResult(ctx, "netbench", &control.Command{Body: &control.Command_Measure{Measure: &control.Measure{
			Meeting: r.job.graph(), SpecJson: jobspec.Text(r.spec.Netbench), Placements: r.job.placements,
		}}})
	})
}
