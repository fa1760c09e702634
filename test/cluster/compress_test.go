//go:build linux

package cluster_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/superstep-go/superstep/test/hosts"
)

// TestCompressionOnASlowLink runs one job with compressible messages on two clusters. In each, one
// worker is on a slow wire. With compression fewer bytes cross it in less time, and the result is
// the same. The faster of two runs counts, because the machine's other work only adds time.
func TestCompressionOnASlowLink(t *testing.T) {
	type run struct {
		bytes   int64
		seconds float64
		result  string
	}
	runs := map[string]run{}
	for _, mode := range []string{"off", "auto"} {
		t.Run(mode, func(t *testing.T) {
			c := start(t, 2,
				map[int]hosts.Wire{2: {Delay: time.Millisecond, Rate: 1 << 19}}, "--compress", mode)
			file, report := filepath.Join(c.dir, "out"), filepath.Join(c.dir, "report")
			if _, err := c.client("graphs", "load", "g", "--graph", "kronecker:scale=14",
				"--quiet"); err != nil {
				t.Fatal(err)
			}
			// the graph is loaded: only messages and the result follow
			before := c.net.Host(2).Carried()
			least := math.Inf(1)
			for range 2 {
				if _, err := c.client("run", "wcc", "--graph", "catalog:g", "--delivery", "naive",
					"--output", file, "--json", report, "--quiet"); err != nil {
					t.Fatal(err)
				}
				var r struct {
					Run float64 `json:"run_time"`
				}
				data, err := os.ReadFile(report)
				if err != nil {
					t.Fatal(err)
				}
				if err := json.Unmarshal(data, &r); err != nil {
					t.Fatal(err)
				}
				least = min(least, r.Run)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			runs[mode] = run{c.net.Host(2).Carried() - before, least, string(text)}
			t.Logf("%s: %d bytes, run %.2f s", mode, runs[mode].bytes, least)
		})
	}
	off, auto := runs["off"], runs["auto"]
	if off.result == "" || auto.result != off.result {
		t.Error("the results differ")
	}
	if auto.bytes > off.bytes*3/4 || auto.seconds >= off.seconds {
		t.Errorf("compressed %d bytes crossed the wire in %.2f s, as they are %d in %.2f s",
			auto.bytes, auto.seconds, off.bytes, off.seconds)
	}
}
