package cli_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// TestTracesOfARun: a run sends a trace if the environment names a collector.
func TestTracesOfARun(t *testing.T) {
	var mu sync.Mutex
	names := map[string]int{}
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, err := io.ReadAll(r.Body)
		var data tracepb.TracesData
		if err == nil {
			err = proto.Unmarshal(body, &data)
		}
		if err != nil {
			t.Error(err)
		}
		for _, rs := range data.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				for _, s := range ss.Spans {
					names[s.Name]++
				}
			}
		}
	}))
	defer collector.Close()
	for _, args := range []string{
		"run bfs --graph path:vertices=5 -p source=0 --partitions 2",
		"graph500 --scale 6 --roots 2",
	} {
		c := exec.CommandContext(t.Context(), "superstep", strings.Fields(args)...)
		c.Env = append(os.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL)
		c.Dir = t.TempDir()
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", args, err, out)
		}
	}
	for name, n := range map[string]int{"superstep run": 1, "superstep graph500": 1, "job bfs": 1, "superstep 0": 3} {
		if names[name] < n {
			t.Errorf("%d spans %s, expected %d or more: %v", names[name], name, n, names)
		}
	}
	if names["traverse"]+names["compute"] == 0 {
		t.Errorf("no spans of phases: %v", names)
	}
}
