package testcluster

import (
	"context"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/store"
	"github.com/superstep-go/superstep/master"
	"github.com/superstep-go/superstep/pregel"
)

// witnessed is what happens while a job of countingCalls runs.
type witnessed struct {
	partitions int
	mu         sync.Mutex
	computed   [lossAt + 8]map[pregel.VertexID]int // calls of Compute, by superstep and vertex

	parts    atomic.Int64  // that are yet to be stored
	stored   chan struct{} // closed when they are
	manifest chan struct{} // closed when a checkpoint is
	once     sync.Once
	reached  chan struct{} // by the first vertex of each partition, in superstep lossAt
	open     chan struct{}
}

// The supersteps of countingCalls: a checkpoint is due before superstep 5, its parts are stored in storedAt, and a worker is lost in lossAt.
const (
	storedAt = 10
	lossAt   = 20
)

func newWitnessed(partitions int) *witnessed {
	o := &witnessed{
		partitions: partitions, stored: make(chan struct{}), manifest: make(chan struct{}), reached: make(chan struct{}, partitions), open: make(chan struct{}),
	}
	o.parts.Store(int64(partitions))
	for i := range o.computed {
		o.computed[i] = map[pregel.VertexID]int{}
	}
	return o
}

// wait waits for something, at most for a while: then the test fails by what did not happen.
func wait(c <-chan struct{}) {
	select {
	case <-c:
	case <-time.After(patience):
	}
}

// countingCalls has every vertex sum up what it gets, and counts its calls.
type countingCalls struct{ at *atomic.Pointer[witnessed] }

func (countingCalls) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }

func (p countingCalls) Compute(v *pregel.Vertex[int64, int64], sum int64) {
	if o := p.at.Load(); o != nil {
		o.mu.Lock()
		o.computed[v.Superstep()][v.ID()]++
		o.mu.Unlock()
		switch first := v.ID() < pregel.VertexID(o.partitions); {
		case first && v.Superstep() == storedAt:
			wait(o.stored)
		case v.ID() == 0 && v.Superstep() == lossAt-2:
			wait(o.manifest)
		case first && v.Superstep() == lossAt:
			select {
			case o.reached <- struct{}{}:
			default: // of the attempt after
			}
			wait(o.open)
		}
	}
	v.Set(v.Value()*7 + sum + int64(v.Label()))
	if v.Superstep() == lossAt+7 {
		v.VoteToHalt()
		return
	}
	v.SendToAllNeighbors(v.Value() % 1000)
}

// witnessedStore tells of what is stored.
type witnessedStore struct {
	store.Store
	at *atomic.Pointer[witnessed]
}

func (s witnessedStore) Put(ctx context.Context, name string, data io.ReaderAt, size int64) error {
	err := s.Store.Put(ctx, name, data, size)
	if o := s.at.Load(); o != nil && err == nil && o.parts.Add(-1) == 0 {
		close(o.stored)
	}
	return err
}

func (s witnessedStore) PutIfAbsent(ctx context.Context, name string, data []byte) error {
	err := s.Store.PutIfAbsent(ctx, name, data)
	if o := s.at.Load(); o != nil && err == nil {
		o.once.Do(func() { close(o.manifest) })
	}
	return err
}

// TestLostPartitionsAloneAreComputedAgain kills a worker in a superstep: only its partition is computed again, by a worker that has another one, or by one that
// had none; where that cannot be, all are. The result is that of a run in which nobody is lost.
func TestLostPartitionsAloneAreComputedAgain(t *testing.T) {
	const partitions = 4
	for _, c := range []struct {
		name, kill, log string
		workers         int
		confined        bool
	}{
		{"a survivor takes it", "w3", "partition 3 alone is computed again, by worker w0", 4, true},
		{"a spare worker takes it", "w2", "partition 2 alone is computed again, by worker w4", 5, true},
		{"the driver is lost", "w0", "all partitions are computed again: worker w0, which drove the run, was lost", 4, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := new(atomic.Pointer[witnessed])
			cluster := Start(t, 0, master.Config{Options: master.Options{
				Lease: control.Lease, Retries: 2, Checkpoints: t.TempDir(), CheckpointEvery: 5, ConfinedRecovery: true,
			}}, engine.Register("counting-calls", countingCalls{at}))
			cluster.Worker.Stores = func(place string) (store.Store, error) {
				s, err := store.Open(place)
				return witnessedStore{s, at}, err
			}
			for i := range c.workers {
				cluster.StartWorker(fmt.Sprintf("w%d", i))
			}
			cluster.Await(c.workers)
			spec := &control.JobSpec{Program: "counting-calls", Source: &control.GraphSource{Input: "kronecker:scale=8"}, KeepResult: true, Rows: partitions, Columns: 1}
			j, _ := cluster.watch(t, cluster.submitSpec(t, spec).Id, nil)
			want, supersteps := cluster.result(t, j.Id), j.Supersteps

			o := newWitnessed(partitions)
			at.Store(o)
			var log []string
			lost := false
			j, _ = cluster.watch(t, cluster.submitSpec(t, spec).Id, func(e *control.JobEvent) {
				if l := e.GetLog(); l != nil {
					log = append(log, l.Text)
				}
				if e.GetJob().GetState() == control.JobState_JOB_STATE_RUNNING && !lost {
					lost = true
					for range partitions {
						wait(o.reached)
					}
					cluster.Kill(c.kill)
					close(o.open)
				}
			})
			if j.State != control.JobState_JOB_STATE_DONE || j.Epoch != 2 || j.Supersteps != supersteps {
				t.Fatalf("found %s %q, attempt %d, %d supersteps, expected %d\n%s", j.State.Word(), j.Reason, j.Epoch, j.Supersteps, supersteps, strings.Join(log, "\n"))
			}
			if got := cluster.result(t, j.Id); len(got) == 0 || !maps.Equal(got, want) {
				t.Error("the result is another than without a loss")
			}
			if text := strings.Join(log, "\n"); !strings.Contains(text, c.log) {
				t.Errorf("the job's log has no line %q:\n%s", c.log, text)
			}
			o.mu.Lock()
			defer o.mu.Unlock()
			again := [partitions]int{} // supersteps before the loss
			for s, calls := range o.computed[:lossAt] {
				for i := range again {
					n := calls[pregel.VertexID(i)]
					if n == 2 {
						again[i]++
					} else if n != 1 {
						t.Errorf("superstep %d of partition %d ran %d times", s, i, n)
					}
				}
			}
			for i, n := range again {
				if all := !c.confined || c.kill == fmt.Sprintf("w%d", i); all != (n > 0) {
					t.Errorf("partition %d computed %d supersteps again: %v", i, n, again)
				}
			}
		})
	}
}
