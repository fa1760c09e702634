package testcluster

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/master"
	"github.com/superstep-go/superstep/pregel"
)

// reluctant is a program whose result cannot be written until letGo is closed.
type reluctant struct{}

// letGo is closed when results can be written.
var letGo = make(chan struct{})

func (reluctant) Compute(v *pregel.Vertex[int64, int64], _ []int64) { v.VoteToHalt() }

func (reluctant) Output(dst []byte, x int64) []byte {
	select {
	case <-letGo:
	case <-time.After(patience):
		panic("nobody saw that the result is gathered")
	}
	return strconv.AppendInt(dst, x, 10)
}

// TestAResultIsCountedAsItIsGathered: watchers see the number of vertices whose values have
// arrived.
func TestAResultIsCountedAsItIsGathered(t *testing.T) {
	c := Start(t, 2, master.Config{},
		engine.Register("reluctant", pregel.Erase(pregel.List(reluctant{}))))
	j := c.submitSpec(t,
		&job.Spec{Program: "reluctant", KeepResult: true, Source: &job.Source{Input: "path:vertices=1000"}})
	var once sync.Once
	j, _ = c.watch(t, j.Id, func(e *control.JobEvent) {
		p := e.GetProgress()
		if p.GetStage() != "gathering the result" || p.Total < 1000 {
			return // not all workers have reported
		}
		if p.Total != 1000 || p.Done > p.Total {
			t.Errorf("found %d of %d vertices, expected 1000", p.Done, p.Total)
		}
		once.Do(func() { close(letGo) })
	})
	if j.State != control.JobState_JOB_STATE_DONE {
		t.Fatalf("%s: %s", j.State.Word(), j.Reason)
	}
	if n := len(c.result(t, j.Id)); n != 1000 {
		t.Errorf("%d values", n)
	}
}
