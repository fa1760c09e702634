package trace

import (
	"reflect"
	"testing"

	"github.com/superstep-go/superstep/record"
)

// superstep makes a superstep. Each partition traverses one second longer than the one before.
func superstep(job string, number, partitions int) *record.Superstep {
	s := &record.Superstep{
		Job: job, Superstep: number, Phase: 2, Program: "Sweep", Scheme: "pull", Delivery: "pull",
		Reason: "why", Predicted: map[string]float64{"pull": 2, "naive": 3}, Actual: 2.5,
	}
	for p := range partitions {
		s.Partitions = append(s.Partitions, record.Partition{
			Partition: p, Computed: 1, Delivered: 2, Receivers: 3, Walked: 4, Messages: 5, Sent: 6,
			Bytes: 15,
			Times: record.Seconds{Expand: 1, Traverse: float64(2 +
				p), Fold: 3, Compute: 4, Wait: 5, Total: 20}, GCPause: float64(p),
		})
	}
	return s
}

func TestStepAddsPartitionsUp(t *testing.T) {
	var got Step
	for i := range 3 { // earlier content is overwritten
		got.Sum(superstep("a", i, 2))
	}
	want := Step{
		Superstep: 2, Phase: 2, Program: "Sweep", Scheme: "pull", Delivery: "pull", Reason: "why",
		Partitions: 2, Active: 2, Senders: 4, Receivers: 6, Edges: 8, Messages: 10,
		Sent: 12, Bytes: 30, Predicted: map[string]float64{"pull": 2, "naive": 3}, Actual: 2.5,
		GCPause: 1,
		Times:   record.Seconds{Expand: 1, Traverse: 2.5, Fold: 3, Compute: 4, Wait: 5, Total: 20},
		Busy:    Spread{Least: 10, Mean: 10.5, Most: 11, Slowest: 1},
		Longest: [len(record.Phases)]Longest{{1, 0}, {3, 1}, {3, 0}, {4, 0}, {5, 0}},
	}
	if g := got.Clone(); !reflect.DeepEqual(*g, want) {
		t.Errorf("found %+v, expected %+v", *g, want)
	}
	if ratio := got.Busy.Ratio(); ratio != 11/10.5 {
		t.Errorf("ratio %g", ratio)
	}
	if (Spread{}).Ratio() != 1 {
		t.Error("a superstep without work is uneven")
	}
}

// TestStepMemoryIsOfProcesses: a process's memory counts once, however many partitions it has.
func TestStepMemoryIsOfProcesses(t *testing.T) {
	s := superstep("a", 0, 3)
	for i, worker := range []string{"b", "a", "b"} {
		s.Partitions[i].Worker, s.Partitions[i].Memory = worker, 100
	}
	var step Step
	if step.Sum(s); step.Memory != 200 {
		t.Errorf("%d bytes in two processes of 100", step.Memory)
	}
}

func TestStepAllocatesNothing(t *testing.T) {
	s, step := superstep("a", 0, 2), new(Step)
	step.Sum(s)
	if n := testing.AllocsPerRun(100, func() { step.Sum(s) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
}
