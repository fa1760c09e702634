package graph500

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph500/validate"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/record"
)

func config(t *testing.T) LocalConfig {
	team := parallel.NewTeam(2, false)
	t.Cleanup(team.Close)
	return LocalConfig{Config: Config{
		Generator: generate.Kronecker{Scale: 8, EdgeFactor: 16, Seed1: 2, Seed2: 3}, Roots: 8,
		SSSP: true, Validate: true,
		Grid: graph.Of(1), Team: team,
	}, Tell: func(string, int, int, *trace.Search) {}}
}

func TestRunIsValid(t *testing.T) {
	for _, grid := range []graph.Grid{{Rows: 1, Columns: 1}, {Rows: 3, Columns: 1}, {Rows: 2, Columns: 2}, {Rows: 3, Columns: 2}, {Rows: 1, Columns: 7}} {
		c := config(t)
		c.Grid = grid
		r, err := Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if r.Valid == nil || !*r.Valid || len(r.Roots) != 8 || len(r.BFS.Time) != 8 ||
			len(r.SSSP.Validate) != 8 || !slices.Equal(r.BFS.Nedge, r.SSSP.Nedge) {
			t.Errorf("grid %v: report %+v", grid, r)
		}
	}
}

type otherBFS struct{ algorithms.BFS }

// TestRunFindsWrongSearches replaces BFS by wrong programs: one that always searches from vertex 0,
// and one whose values are levels.
func TestRunFindsWrongSearches(t *testing.T) {
	c := config(t)
	c.BFS = func(map[string]string, func(uint64) (pregel.VertexID, bool)) (*engine.Program, error) {
		return engine.NewProgram(pregel.Erase(otherBFS{}))
	}
	r, err := Run(t.Context(), c)
	var broken *validate.Violation
	if !errors.As(err, &broken) || r == nil || r.Valid == nil || *r.Valid ||
		len(r.BFS.Validate) != 1 {
		t.Errorf("error %v, report %+v", err, r)
	}
	c.Validate = false
	if r, err = Run(t.Context(), c); err != nil || r.Valid != nil {
		t.Errorf("not judged: error %v", err)
	}
	c.BFS = func(map[string]string, func(uint64) (pregel.VertexID, bool)) (*engine.Program, error) {
		return engine.NewProgram(pregel.Erase(algorithms.BFSLevels{}))
	}
	if _, err = Run(t.Context(), c); err == nil ||
		!strings.Contains(err.Error(), "expected parents of vertices") {
		t.Errorf("levels: error %v", err)
	}
}

// told is a journal that records the kinds of events, and counts the supersteps of timed searches.
type told struct {
	kinds      []string
	ran, ended int
}

func (k *told) Record(e trace.Event) error {
	text := ""
	if j := trace.JobOf(e); j != nil {
		text = fmt.Sprintf("%T", e)[len("*trace."):] + " " + *j
	}
	switch e := e.(type) {
	case *record.Superstep:
		text = "superstep " + e.Job
		if e.Ran() && !strings.HasSuffix(e.Job, trace.WarmUp) {
			k.ran++
		}
	case *trace.End:
		k.ended = e.Supersteps
	case *trace.Search:
		text += fmt.Sprintf(" %s %t", e.Kernel, e.TEPS() > 0 && *e.Valid &&
			e.Seconds >= e.Translate)
	}
	k.kinds = append(k.kinds, text)
	return nil
}

// TestSearchesAreTold: records have the names of searches, which tell what they came to; how far
// the searches are covers both kernels.
func TestSearchesAreTold(t *testing.T) {
	c := config(t)
	all := &told{}
	c.Roots, c.Engine.Trace = 2, all
	var far []int
	c.Tell = func(stage string, done, total int, s *trace.Search) {
		if s != nil {
			_ = all.Record(s)
			if far = append(far, done); total != 4 {
				t.Errorf("%s: %d of %d, expected 4", stage, done, total)
			}
		}
	}
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(far, []int{1, 2, 3, 4}) {
		t.Errorf("found searches %d", far)
	}
	var want []string
	for _, kernel := range []string{"bfs", "sssp"} {
		for i, root := range []int{0, 0, 1} {
			name := fmt.Sprintf("%s root %d", kernel, r.Roots[root])
			if i == 0 {
				want = append(want, "superstep "+name+trace.WarmUp)
			} else {
				want = append(want, "superstep "+name, "Search "+name+" "+kernel+" true")
			}
		}
	}
	want = append(append([]string{"Job graph500"}, want...), "End graph500")
	got := slices.DeleteFunc(slices.Compact(all.kinds), func(k string) bool { return k == "" })
	if got = slices.Compact(got); !slices.Equal(got, want) {
		t.Errorf("found\n%q\nexpected\n%q", got, want)
	}
	if all.ran == 0 || all.ended != all.ran {
		t.Errorf("the end tells %d supersteps, expected %d", all.ended, all.ran)
	}
}

// full is a journal that cannot record the end of a run.
type full struct{}

var errFull = errors.New("no space")

func (full) Record(e trace.Event) error {
	if _, ok := e.(*trace.End); ok {
		return errFull
	}
	return nil
}

// TestTheReportOutlivesItsRecord: the report is there if the end of the run cannot be recorded.
func TestTheReportOutlivesItsRecord(t *testing.T) {
	c := config(t)
	c.Roots, c.SSSP, c.Engine.Trace = 2, false, full{}
	if r, err := Run(t.Context(), c); !errors.Is(err, errFull) || r == nil || len(r.BFS.Time) != 2 {
		t.Errorf("found %+v, %v, expected a report and %v", r, err, errFull)
	}
}

// TestRunEnds cancels the run in every stage.
func TestRunEnds(t *testing.T) {
	for _, stage := range []string{"generating", "finding the vertices", "looking for duplicates", "building the in-edges", "sorting the lists", "BFS", "SSSP"} {
		ctx, cancel := context.WithCancel(t.Context())
		c := config(t)
		c.Team = nil // so that stages are reported in order
		seen := false
		c.Progress = func(name string, done, _ int64) {
			if name == stage && !seen {
				seen = true
				cancel()
			}
			if ctx.Err() != nil && name != stage {
				t.Errorf("%s began after %s was interrupted", name, stage)
			}
		}
		c.Tell = func(name string, _, _ int, _ *trace.Search) { c.Progress(name, 0, 1) }
		if _, err := Run(ctx, c); !seen || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: seen %t, error %v", stage, seen, err)
		}
		cancel()
	}
}
