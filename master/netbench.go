package master

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	layout "github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/jobspec"
)

// What a netbench may ask of a worker.
const (
	maxSizes       = 64
	maxRepetitions = 1_000_000
)

func init() {
	register(kind{
		asked: func(spec *control.JobSpec) bool { return spec.GetNetbench() != nil },
		check: checkNetbench, shape: layout.Of, coordinate: coordinateNetbench,
	})
}

func checkNetbench(_ engine.Registry, spec *control.JobSpec, _ layout.Grid) error {
	if spec.Program != control.NetbenchProgram || spec.Graph != "" || spec.Source != nil || spec.Rows|spec.Columns != 0 {
		return fmt.Errorf("a job of netbench has the program %s, neither graph nor source, and no grid", control.NetbenchProgram)
	}
	spec.KeepResult, spec.Unsorted = true, true // the report, from one worker
	if n := len(spec.Netbench.Sizes); n > maxSizes {
		return fmt.Errorf("found %d sizes, expected at most %d", n, maxSizes)
	}
	if n := spec.Netbench.Repetitions; n > maxRepetitions {
		return fmt.Errorf("repetitions: found %d, expected at most %d", n, maxRepetitions)
	}
	return jobspec.Netbench(spec.Netbench).Validate()
}

// coordinateNetbench has the workers measure the network between them, all together. The report of the first is the result.
func coordinateNetbench(ctx context.Context, r *run) error {
	if len(r.team) < 2 {
		return errors.New("one worker has nobody to measure with: start another with superstep worker --master ADDR")
	}
	err := r.server.meet(ctx, r.id, r.epoch, r.team, "meeting", &control.Meet{Graph: r.job.graph(), Placements: r.job.placements})
	if err != nil {
		return err
	}
	r.advance(control.JobState_JOB_STATE_RUNNING)
	began := time.Now()
	defer func() { r.set(func(a *control.Job) { a.RunSeconds = time.Since(began).Seconds() }) }()
	return r.keep(ctx, "netbench", &control.Command{Body: &control.Command_Measure{Measure: &control.Measure{
		Meeting: r.job.graph(), Spec: r.spec.Netbench, Placements: r.job.placements,
	}}})
}
