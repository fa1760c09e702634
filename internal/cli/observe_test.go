package cli

import (
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/superstep-go/superstep/record"
)

// TestNothingIsTracedUnasked: without a collector there is no exporter, and no additional
// goroutine.
func TestNothingIsTracedUnasked(t *testing.T) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"} {
		t.Setenv(name, "")
	}
	a := &app{err: io.Discard}
	others := goleak.IgnoreCurrent()
	w, err := (&seeFlags{command: "run"}).start(a, 1)
	if err != nil || w.spans != nil || len(w.Tee) != 2 {
		t.Fatalf("found %v, %v", w, err)
	}
	if err := goleak.Find(others); err != nil {
		t.Error(err)
	}
	r := &record.Superstep{Job: "bfs", Scheme: "pull", Delivery: "pull", Partitions: make([]record.Partition, 1)}
	tell := func() { r.Superstep++; _ = w.Record(r) }
	for range 100 {
		tell()
	}
	if n := testing.AllocsPerRun(1000, tell); n != 0 {
		t.Errorf("%g allocations a superstep", n)
	}
	w.close()
}

func TestBadEndpointIsBadUsage(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317")
	var out, err strings.Builder
	if status := Run("superstep",
		[]string{"run", "bfs", "--graph", "star:vertices=3", "-p", "source=0"}, nil, &out,
		&err); status != exitUsage {
		t.Errorf("status %d: %s", status, err.String())
	}
	if want := "superstep: OTEL_EXPORTER_OTLP_ENDPOINT: found \"collector:4317\", expected a URL such as http://127.0.0.1:4318\n"; err.String() != want {
		t.Errorf("found %q", err.String())
	}
}
