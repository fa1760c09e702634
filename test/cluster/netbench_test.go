//go:build linux

package cluster_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/netbench"
	"github.com/superstep-go/superstep/test/hosts"
)

// measure runs a netbench on the cluster.
func (c *cluster) measure(args ...string) *netbench.Report {
	c.Helper()
	file := filepath.Join(c.dir, "netbench.json")
	out, err := c.client(append([]string{"netbench", "--json", file, "--quiet"}, args...)...)
	if err != nil {
		c.Fatal(err)
	}
	c.Log(out)
	data, err := os.ReadFile(file)
	if err != nil {
		c.Fatal(err)
	}
	r := new(netbench.Report)
	if err := json.Unmarshal(data, r); err != nil {
		c.Fatal(err)
	}
	return r
}

// TestALinkWithDelayIsFilled: on a link of 1 ms delay each way messages of 1 MB get at least 80 %
// of what the link gives, by its rate and beside a TCP connection that carries nothing else. Of the
// repetitions the fastest count: the wire is a program, which others on the machine hold up.
func TestALinkWithDelayIsFilled(t *testing.T) {
	const rate = 16 << 20 // bytes per second; at a few times of it the wire wants the whole machine
	c := start(t, 2, map[int]hosts.Wire{2: {Delay: time.Millisecond, Rate: rate}})
	r := c.measure("--collectives", "stream", "--sizes", "1MiB", "--repetitions", "3")
	if len(r.Points) != 2 {
		t.Fatalf("measured were %v; %s", r.Points, r.NoRaw)
	}
	link, raw := r.Points[0], r.Points[1]
	ofRaw, ofWire := raw.Least/link.Least, float64(link.Bytes)/link.Least/rate
	t.Logf("%.1f MB/s: %.0f %% of raw TCP (%.0f %% by medians), %.0f %% of the wire",
		float64(link.Bytes)/link.Least/1e6, 100*ofRaw, 100*r.Shares[0].Share, 100*ofWire)
	if ofRaw < .8 || ofWire < .8 {
		t.Errorf("messages of %d bytes have %.0f %% of raw TCP's bandwidth and %.0f %% of the wire's, want 80 %%", link.Bytes, 100*ofRaw, 100*ofWire)
	}
	if p := r.Model.Pair(0, r.Ranks-1); p.Beta < time.Millisecond.Seconds() {
		t.Errorf("the fitted delay is %v s", p.Beta)
	}
}
