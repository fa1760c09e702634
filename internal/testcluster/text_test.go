package testcluster

import (
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/master"
	"github.com/superstep-go/superstep/pregel"
)

// texts gives every vertex a text with a line break. One vertex gets a long text.
type texts struct {
	Long int `param:"long"`
}

func (p texts) Compute(v *pregel.Vertex[string, int64], _ []int64) {
	if v.Set("x\n0 y"); v.Label() == 1 {
		v.Set(strings.Repeat("z", p.Long))
	}
	v.VoteToHalt()
}

// silent is a program whose values have no text form.
type silent struct{}

func (silent) Compute(v *pregel.Vertex[*int, int64], _ []int64) { v.VoteToHalt() }

// TestValuesAsTextOnACluster: a cluster writes and refuses the same values as one process.
func TestValuesAsTextOnACluster(t *testing.T) {
	program := engine.Register("texts", pregel.Erase(pregel.List(texts{})))
	c := Start(t, 2, master.Config{}, program,
		engine.Register("silent", pregel.Erase(pregel.List(silent{}))))
	spec := &job.Spec{Program: "texts", KeepResult: true, Source: &job.Source{Input: "path:vertices=4"}, Parameters: map[string]string{"long": "1000000"}}
	j, _ := c.watch(t, c.submitSpec(t, spec).Id, func(*control.JobEvent) {})
	if j.State != control.JobState_JOB_STATE_DONE {
		t.Fatal(j.Reason)
	}
	want, _ := alone(t, program, spec.Parameters, spec.Source.Input, nil)
	got := c.result(t, j.Id)
	for v, text := range want {
		if got[v] != text || v != 1 && text != `"x\n0 y"` {
			t.Errorf("vertex %d: %.20q, alone %.20q", v, got[v], text)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d values, want %d", len(got), len(want))
	}
	spec.Parameters["long"] = "1048576"
	j, _ = c.watch(t, c.submitSpec(t, spec).Id, func(*control.JobEvent) {})
	if j.State != control.JobState_JOB_STATE_FAILED || !strings.Contains(j.Reason,
		"the value of vertex 1 takes 1048576 bytes: with its id it may take 1048575") {
		t.Errorf("a long value: %s, %.200q", j.State.Word(), j.Reason)
	}
	spec = &job.Spec{Program: "silent", KeepResult: true, Source: spec.Source}
	_, err := c.Client.SubmitJob(t.Context(),
		&control.SubmitJobRequest{SpecJson: job.Text(spec)})
	if connect.CodeOf(err) != connect.CodeInvalidArgument ||
		!strings.Contains(err.Error(), "*int has no text") {
		t.Errorf("values without a text: %v", err)
	}
}

// naming adds a vertex. Its id is the value of all other vertices.
type naming struct{}

func (naming) Traits() pregel.Traits { return pregel.Traits{Mutates: true} }

func (naming) Compute(v *pregel.Vertex[pregel.VertexID, int64], _ []int64) {
	if v.VoteToHalt(); v.Superstep() > 0 {
		return
	}
	if v.Set(v.Change().NextID()); v.ID() == 0 {
		v.Change().AddVertex(v.Change().NextID(), v.Change().NextID())
	}
}

// TestAddedVerticesAsValues: values may be the id of an added vertex.
func TestAddedVerticesAsValues(t *testing.T) {
	c := Start(t, 2, master.Config{},
		engine.Register("naming", pregel.Erase(pregel.List(naming{}))))
	spec := &job.Spec{Program: "naming", KeepResult: true, Source: &job.Source{Input: "path:vertices=5"}}
	j, _ := c.watch(t, c.submitSpec(t, spec).Id, func(*control.JobEvent) {})
	if j.State != control.JobState_JOB_STATE_DONE {
		t.Fatal(j.Reason)
	}
	got := c.result(t, j.Id)
	for v := range uint64(6) {
		if got[v] != "5" {
			t.Errorf("vertex %d names %s, expected 5", v, got[v])
		}
	}
	if len(got) != 6 {
		t.Errorf("%d values, expected 6", len(got))
	}
}
