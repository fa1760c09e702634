package history

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
)

func TestTheTimeLeftIsThatOfTheNewestSupersteps(t *testing.T) {
	at := time.Unix(1000, 0)
	for _, c := range []struct {
		name    string
		seconds []float64 // of the supersteps so far
		limit   int
		since   time.Duration // since the end of the last superstep
		want    float64
	}{
		{"no superstep has ended", nil, 20, 0, 0},
		{"two have", []float64{1, 1}, 20, 0, 0},
		{"there is no limit", []float64{1, 1, 1, 1}, 0, 0, 0},
		{"all alike", []float64{2, 2, 2, 2}, 10, 0, 12},
		{"the one under way", []float64{2, 2, 2, 2}, 10, 500 * time.Millisecond, 11.5},
		{"one that takes too long", []float64{2, 2, 2, 2}, 10, time.Hour, 10},
		{"a clock that was set back", []float64{2, 2, 2, 2}, 10, -time.Hour, 12},
		{"one that was disturbed", []float64{1, 1, 1, 90, 1}, 10, 0, 5},
		{"those of before do not count", []float64{50, 50, 50, 50, 50, 1, 1, 1, 1, 1, 1, 1, 1}, 20, 0, 7},
		{"two take turns", []float64{1, 3, 1, 3, 1, 3, 1, 3}, 12, 0, 8},
		{"the limit is reached", []float64{1, 1, 1}, 3, 0, 0},
		{"it was passed", []float64{1, 1, 1, 1}, 3, 0, 0},
	} {
		var left TimeLeft
		for i, s := range c.seconds {
			left.Add(i, s, at)
		}
		if got := left.Seconds(c.limit, at.Add(c.since)); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: found %g s left, expected %g", c.name, got, c.want)
		}
		if left.Done() != len(c.seconds) {
			t.Errorf("%s: found %d supersteps done, expected %d", c.name, left.Done(),
				len(c.seconds))
		}
	}
}

// TestARunSaysHowLongItTakes: a running job with a limit of supersteps has an estimate of the
// remaining time.
func TestARunSaysHowLongItTakes(t *testing.T) {
	s := NewStore()
	run := func(name string, limit int) {
		t.Helper()
		must(t, s.Record(&trace.Job{Job: name, Partitions: 1, MaxSupersteps: limit}))
		for i := range 4 {
			step := &record.Superstep{Job: name, Superstep: i, Partitions: []record.Partition{{Computed: 1}}, Ended: time.Now().Add(time.Hour)}
			step.End(2)
			must(t, s.Record(step))
		}
	}
	run("bounded", 10)
	run("endless", 0)
	expect := func(id, state string, left float64) {
		t.Helper()
		j, err := s.Job(id)
		must(t, err)
		if j.State != state || j.Left != left {
			t.Errorf("job %s: found %s and %g s left, expected %s and %g", id, j.State, j.Left,
				state, left)
		}
		text, err := json.Marshal(j)
		must(t, err)
		if strings.Contains(string(text), "left_seconds") != (left > 0) {
			t.Errorf("job %s with %g s left is %s", id, left, text)
		}
	}
	expect("1", trace.Running, 12)
	expect("2", trace.Running, 0)
	s.Past()
	expect("1", trace.Running, 0) // its trace was cut off
	s.past = false
	must(t, s.Record(&trace.End{Job: "bounded", State: trace.Done, Ended: trace.Converged}))
	expect("1", trace.Done, 0)
}
