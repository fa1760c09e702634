package master

import (
	"context"
	"errors"
	"testing"

	"github.com/superstep-go/superstep/internal/control"
	jobspec "github.com/superstep-go/superstep/internal/job"
)

// TestSubmitOfAClientThatIsGone: a submission whose call ended while it waited for the master's
// lock creates no job.
func TestSubmitOfAClientThatIsGone(t *testing.T) {
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.unlock()
	defer s.results.close()
	request := &control.SubmitJobRequest{Key: "k", SpecJson: jobspec.Text(&jobspec.Spec{Program: "wcc", Source: &jobspec.Source{Input: "path:vertices=3"}})}
	gone, end := context.WithCancel(t.Context())
	end()
	if _, err := s.SubmitJob(gone, request); !errors.Is(err, context.Canceled) ||
		len(s.cluster.jobs) != 0 {
		t.Errorf("found %v and %d jobs", err, len(s.cluster.jobs))
	}
	if j, err := s.SubmitJob(t.Context(), request); err != nil || len(s.cluster.jobs) != 1 {
		t.Errorf("a client that is there: found %v, %v and %d jobs", j, err, len(s.cluster.jobs))
	}
}
