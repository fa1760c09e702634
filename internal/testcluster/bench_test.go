package testcluster

import (
	"fmt"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/master"
)

// BenchmarkEmptySuperstep measures an empty superstep on four workers over loopback. Either no
// vertex has a message (idle), or one vertex sends (chatty), so all partitions exchange columns.
// All five processes share this process's threads.
func BenchmarkEmptySuperstep(b *testing.B) {
	const supersteps = 500
	for _, program := range []struct{ name, delivery string }{{"idle", ""}, {"chatty", "naive"}, {"chatty", "pull"}} {
		b.Run(program.name+program.delivery, func(b *testing.B) {
			c := Start(b, 4, master.Config{}, programs()...)
			c.load(b, "g", &job.Source{Input: "kronecker:scale=8"}, 0, 0)
			for b.Loop() {
				var seconds []float64
				j := c.submitSpec(b, &job.Spec{
					Program:    program.name,
					Parameters: map[string]string{"supersteps": fmt.Sprint(supersteps)}, Graph: "g",
					Options: job.Options{Delivery: program.delivery},
				})
				j, _ = c.watch(b, j.Id, func(e *control.JobEvent) {
					if e.GetRecord() != nil {
						seconds = append(seconds, stepOf(b, e).Seconds)
					}
				})
				if j.State != control.JobState_JOB_STATE_DONE || len(seconds) < supersteps/2 {
					b.Fatalf("%s: %s, %d records", j.State.Word(), j.Reason, len(seconds))
				}
				slices.Sort(seconds)
				b.ReportMetric(1e6*seconds[len(seconds)/2], "us/superstep")
				b.ReportMetric(1e6*j.RunSeconds/float64(j.Supersteps), "us/whole")
			}
		})
	}
}
