package cli

import (
	"io"
	"runtime"
	"strings"
	"testing"
)

// TestNothingIsRecordedUnasked: without --trace and a collector there is no journal, so that the engine takes the path
// without records, which allocates nothing (engine's TestAllocations), and nothing runs beside it.
func TestNothingIsRecordedUnasked(t *testing.T) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"} {
		t.Setenv(name, "")
	}
	a := &app{err: io.Discard}
	before := runtime.NumGoroutine()
	to, finish, err := a.recordTo(t.Context(), &runFlags{}, "superstep run")
	if err != nil || to != nil {
		t.Fatalf("found %v, %v", to, err)
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines, %d before", after, before)
	}
	if err := finish(); err != nil {
		t.Error(err)
	}
}

func TestBadEndpointIsBadUsage(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317")
	var out, err strings.Builder
	if status := Run("superstep", []string{"run", "bfs", "--graph", "star:vertices=3", "-p", "source=0"}, nil, &out, &err); status != exitUsage {
		t.Errorf("status %d: %s", status, err.String())
	}
	if want := "superstep: OTEL_EXPORTER_OTLP_ENDPOINT: found \"collector:4317\", expected a URL such as http://127.0.0.1:4318\n"; err.String() != want {
		t.Errorf("found %q", err.String())
	}
}
