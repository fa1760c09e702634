package engine_test

import (
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/pregel"
)

// TestEdgesBeyondNumbers: a program is rejected if a partition has more edges than can be numbered,
// and the edges have properties. It is also rejected if one vertex has more in both directions.
func TestEdgesBeyondNumbers(t *testing.T) {
	g := on(t, "0>1 1>0 0>2 2>0").load(t, 2, edges.Unweighted)
	none := script{func(v talker, _ int64) { v.VoteToHalt() }}
	begin := func(most int, p pregel.Program[string, int64]) error {
		var o engine.Options
		o.Sizes.Places = most
		j, err := engine.NewJob(t.Context(), g, pregel.Erase(p), o)
		if err == nil {
			j.Close()
		}
		return err
	}
	for _, d := range []pregel.Direction{pregel.Out, pregel.Both} {
		if err := begin(1<<20, columned{looker{none, d}}); err != nil {
			t.Errorf("direction %v: %v", d, err)
		}
		if err := begin(1, columned{looker{none, d}}); err == nil ||
			!strings.Contains(err.Error(), "at most 1") {
			t.Errorf("direction %v: error %v", d, err)
		}
	}
	if err := begin(1, looker{none, pregel.Out}); err != nil {
		t.Errorf("without properties: %v", err)
	}
	if err := begin(1, looker{none, pregel.Both}); err == nil ||
		!strings.Contains(err.Error(), "a vertex has 4 edges in both directions: at most 1") {
		t.Errorf("both directions: error %v", err)
	}
}

// fickle is a program whose traits depend on its fields.
type fickle struct {
	script
	traits pregel.Traits
}

func (f fickle) Traits() pregel.Traits { return f.traits }

// TestRestartWantsTheSameTraits: a job's columns, kernels and driver were made for the traits of
// its program. So Restart rejects a program with other traits, and a plan makes a new job for it.
func TestRestartWantsTheSameTraits(t *testing.T) {
	g := on(t, "0>1 1>0").load(t, 1, edges.Unweighted)
	none := script{func(v talker, _ int64) { v.VoteToHalt() }}
	j, err := engine.NewJob(t.Context(), g, pregel.Erase(fickle{script: none}), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	for _, same := range []pregel.Traits{{}, {MaxSupersteps: 3}, {Help: "other words"}} {
		if err := j.Restart(pregel.Erase(fickle{none, same})); err != nil {
			t.Errorf("%+v: %v", same, err)
		}
	}
	for _, other := range []pregel.Traits{{Mutates: true}, {Converges: true}} {
		if err := j.Restart(pregel.Erase(fickle{none, other})); err == nil ||
			!strings.Contains(err.Error(), "cannot be restarted") {
			t.Errorf("%+v: error %v", other, err)
		}
	}
}
