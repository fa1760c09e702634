package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/pregel"
)

// adjusted is a program whose vertices' values show its parameters.
type adjusted struct {
	Rate   float64 `param:"rate" default:"0.5"`
	Rounds int     `param:"rounds" default:"9" zero:"refused"`
	Slack  float64 `param:"slack" default:"0.25" unless:"rounds"`
	On     bool    `param:"on" default:"true"`
	Plain  int     `param:"plain"`
}

// readjusted embeds adjusted.
type readjusted struct {
	adjusted
	Adjusted
	Own int `param:"own" default:"3"`
}

// Adjusted is exported, so that its fields can be set.
type Adjusted struct {
	More int `param:"more" default:"4"`
}

func (adjusted) Combiner() pregel.Combiner[int] { return combiners.Sum[int]() }

func (p adjusted) Compute(v *pregel.Vertex[string, int], _ int) {
	v.Set(fmt.Sprint(p.Rate, p.Rounds, p.Slack, p.On, p.Plain))
	v.VoteToHalt()
}

func (p readjusted) Compute(v *pregel.Vertex[string, int], _ int) {
	v.Set(fmt.Sprint(p.More, p.Own))
	v.VoteToHalt()
}

// TestZeroIsNotTheDefault: parameters can be set to zero, by text and in Go, and otherwise have
// their defaults.
func TestZeroIsNotTheDefault(t *testing.T) {
	ran := func(p engine.Erased) any {
		t.Helper()
		g := on(t, "0>1").load(t, 1, edges.Unweighted)
		defer g.Close()
		j, err := engine.NewJob(t.Context(), g, p, engine.Options{})
		check(t, err)
		defer j.Close()
		_, err = j.Run(t.Context())
		check(t, err)
		return j.Any(0)
	}
	for text, want := range map[string]string{
		"": "0.5 9 0.25 true 0", "rate=0": "0 9 0.25 true 0", "rounds=2": "0.5 2 0 true 0",
		"rounds=2 slack=0.1": "0.5 2 0.1 true 0",
		"slack=0 on=false":   "0.5 9 0 false 0",
	} {
		values := map[string]string{}
		for _, f := range strings.Fields(text) {
			name, value, _ := strings.Cut(f, "=")
			values[name] = value
		}
		p, err := engine.Fresh(pregel.Erase[string, int](adjusted{}), values, nil)
		check(t, err)
		if got := ran(p); got != want {
			t.Errorf("%s: the parameters are %v, want %s", text, got, want)
		}
	}
	registered := engine.Register("adjusted", pregel.Erase[string, int](adjusted{}))
	for _, c := range []struct {
		program adjusted
		zero    []string
		want    string
	}{
		{adjusted{}, nil, "0.5 9 0.25 true 0"},
		{adjusted{Rounds: 2, Plain: 1}, nil, "0.5 2 0 true 1"},
		{adjusted{Rate: 1}, []string{"slack", "on", "plain"}, "1 9 0 false 0"},
		{adjusted{Rate: 1}, []string{"rate"}, "1 9 0.25 true 0"},
	} {
		p, err := engine.Complete(pregel.Erase[string, int](c.program), c.zero)
		check(t, err)
		if got := ran(p); got != c.want {
			t.Errorf("%+v, zero %v: the parameters are %v, want %s", c.program, c.zero, got, c.want)
		}
		values, ok, err := registered.Given(c.program, c.zero, nil)
		if check(t, err); !ok {
			t.Fatal("the program is of another type")
		}
		far, err := engine.Fresh(pregel.Erase[string, int](adjusted{}), values, nil)
		check(t, err)
		if got := ran(far); got != c.want {
			t.Errorf("%+v, zero %v, on a cluster: the parameters are %v, want %s", c.program,
				c.zero, got, c.want)
		}
	}
	if got := ran(pregel.Erase[string, int](&readjusted{})); got != "4 3" {
		t.Errorf("of an embedded struct: %v", got)
	}
	for want, zero := range map[string]string{"names \"what\", which is no parameter": "what", "names rounds, which cannot be 0": "rounds"} {
		if _, err := engine.Complete(pregel.Erase[string, int](adjusted{}),
			[]string{zero}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", zero, err)
		}
	}
}
