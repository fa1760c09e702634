package library_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/record"
)

// levels counts the fewest edges from Source to every vertex.
type levels struct{ Source pregel.VertexID }

func (levels) Combiner() pregel.Combiner[int64] { return combiners.Min[int64]() }

func (p levels) Init(v *pregel.Vertex[int64, int64]) {
	v.Set(math.MaxInt64)
	v.VoteToHalt()
	if v.ID() == p.Source {
		p.Compute(v, 0)
	}
}

func (levels) Compute(v *pregel.Vertex[int64, int64], level int64) {
	if level < v.Value() {
		v.Set(level)
		v.SendToAllNeighbors(level + 1)
	}
	v.VoteToHalt()
}

func grid(t *testing.T, options ...superstep.LoadOptions) *superstep.Graph {
	t.Helper()
	g, err := superstep.Load(t.Context(), "grid:rows=5,columns=6", options...)
	return open(t, g, err)
}

func TestRunOptions(t *testing.T) {
	for _, parts := range []int{1, 3} {
		g := grid(t, superstep.LoadOptions{Partitions: parts})
		for _, o := range []superstep.Options{
			{},
			{Threads: 3},
			{Delivery: superstep.Push},
			{Delivery: superstep.Naive},
			{Delivery: superstep.Mirrored},
			{Delivery: superstep.Lalp},
			{Delivery: superstep.Pull},
			{Deterministic: true},
			{SuperstepTimeout: time.Hour},
		} {
			res, err := superstep.Run(t.Context(), g, levels{}, o)
			if err != nil {
				t.Fatalf("%+v: %v", o, err)
			}
			source := g.Label(0)
			for label, level := range res.All() {
				apart := func(a, b uint64) int64 { return int64(max(a, b) - min(a, b)) }
				if want := apart(label/6, source/6) + apart(label%6, source%6); level != want {
					t.Errorf("%+v: vertex %d has level %d, want %d", o, label, level, want)
				}
			}
			if res.Ended != "halted" || len(res.Seconds) != res.Supersteps || res.Messages == 0 ||
				(res.BytesSent > 0) != (parts > 1) {
				t.Errorf("%+v: ended %s, %d times of %d supersteps, %d messages, %d bytes", o,
					res.Ended, len(res.Seconds), res.Supersteps, res.Messages, res.BytesSent)
			}
		}
	}
}

func TestRunRefusesATimeBelowZero(t *testing.T) {
	const want = "a limit of -1s for a superstep: expected 0, for none, or more"
	if _, err := superstep.Run(t.Context(), grid(t), levels{},
		superstep.Options{SuperstepTimeout: -time.Second}); err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v", err)
	}
}

func TestRunTells(t *testing.T) {
	g := grid(t, superstep.LoadOptions{Partitions: 2})
	var trace bytes.Buffer
	var supersteps []int
	res, err := superstep.Run(t.Context(), g, levels{}, superstep.Options{
		Trace: &trace, KeepTrace: true, MaxSupersteps: 4, Threads: 1,
		Progress: func(p superstep.Progress) { supersteps = append(supersteps, p.Superstep) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if res.Converged || res.Supersteps != 4 || !slices.Equal(supersteps, []int{0, 1, 2, 3}) {
		t.Errorf("converged %t, %d supersteps, reported %v", res.Converged, res.Supersteps,
			supersteps)
	}
	if len(res.Trace) != 4 || strings.Count(trace.String(), "\n") != 1+4+1 {
		t.Fatalf("%d records kept, %d written", len(res.Trace), strings.Count(trace.String(), "\n"))
	}
	sent := 0
	lines := strings.Split(trace.String(), "\n")
	for i, r := range res.Trace {
		if r.Superstep != i || len(r.Partitions) != 2 || r.Job != "levels" {
			t.Errorf("record %d: %+v", i, r)
		}
		var written record.Superstep
		if err := json.Unmarshal([]byte(lines[1+i]), &written); err != nil ||
			written.Superstep != i || len(written.Partitions) != 2 {
			t.Fatalf("superstep %d is written as %s: %v", i, lines[1+i], err)
		}
		for p, part := range r.Partitions {
			if written.Partitions[p].Messages != part.Messages {
				t.Errorf("superstep %d, partition %d has %d messages, and is written as %s", i, p,
					part.Messages, lines[1+i])
			}
			sent += part.Bytes
		}
	}
	if sent != res.BytesSent {
		t.Errorf("%d bytes in the records, %d in the result", sent, res.BytesSent)
	}
}

func TestResult(t *testing.T) {
	g, err := superstep.FromEdges(t.Context(), []superstep.Edge{{From: 1, To: 2}, {From: 1, To: 3}})
	g = open(t, g, err)
	source, _ := g.Vertex(1)
	res, err := superstep.Run(t.Context(), g, algorithms.BFSLevels{Source: source})
	if err != nil {
		t.Fatal(err)
	}
	if res.Graph() != g || res.Value(source) != 0 {
		t.Errorf("value of the source: %d", res.Value(source))
	}
	if v, ok := res.At(3); !ok || v != 1 {
		t.Errorf("at 3: %d, %t", v, ok)
	}
	if v, ok := res.At(4); ok {
		t.Errorf("at 4: %d", v)
	}
	var labels []uint64
	for label := range res.All() {
		if labels = append(labels, label); len(labels) == 2 {
			break
		}
	}
	if !slices.Equal(labels, []uint64{1, 2}) { // by falling degree, then by rising input id
		t.Errorf("labels %v", labels)
	}
}

// wrong fails in a chosen way.
type wrong struct {
	how   string
	where uint64
}

func (wrong) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }

func (p wrong) Validate(*pregel.GraphInfo) error {
	if p.how == "validate" {
		return errors.New("it makes no sense")
	}
	return nil
}

var errWrong = errors.New("on purpose")

func (p wrong) Compute(v *pregel.Vertex[int64, int64], _ int64) {
	v.Logf("at work")
	if p.how == "panic" && v.Label() == p.where && v.Superstep() == 1 {
		panic(errWrong)
	}
	v.SendToAllNeighbors(1)
}

func TestRunFails(t *testing.T) {
	for _, parts := range []int{1, 3} {
		g := grid(t, superstep.LoadOptions{Partitions: parts})
		_, err := superstep.Run(t.Context(), g, wrong{how: "panic", where: 17})
		var failed *pregel.ProgramError
		if !errors.As(err, &failed) || failed.Vertex != 17 || !failed.Known ||
			failed.Superstep != 1 || failed.Program != "wrong" || !errors.Is(err, errWrong) {
			t.Errorf("error %v", err)
		} else if !strings.Contains(failed.Stack, "run_test.go") {
			t.Errorf("stack %s", failed.Stack)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		_, err = superstep.Run(ctx, g, wrong{}, superstep.Options{
			Progress: func(p superstep.Progress) {
				if p.Superstep == 5 {
					cancel(errWrong)
				}
			},
		})
		if !errors.Is(err, errWrong) {
			t.Errorf("error %v of a cancelled run", err)
		}
		cancel(nil)
	}
	g := grid(t)
	_, err := superstep.Run(t.Context(), g, wrong{how: "validate"})
	refused(t, err, "wrong: it makes no sense")
	_, err = superstep.Run(t.Context(), g, algorithms.PageRank{Damping: math.NaN(), Iterations: -1})
	refused(t, err, "damping is NaN, want a number from 0 to 1\niterations is -1, want 1 or more")
	_, err = superstep.Run(t.Context(), g, levels{}, superstep.Options{MaxSupersteps: -1})
	refused(t, err, "supersteps")
	_, err = superstep.Run(t.Context(), g, levels{}, superstep.Options{}, superstep.Options{})
	refused(t, err, "at most one options struct")
	_, err = superstep.Run(t.Context(), g, algorithms.BFS{Source: 1000})
	refused(t, err, "source 1000: the graph has vertices 0..29")
	_, err = superstep.Run(t.Context(), g, levels{}, superstep.Options{Trace: full{}})
	refused(t, err, "on purpose")
}

// full is a device without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errWrong }

func TestRunLogs(t *testing.T) {
	g := grid(t, superstep.LoadOptions{Partitions: 1})
	lines := make(chan string, 100)
	_, err := superstep.Run(t.Context(), g, wrong{},
		superstep.Options{MaxSupersteps: 1, Log: func(line string) { lines <- line }})
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) != 30 || !strings.HasSuffix(<-lines, "superstep 0: at work") {
		t.Errorf("%d lines", len(lines))
	}
}

// TestRunsAtOnce runs several programs on the same graph concurrently.
func TestRunsAtOnce(t *testing.T) {
	g := grid(t, superstep.LoadOptions{Partitions: 2})
	done := make(chan error)
	const runs = 6
	for i := range runs {
		go func() {
			res, err := superstep.Run(t.Context(), g, levels{Source: pregel.VertexID(i)},
				superstep.Options{Threads: 2, Delivery: superstep.Mirrored})
			if err == nil && res.Value(pregel.VertexID(i)) != 0 {
				err = errWrong
			}
			done <- err
		}()
	}
	for range runs {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestRecordsHaveTheAggregators: the record of each superstep has the aggregators' values, and the
// last one the final values.
func TestRecordsHaveTheAggregators(t *testing.T) {
	var trace bytes.Buffer
	res, err := superstep.Run(t.Context(), grid(t),
		algorithms.PageRank{Damping: .85, Iterations: 100, Tolerance: 1e-3},
		superstep.Options{Trace: &trace, KeepTrace: true})
	if err != nil {
		t.Fatal(err)
	}
	change := func(r *record.Superstep) float64 {
		i := slices.IndexFunc(r.Aggregators,
			func(a record.Aggregator) bool { return a.Name == "change" })
		if i < 0 || len(r.Aggregators) != 2 {
			t.Fatalf("superstep %d has the aggregators %v", r.Superstep, r.Aggregators)
		}
		return r.Aggregators[i].Value
	}
	steps := res.Trace[:res.Supersteps]
	first, last := change(&steps[1]), change(&steps[len(steps)-1])
	if !(first > 1e-3 && last < 1e-3 && change(&steps[len(steps)-2]) >= 1e-3) {
		t.Errorf("the change falls from %g to %g", first, last)
	}
	var end struct{ Aggregators map[string]float64 }
	lines := strings.Split(strings.TrimSpace(trace.String()), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &end); err != nil ||
		end.Aggregators["change"] != last {
		t.Errorf("found %v, %v at the end, expected %g", end, err, last)
	}
}
