package testcluster

import (
	"fmt"
	"testing"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/master"
)

// TestManyPartitions runs a job in many partitions that all exchange messages, so a worker's report
// of a superstep is sent in parts. The job can be watched. The records have sums instead of pairs
// of partitions.
func TestManyPartitions(t *testing.T) {
	const partitions, pairs = 360, 360 * 359
	c := Start(t, 1, master.Config{}, programs()...)
	j := c.submitSpec(t, &job.Spec{
		Program: "crowd", Source: &job.Source{Input: fmt.Sprint("path:vertices=", partitions)},
		Rows: partitions, Columns: 1,
	})
	records, columns, messages := 0, 0, 0
	j, words := c.watch(t, j.Id, func(e *control.JobEvent) {
		for i, p := range stepOf(t, e).Partitions {
			records++
			if len(p.Peers) != 0 || p.Partition != i {
				t.Fatalf("partition %d: %d peers", p.Partition, len(p.Peers))
			}
			for _, s := range p.Sums {
				columns += s.Columns
				messages += s.Messages
			}
		}
	})
	if want := "queued running, loading running 0 1 done"; words != want ||
		records != 2*partitions {
		t.Errorf("found %s with %d records, expected %s with %d", words, records, want,
			2*partitions)
	}
	if columns != pairs || messages != pairs || j.MessagesSent != pairs {
		t.Errorf("%d messages were sent, %d in %d columns, expected %d", j.MessagesSent, messages,
			columns, pairs)
	}
}
