package master

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/control"
	layout "github.com/superstep-go/superstep/internal/graph"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
)

func init() {
	register(kind{
		alone: true, again: true,
		asked: func(spec *jobspec.Spec) bool { return spec.Graph500 != nil },
		check: resolve.CheckGraph500, shape: layout.Squarest, coordinate: coordinateGraph500,
	})
}

// coordinateGraph500 has the workers run the benchmark, as the ranks of a group. What attempts before have found they
// need not search again.
func coordinateGraph500(ctx context.Context, r *run) error {
	if r.job.searched != nil {
		was, why := proto.CloneOf(r.job.searched), "the master was started anew"
		if n := len(r.job.losses); n > 0 {
			why = r.job.losses[n-1]
		}
		was.Restarts = append(slices.Clone(was.Restarts), fmt.Sprintf(
			"%s; the graph was made again after %d BFS and %d SSSP searches", why, len(was.Bfs.GetTime()), len(was.Sssp.GetTime())))
		was.Violation = nil
		r.set(func(a *control.Job) { a.Graph500 = was })
	}
	r.server.append(r.id, &control.JobEvent{Body: &control.JobEvent_Stage{
		Stage: &control.BenchmarkStage{Stage: "generating", Total: 1},
	}})
	return r.together(ctx, &control.Run{Searched: r.figures().Graph500})
}
