package master

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/control"
)

// TestAFailureIsLoggedAsAnError: only a failed job is logged as an error.
func TestAFailureIsLoggedAsAnError(t *testing.T) {
	for state, want := range map[control.JobState]string{
		control.JobState_JOB_STATE_FAILED:  "level=ERROR",
		control.JobState_JOB_STATE_RUNNING: "level=INFO",
	} {
		var said bytes.Buffer
		s := &server{log: slog.New(slog.NewTextHandler(&said, nil)), ctx: t.Context()}
		s.logJob(jobTurned{job: &job{id: "m-1"}, state: state, reason: "why"})
		if !strings.HasPrefix(said.String(), "time=") || !strings.Contains(said.String(), want) ||
			!strings.Contains(said.String(), "reason=why") {
			t.Errorf("%v is logged as %s", state, &said)
		}
	}
}
