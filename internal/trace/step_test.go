package trace

import (
	"slices"
	"testing"
)

// records of a run of two partitions.
func records(job string, supersteps, partitions int) []*Record {
	var all []*Record
	for step := range supersteps {
		for p := range partitions {
			all = append(all, &Record{
				Job: job, Superstep: step, Partition: p, Scheme: "pull", Delivery: "pull", Reason: "why",
				Active: 1, Senders: 2, Receivers: 3, Edges: 4, Messages: 5, Sent: 6,
				Peers:     []Peer{{Partition: 1 - p, Bytes: 7}, {Partition: 1 - p, Bytes: 8}},
				Times:     Seconds{Expand: 1, Traverse: float64(2 + p), Fold: 3, Compute: 4, Wait: 5, Total: 20},
				Predicted: map[string]float64{"pull": 2, "naive": 3}, Actual: 2.5,
			})
		}
	}
	return all
}

func TestSteps(t *testing.T) {
	for _, known := range []bool{true, false} {
		var got []Step
		s := &Steps{To: func(s *Step) { got = append(got, *s) }}
		begin := &Job{Job: "a"}
		if known {
			begin.Partitions = 2
		}
		s.Begin(begin)
		all := records("a", 3, 2)
		for i, r := range all {
			if err := s.Record(r); err != nil {
				t.Fatal(err)
			}
			if want := (i + 1) / 2; known && len(got) != want {
				t.Fatalf("%d supersteps after %d records, expected %d", len(got), i+1, want)
			}
		}
		s.End(&End{})
		if len(got) != 3 {
			t.Fatalf("known %v: %d supersteps", known, len(got))
		}
		for i, g := range got {
			want := Step{
				Job: "a", Superstep: i, Scheme: "pull", Delivery: "pull", Reason: "why", Partitions: 2, Active: 2, Senders: 4,
				Receivers: 6, Edges: 8, Messages: 10, Sent: 12, Bytes: 30, Seconds: 20, Busy: 21, Busiest: 11, Predicted: 2, Actual: 2.5,
				Phases: [len(Phases)]Phase{{2, 1, 0}, {5, 3, 1}, {6, 3, 0}, {8, 4, 0}, {10, 5, 0}},
			}
			if g != want {
				t.Errorf("found %+v, expected %+v", g, want)
			}
			if skew := g.Skew(); skew != 11.0*2/21 {
				t.Errorf("skew %g", skew)
			}
		}
	}
}

// TestStepsApart: what is of another run, or another superstep, is not added up.
func TestStepsApart(t *testing.T) {
	var got []int
	s := &Steps{To: func(s *Step) { got = append(got, s.Partitions) }}
	for _, r := range slices.Concat(records("a", 1, 2), records("b", 1, 3), records("b", 2, 1)[1:]) {
		_ = s.Record(r)
	}
	s.Begin(&Job{Job: "c", Partitions: 1})
	_ = s.Record(records("c", 1, 1)[0])
	if want := []int{2, 3, 1, 1}; !slices.Equal(got, want) {
		t.Errorf("found %v partitions, expected %v", got, want)
	}
	if (&Step{Partitions: 3}).Skew() != 0 {
		t.Error("a superstep without work has skew")
	}
}

func TestStepsAllocateNothing(t *testing.T) {
	s := &Steps{To: func(*Step) {}}
	s.Begin(&Job{Partitions: 2})
	all := records("a", 2, 2)
	if n := testing.AllocsPerRun(100, func() {
		for _, r := range all {
			_ = s.Record(r)
		}
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
}
