package master

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	supersteps "github.com/superstep-go/superstep/record"
)

// did is a worker's share of a superstep.
type did struct {
	worker string
	busy   float64 // seconds
	units  int     // units of work
}

func recordOf(seconds float64, all ...did) *supersteps.Superstep {
	r := &supersteps.Superstep{Seconds: seconds}
	for i, d := range all {
		r.Partitions = append(r.Partitions, supersteps.Partition{
			Partition: i, Worker: d.worker, Computed: d.units / 4, Walked: d.units - d.units/4,
			// not the worker's own work
			Times: supersteps.Seconds{Traverse: d.busy / 2, Compute: d.busy - d.busy/2, Expand: 3, Fold: 2, Wait: 9, Total: seconds},
		})
	}
	return r
}

// TestStraggler detects a slow worker in a number of supersteps of the same kind. The last
// superstep may be of another kind.
func TestStraggler(t *testing.T) {
	even := []did{{"a", .1, 100}, {"b", .11, 110}, {"c", .09, 90}}
	slow := []did{{"a", .1, 100}, {"b", .11, 110}, {"c", .4, 100}}
	for _, c := range []struct {
		what    string
		steps   int
		of, end []did
		want    string
		factor  float64
	}{
		{"all are as fast", 20, even, nil, "", 0},
		{"one takes four times as long", 20, slow, nil, "c", 4},
		{"not often enough", slowSteps - 1, slow, nil, "", 0},
		{"no longer", 20, slow, even, "", 0},
		{"a superstep in which nearly nothing was done does not count", 20, slow, []did{{"a", 1e-5, 1}, {"b", 1e-5, 2}, {"c", 1e-5, 4}}, "c", 4},
		{"the larger part of the graph", 20, []did{{"a", .1, 100}, {"b", .11, 110}, {"c", .9, 900}}, nil, "", 0},
		{"one that has nothing to do", 20, []did{{"a", .1, 100}, {"b", .1, 100}, {"c", .1, 0}}, nil, "", 0},
		{"one of two", 20, []did{{"a", .1, 100}, {"b", .3, 100}}, nil, "b", 3},
		{"the slower of two", 20, []did{{"a", .1, 100}, {"b", .1, 100}, {"c", .1, 100}, {"d", .3, 100}, {"e", .5, 100}}, nil, "e", 5},
		{"the first of a half", 20, []did{{"a", .1, 100}, {"b", .1, 100}, {"c", .5, 100}, {"d", .5, 100}}, nil, "c", 5},
		{"one alone", 20, []did{{"a", .1, 100}, {"a", .5, 100}}, nil, "", 0},
		{"two partitions at a time, of one thread more", 20, []did{{"a", .1, 100}, {"two", .2, 100}, {"two", .2, 100}, {"b", .1, 100}}, nil, "", 0},
		{"two partitions, one after the other", 20, []did{{"a", .1, 100}, {"b", .3, 100}, {"b", .3, 100}, {"c", .1, 100}}, nil, "b", 3},
	} {
		t.Run(c.what, func(t *testing.T) {
			p := newPace(map[string]int{"a": 1, "b": 1, "c": 1, "two": 2})
			for range c.steps {
				p.observe(recordOf(1, c.of...))
			}
			if c.end != nil {
				p.observe(recordOf(1, c.end...))
			}
			s := p.straggler(5)
			switch {
			case (s == nil) != (c.want == ""):
				t.Fatalf("found %+v, expected %q", s, c.want)
			case s != nil && (s.worker != c.want || math.Abs(s.factor()-c.factor) > .1 ||
				s.steps != c.steps):
				t.Errorf("found %+v, expected %s, %g times as long in %d supersteps", s, c.want,
					c.factor, c.steps)
			case s != nil && p.straggler(100) != nil:
				t.Error("20 seconds count as 100")
			}
		})
	}
}

// TestStragglerAgainstTwin compares with a simple function that examines all supersteps again, on
// random supersteps.
func TestStragglerAgainstTwin(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 5))
		var all [][]did
		workers, steps, lame := 1+rng.IntN(5), 1+rng.IntN(40), rng.IntN(6)
		p := newPace(nil)
		for range steps {
			var step []did
			for w := range workers {
				units := 1 + rng.Uint64N(1000)
				busy := float64(units) * 1e-4 * (1 + rng.Float64())
				if w == lame && rng.IntN(30) > 0 {
					busy *= 6
				}
				step = append(step, did{fmt.Sprint("w", w), busy, int(units)})
			}
			all = append(all, step)
			p.observe(recordOf(.5, step...))
		}
		want, most := "", 0.0
		for w := range workers {
			n, busy, expected := 0, 0.0, 0.0
			for i := len(all) - 1; i >= 0; i-- { // from the last one backwards
				var rates []float64
				for x, d := range all[i] {
					if x != w {
						rates = append(rates, d.busy/float64(d.units))
					}
				}
				if len(rates) == 0 {
					break
				}
				slices.Sort(rates)
				d := all[i][w]
				if e := float64(d.units) * rates[len(rates)/2]; d.busy >= 2*e {
					n, busy, expected = n+1, busy+d.busy, expected+e
					continue
				}
				break
			}
			if n >= 8 && float64(n)*.5 >= 5 && busy/expected > most {
				want, most = all[0][w].worker, busy/expected
			}
		}
		s := p.straggler(5)
		if s == nil && want != "" || s != nil &&
			(s.worker != want || math.Abs(s.factor()-most) > 1e-6*most) {
			t.Fatalf("seed %d: found %+v, expected %q %g", seed, s, want, most)
		}
	}
}

// TestSaved: the expected saving of a move is the difference of a superstep's time before and after
// it. Before, it is the slow worker's time. After, the other workers do all the work.
func TestSaved(t *testing.T) {
	p := newPace(nil)
	for range slowSteps {
		p.observe(recordOf(.5, did{"a", .1, 100}, did{"b", .1, 100}, did{"c", .4, 100}))
	}
	s := p.straggler(0)
	if got, want := s.saved(2, 10), 10*(.4-.3/2); math.Abs(got-want) > 1e-9 {
		t.Errorf("saved %g s, expected %g", got, want)
	}
	if got := s.saved(1, 10); math.Abs(got-10*(.4-.3)) > 1e-9 {
		t.Errorf("saved %g s on one worker", got)
	}
	for _, c := range []struct{ ran, limit, want int }{{10, 0, 10}, {10, 12, 2}, {10, 100, 10}, {10, 10, 0}} {
		if got := (plan{ran: c.ran, limit: c.limit}).left(); got != c.want {
			t.Errorf("%d of %d were run: %d are expected to come, expected %d", c.ran, c.limit, got,
				c.want)
		}
	}
}
