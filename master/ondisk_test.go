package master

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/store"
)

// heldStore is a store in which all writes but the first wait until let is closed.
type heldStore struct {
	store.Store
	writes int // only the goroutine that writes the state uses it
	let    chan struct{}
}

func (h *heldStore) Put(ctx context.Context, name string, data io.ReaderAt, size int64) error {
	if h.writes++; h.writes > 1 {
		<-h.let
	}
	return h.Store.Put(ctx, name, data, size)
}

// TestLoadIsAnsweredFromDisk: the answer to a load has the outcome of the load only after the
// outcome is on disk, even if something else wakes the call before.
func TestLoadIsAnsweredFromDisk(t *testing.T) {
	data := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Config{Options: Options{Data: data, Retries: -1}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.gone()
		held := &heldStore{Store: s.state.Store, let: make(chan struct{})}
		s.state.Store = held
		go s.write()
		s.event(func() {
			n, err := s.cluster.registerBy(0, "", &control.RegisterRequest{
				Name: "w", Instance: "i", Protocol: control.Protocol,
				Programs: s.cluster.programs,
			})
			if err == nil {
				err = s.cluster.attach(0, "w", n, nil)
			}
			if err != nil {
				t.Error(err)
			}
		})
		answered := make(chan error, 1)
		go func() {
			_, err := s.LoadGraph(t.Context(), &control.LoadGraphRequest{
				Name: "g", SourceJson: jobspec.Text(&jobspec.Source{Input: "path:vertices=3"}),
			})
			answered <- err
		}()
		await := func(state control.GraphState) {
			for there := false; !there; {
				<-time.After(time.Second)
				s.mu.Lock()
				there = s.cluster.graphs["g"] != nil && s.cluster.graphs["g"].state == state
				s.mu.Unlock()
			}
		}
		await(control.GraphState_GRAPH_STATE_FAILED) // the worker has no session
		s.mu.Lock()
		s.wake()
		s.mu.Unlock()
		synctest.Wait()
		select {
		case err := <-answered:
			t.Errorf("answered before the outcome is on disk: %v", err)
		default:
		}
		close(held.let)
		if err := <-answered; err == nil || !strings.Contains(err.Error(), "worker w was lost") {
			t.Errorf("found %v", err)
		}
		close(s.commits.end)
		<-s.commits.ended
		s.work.Wait()
	})
}
