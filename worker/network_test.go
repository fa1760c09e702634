package worker

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/testcluster/memlink"
)

// TestWorkersMeasureWhenTheFirstHasNot: workers at two sites measure the network at their first
// load, but not at the next one. They measure again if the first worker has forgotten the results,
// or after a long time. The measurements determine the algorithms, and are reported to jobs.
func TestWorkersMeasureWhenTheFirstHasNot(t *testing.T) {
	near := memlink.Cost{Alpha: 1e-9, Beta: 40e-6, Gap: 10e-6}
	far := memlink.Cost{Alpha: 1e-8, Beta: 10e-3, Gap: 20e-6}
	sites := []string{"a", "b", "a", "b"}
	synctest.Test(t, func(t *testing.T) {
		memory := memlink.New(len(sites), func(from, to int) memlink.Cost {
			if sites[from] == sites[to] {
				return near
			}
			return far
		})
		var placements []*control.Placement
		var executors []*executor
		for i, site := range sites {
			name := fmt.Sprintf("w%d", i)
			placements = append(placements,
				&control.Placement{Partition: uint32(i), Worker: name, Incarnation: 7, Site: site})
			executors = append(executors,
				newExecutor(
					&Config{Options: Options{Name: name, Log: slog.New(slog.DiscardHandler)}}))
		}
		load := func() (took time.Duration) {
			start := time.Now()
			var all sync.WaitGroup
			errs := make([]error, len(executors))
			chosenBy := make([]string, len(executors))
			for rank, x := range executors {
				part := func() error {
					at := placesOf(placements)
					g, err := at.group(memory.Link(rank))
					if err != nil {
						return err
					}
					if err := x.calibrate(t.Context(), g, &at, 0); err != nil {
						return err
					}
					if m := g.Model(); m.Sites[0] != m.Sites[2] || m.Sites[0] == m.Sites[1] {
						return fmt.Errorf("sites %v", m.Sites)
					} else if p := m.Pair(0, 1); math.Abs(p.Beta/far.Beta-1) > .05 {
						return fmt.Errorf("measured %+v, expected %+v", p, far)
					}
					chosenBy[rank] = fmt.Sprint(*g.Model())
					return g.Barrier(t.Context(), collective.Call{Tag: 0})
				}
				all.Go(func() { errs[rank] = part() })
			}
			all.Wait()
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
			if len(slices.Compact(chosenBy)) != 1 {
				t.Errorf("they choose by different models: %s", chosenBy)
			}
			return time.Since(start)
		}
		measured := 30 * time.Duration(far.Beta*float64(time.Second))
		for _, step := range []struct {
			name     string
			before   func()
			measures bool
		}{
			{"the first load", func() {}, true},
			{"the second", func() {}, false},
			{"one has forgotten", func() { executors[2].network = network{} }, false},
			{"the first has forgotten", func() { executors[0].network = network{} }, true},
			{"the next", func() {}, false},
			{"one knows something else", func() {
				for _, m := range executors[1].network.models {
					other := *m.model
					other.Pairs = slices.Clone(other.Pairs)
					other.Pairs[1].Beta *= 1.01
					m.model = &other
				}
			}, false},
			{"the one after", func() {}, false},
			{"much later", func() { <-time.After(measuredFor) }, true},
		} {
			step.before()
			if took := load(); (took > measured) != step.measures {
				t.Errorf("%s took %v", step.name, took)
			}
		}
		at := placesOf(placements)
		// To one near and two far workers.
		got := executors[0].network.cost("w0", at.layout.Workers, unseen)
		if math.Abs(got.Beta/far.Beta-1) > .05 ||
			math.Abs(got.Alpha/((near.Alpha+2*far.Alpha)/3)-1) > .1 {
			t.Errorf("cost %+v", got)
		}
		if got := newExecutor(nil).network.cost("w0", at.layout.Workers,
			unseen); got != collective.Unmeasured {
			t.Errorf("cost %+v of an unmeasured path", got)
		}
		if got := newExecutor(nil).network.cost("w0", at.layout.Workers[:1],
			unseen); got != (collective.Pair{}) {
			t.Errorf("cost %+v of a worker alone", got)
		}
	})
}
