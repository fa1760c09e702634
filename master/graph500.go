package master

import (
	"fmt"

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
		check: resolve.CheckGraph500, shape: layout.Squarest,
	})
}

// searched says what attempts before this one have of the benchmark, which its workers need not
// search again.
func (r *run) searched(c *control.Run) {
	if was := r.job.searched; was != nil {
		why := "the master was started anew"
		if n := len(r.job.losses); n > 0 {
			why = r.job.losses[n-1]
		}
		c.Searched = proto.CloneOf(was)
		c.Searched.Violation = nil
		c.Searched.Restarts = append(c.Searched.Restarts, fmt.Sprintf(
			"%s; the graph was made again after %d BFS and %d SSSP searches", why,
			len(was.Bfs.GetTime()), len(was.Sssp.GetTime())))
		r.set(func(a *control.Job) { a.Graph500 = c.Searched })
	}
	r.server.append(r.id, &control.JobEvent{Body: &control.JobEvent_Stage{
		Stage: &control.BenchmarkStage{Stage: "generating", Total: 1},
	}})
}
