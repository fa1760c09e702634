package testcluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/client"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/master"
	"github.com/superstep-go/superstep/pregel"
)

// talking runs fast supersteps in which the coordinator and a vertex log lines. The vertex waits at
// gates, by superstep.
type talking struct{ gates map[int]*gate }

// talks is the number of supersteps of a talking program. A master keeps more records.
const talks = 1500

func (talking) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }

func (talking) Coordinate(c *pregel.Coordinator) {
	if c.Superstep%10 == 0 {
		c.Logf("it begins")
	}
}

func (p talking) Compute(v *pregel.Vertex[int64, int64], _ int64) {
	if v.ID() > 0 || v.Superstep() == talks-1 {
		v.VoteToHalt()
		return
	}
	if v.Superstep()%10 == 5 {
		v.Logf("it runs")
	}
	if g := p.gates[v.Superstep()]; g != nil {
		g.reached <- struct{}{}
		<-g.open
	}
}

// TestNothingIsLostWithASession: a worker's connection is cut and missing for a while. Watchers
// still receive all reports of the run, once and in order, even if the master restarts meanwhile.
func TestNothingIsLostWithASession(t *testing.T) {
	t.Parallel()
	for _, restarts := range []bool{false, true} {
		t.Run(fmt.Sprintf("master restarts %t", restarts), func(t *testing.T) {
			t.Parallel()
			// supersteps before and after which the connection is cut
			const before, after = 300, 1200
			p := talking{map[int]*gate{before: newGate(), after: newGate()}}
			c := Start(t, 0, master.Config{Options: master.Options{Data: t.TempDir()}},
				engine.Register("talking", pregel.Erase(p)))
			worker := make(observed, 1000)
			c.Worker.Observe = worker
			c.StartWorker("w0")
			c.Await(1)
			worker.await(t, "session: true")
			cl, err := client.New(client.Options{Address: c.Address, Log: func(string) {}})
			if err != nil {
				t.Fatal(err)
			}
			defer cl.Close()
			id := c.submitSpec(t,
				&job.Spec{Program: "talking", Source: &job.Source{Input: "path:vertices=9"}}).Id
			var ended *control.Job
			var records []int
			var lines []string
			at, followed := &client.Place{}, make(chan error, 1)
			go func() {
				var err error
				ended, err = cl.Wait(context.Background(), id, at, func(e *control.JobEvent) error {
					if e.GetRecord() != nil {
						records = append(records, stepOf(t, e).Superstep)
					}
					if talked(e) {
						lines = append(lines, e.GetLog().Text)
					}
					return nil
				})
				followed <- err
			}()

			p.gates[before].await(t)
			c.Until("what was told until then", func() bool { return c.job(t, id).Supersteps > 0 })
			c.Freeze("w0")
			close(p.gates[before].open)
			p.gates[after].await(t)
			swallowed := &c.Process("w0").wires.swallowed
			c.Until("what is told into the cut", func() bool { return swallowed.Load() > 100<<10 })
			if restarts {
				c.StopMaster()
			}
			c.Thaw("w0")
			c.Break("w0")
			worker.await(t, "session: false")
			if restarts {
				c.StartMaster(c.Address)
			}
			worker.await(t, "session: true")
			close(p.gates[after].open)
			select {
			case err = <-followed:
			case <-time.After(patience):
				err = context.DeadlineExceeded
			}
			if err != nil || ended.State != control.JobState_JOB_STATE_DONE || ended.Epoch != 1 ||
				at.Missed != 0 {
				t.Fatalf("found %v, %v, %d events missed", ended, err, at.Missed)
			}
			var steps []int
			var logged []string
			for i := range talks {
				steps = append(steps, i)
				switch i % 10 {
				case 0:
					logged = append(logged, fmt.Sprintf("coordinator, superstep %d: it begins", i))
				case 5:
					logged = append(logged, fmt.Sprintf("vertex 1, superstep %d: it runs", i))
				}
			}
			if !slices.Equal(records, steps) {
				t.Errorf("found records of the supersteps %v", records)
			}
			if !slices.Equal(lines, logged) {
				t.Errorf("found the lines %q", lines)
			}
			var kept []string
			if err := cl.Events(t.Context(), id, func(e *control.JobEvent) error {
				if talked(e) {
					kept = append(kept, e.GetLog().Text)
				}
				return nil
			}); err != nil || !slices.Equal(kept, logged) {
				t.Errorf("the log that is kept has %q, %v", kept, err)
			}
		})
	}
}

// talked reports whether an event is a line of the program. On a slow machine the worker also warns
// that a checkpoint was not stored while the connection was cut.
func talked(e *control.JobEvent) bool {
	return strings.HasSuffix(e.GetLog().GetText(), ": it begins") ||
		strings.HasSuffix(e.GetLog().GetText(), ": it runs")
}
