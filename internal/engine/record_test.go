package engine_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/record"
)

// journal stores a run's records. fail makes it return an error for the record of a superstep.
type journal struct {
	records []*record.Superstep
	begun   []*trace.Job
	ended   []*trace.End
	at      func(superstep int) error
}

func (j *journal) Record(e trace.Event) error {
	switch e := e.(type) {
	case *trace.Job:
		j.begun = append(j.begun, e)
	case *trace.End:
		j.ended = append(j.ended, e)
	case *record.Superstep:
		j.records = append(j.records, e.Clone())
		if j.at != nil {
			return j.at(e.Superstep)
		}
	}
	return nil
}

func kronecker(t *testing.T, partitions int) *graph.Graph {
	t.Helper()
	in, err := generate.Input(t.Context(),
		generate.Kronecker{Scale: 10, EdgeFactor: 16, Seed1: 2, Seed2: 3}, generate.Options{})
	check(t, err)
	t.Cleanup(in.Close)
	g, err := build.Local(t.Context(), in, graph.Options{Partitions: partitions})
	check(t, err)
	t.Cleanup(g.Close)
	return g
}

func TestRecordsAccountForTheRun(t *testing.T) {
	for _, partitions := range []int{1, 3} {
		var j journal
		g := kronecker(t, partitions)
		job, err := engine.NewJob(t.Context(), g, pregel.Erase(algorithms.BFS{}),
			engine.Options{Trace: &j, Job: "mine"})
		check(t, err)
		defer job.Close()
		o, err := job.Run(t.Context())
		check(t, err)
		if len(j.begun) != 1 || len(j.ended) != 1 {
			t.Fatalf("%d beginnings, %d ends", len(j.begun), len(j.ended))
		}
		if b := j.begun[0]; b.Job != "mine" || b.Program != "BFS" || b.Partitions != partitions ||
			b.Vertices != uint64(g.N) || b.Arcs != g.Arcs || b.Began.IsZero() {
			t.Errorf("began %+v", b)
		}
		if e := j.ended[0]; e.Job != "mine" || e.State != trace.Done || e.Ended != o.Ended ||
			e.Supersteps != o.Supersteps || e.Seconds <= 0 || e.Error != "" {
			t.Errorf("ended %+v", e)
		}
		messages, sent, bytes, ran := 0, 0, 0, 0
		for _, r := range j.records {
			if slices.ContainsFunc(r.Partitions,
				func(p record.Partition) bool { return p.Computed > 0 }) {
				ran++
			}
			for _, p := range r.Partitions {
				peers := 0
				for _, q := range p.Peers {
					peers += q.Bytes
				}
				messages, sent, bytes = messages+p.Messages, sent+p.Sent, bytes+p.Bytes
				s := p.Times
				if sum := s.Busy() + s.Wait; sum <= 0 || sum > s.Total*(1+1e-9) || s.Wait < 0 ||
					s.Total != r.Seconds {
					t.Errorf("superstep %d: phases take %g of %g s, wait %g; the superstep %g",
						r.Superstep, sum, s.Total, s.Wait, r.Seconds)
				}
				if p.Memory <= 0 || p.GCPause < 0 || r.Reason == "" || peers != p.Bytes {
					t.Errorf("superstep %d: memory %d, pause %g, reason %q, %d bytes, to the others %d", r.Superstep, p.Memory, p.GCPause, r.Reason, p.Bytes, peers)
				}
			}
			if delivers := r.Delivery != "none"; delivers != (r.Actual > 0) ||
				delivers != (r.Predicted[r.Scheme] > 0) {
				t.Errorf("superstep %d: delivery %s took %g s, predicted %v", r.Superstep,
					r.Delivery, r.Actual, r.Predicted)
			}
			if len(r.Partitions) != partitions {
				t.Errorf("superstep %d: %d partitions", r.Superstep, len(r.Partitions))
			}
		}
		if ran != o.Supersteps {
			t.Errorf("vertices ran in %d records of %d supersteps", ran, o.Supersteps)
		}
		if messages != o.Messages || sent != o.Sent || bytes != o.Bytes {
			t.Errorf("records have %d messages, %d sent in %d bytes; the run %+v", messages, sent,
				bytes, o)
		}
		total := 0.0
		for _, s := range job.Times() {
			total += s
		}
		if e := j.ended[0]; e.Seconds < total || math.IsNaN(total) {
			t.Errorf("the run took %g s, its supersteps %g s", e.Seconds, total)
		}
	}
}

func TestTheEndSaysWhy(t *testing.T) {
	broken := errors.New("the disk is full")
	for _, c := range []struct {
		state string
		limit int
		at    func(superstep int) error
	}{
		{state: trace.Done, limit: 2},
		{state: trace.Failed, at: func(int) error { return broken }},
		{state: trace.Cancelled},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		o := engine.Options{MaxSupersteps: c.limit}
		if c.state == trace.Cancelled {
			o.Progress = func(bsp.Progress) { cancel() }
		}
		j := journal{at: c.at}
		o.Trace = &j
		job, err := engine.NewJob(t.Context(), kronecker(t, 2), pregel.Erase(algorithms.BFS{}), o)
		check(t, err)
		defer job.Close()
		_, err = job.Run(ctx)
		if (err == nil) != (c.state == trace.Done) {
			t.Errorf("%s: error %v", c.state, err)
		}
		if len(j.ended) != 1 || j.ended[0].State != c.state ||
			(j.ended[0].Ended == trace.Limit) != (c.limit > 0) ||
			(j.ended[0].Error != "") != (c.state == trace.Failed) {
			t.Errorf("%s: ended %+v", c.state, j.ended)
		}
	}
}

// limited is a search with a limit of supersteps.
type limited struct {
	algorithms.BFS
	most int
}

func (p limited) Traits() pregel.Traits {
	t := p.BFS.Traits()
	t.MaxSupersteps = p.most
	return t
}

// TestTheLimitOfSuperstepsIsTold: the journal gets the smaller of the user's and the program's
// limit.
func TestTheLimitOfSuperstepsIsTold(t *testing.T) {
	for _, c := range []struct{ users, programs, want int }{{0, 0, 0}, {50, 0, 50}, {0, 60, 60}, {50, 60, 50}, {60, 50, 50}} {
		j := journal{}
		o := engine.Options{MaxSupersteps: c.users, Trace: &j}
		job, err := engine.NewJob(t.Context(), kronecker(t, 2),
			pregel.Erase(limited{most: c.programs}), o)
		check(t, err)
		defer job.Close()
		_, err = job.Run(t.Context())
		check(t, err)
		if len(j.begun) != 1 || j.begun[0].MaxSupersteps != c.want {
			t.Errorf("limits %d and %d: begun %+v", c.users, c.programs, j.begun)
		}
		check(t, job.Restart(pregel.Erase(limited{most: 1})))
		_, err = job.Run(t.Context())
		check(t, err)
		if len(j.begun) != 2 || j.begun[1].MaxSupersteps != 1 {
			t.Errorf("limits %d and 1: begun %+v", c.users, j.begun)
		}
		erased, err := engine.NewProgram(pregel.Erase(pregel.Program[pregel.VertexID, pregel.VertexID](limited{most: c.programs})))
		check(t, err)
		if most, err := erased.MaxSupersteps(c.users); most != c.want || err != nil {
			t.Errorf("limits %d and %d: found %d, %v", c.users, c.programs, most, err)
		}
	}
	const text = "limited: MaxSupersteps is -1, want the largest number of supersteps, or 0 if unknown"
	if _, err := engine.NewJob(t.Context(), kronecker(t, 2), pregel.Erase(limited{most: -1}),
		engine.Options{}); err == nil || err.Error() != text {
		t.Errorf("the error is %v, want %s", err, text)
	}
	erased, err := engine.NewProgram(pregel.Erase(pregel.Program[pregel.VertexID, pregel.VertexID](limited{most: -1})))
	check(t, err)
	if _, err := erased.MaxSupersteps(5); err == nil || err.Error() != text {
		t.Errorf("the error is %v, want %s", err, text)
	}
}
