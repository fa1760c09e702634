package master

import (
	"context"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	layout "github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/job/resolve"
)

// programKind is the jobs of vertex programs.
var programKind kind

func init() {
	programKind = kind{again: true, check: resolve.CheckProgram, shape: layout.Of}
}

// work has the workers do the job, and collects its result. What an earlier master has begun it
// takes up where the workers are.
func (r *run) work(ctx context.Context) (err error) {
	if r.job.takenUp {
		err = r.takeUp(ctx)
	} else {
		c := &control.Run{}
		if r.spec.Graph500 != nil {
			r.searched(c)
		}
		if err = r.keeping(ctx, c); err == nil {
			err = r.together(ctx, c)
		}
	}
	if err != nil || !r.spec.KeepResult && r.spec.Netbench == nil {
		return err
	}
	r.advance(control.JobState_JOB_STATE_WRITING)
	began := time.Now()
	defer func() { r.set(func(a *control.Job) { a.WriteSeconds = time.Since(began).Seconds() }) }()
	return r.storeResult(ctx, &control.Values{
		Sorted: !r.spec.Unsorted, Raw: r.spec.Values != "", Report: r.spec.Netbench != nil,
	})
}
