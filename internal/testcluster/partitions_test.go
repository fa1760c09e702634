package testcluster

import (
	"testing"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
)

// TestManyPartitions runs a job in so many partitions, each of which sends to every other, that what a worker reports of a
// superstep does not fit into a message. It can be watched; of pairs the records have sums.
func TestManyPartitions(t *testing.T) {
	const partitions = 700
	c, _ := startToy(t, 1)
	r, err := c.Client.SubmitJob(t.Context(), connect.NewRequest(&control.SubmitJobRequest{Spec: &control.JobSpec{
		Program: "toy", Parameters: map[string]string{"supersteps": "3"}, Source: &control.GraphSource{Input: "file"}, Rows: partitions, Columns: 1,
	}}))
	if err != nil {
		t.Fatal(err)
	}
	records := 0
	j, words := c.watch(t, r.Msg.Id, func(e *control.JobEvent) {
		for i, p := range e.GetRecord().GetPartitions() {
			records++
			if len(p.Peers) != 0 || len(p.Sums) != 1 || p.Sums[0].Columns != partitions-1 || p.Sums[0].Messages != partitions-1 || int(p.Partition) != i {
				t.Fatalf("partition %d: %d peers, sums %v", p.Partition, len(p.Peers), p.Sums)
			}
		}
	})
	if want := "queued loading running 0 1 2 done"; words != want || records != 3*partitions {
		t.Errorf("found %s with %d records, expected %s with %d", words, records, want, 3*partitions)
	}
	if j.MessagesSent != 3*partitions*(partitions-1) {
		t.Errorf("%d messages were sent", j.MessagesSent)
	}
}
