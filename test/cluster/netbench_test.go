//go:build linux

package cluster_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/netbench"
	"github.com/superstep-go/superstep/test/hosts"
)

// measure runs netbench on the cluster.
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

// TestMessagesOnALinkWithDelayArePredicted: on a link with a delay of 1 ms each way, the predicted
// times of messages from 4 to 64 KiB include the delay, and are at most ten times the measured ones,
// in one of three measurements. With SUPERSTEP_ROUNDS above 1, on a quiet machine, they are right
// within 15 %. Those of larger messages depend on the congestion window, which grows while they are
// measured.
func TestMessagesOnALinkWithDelayArePredicted(t *testing.T) {
	const delay = time.Millisecond
	c := start(t, 2, map[int]hosts.Wire{2: {Delay: delay}})
	quiet := number("SUPERSTEP_ROUNDS", 1) > 1
	for last := range 3 {
		wrong := 0
		r := c.measure("--collectives", "point-to-point", "--sizes", "4KiB..64KiB", "--repetitions", "9")
		for _, x := range r.Points {
			if x.Algorithm != netbench.Direct {
				continue
			}
			least := math.Abs(x.Least-x.Predicted) / x.Least
			t.Logf("%d bytes: %.3f ms, least %.3f, predicted %.3f: off by %.0f %%, of the least by %.0f %%",
				x.Bytes, 1e3*x.Seconds, 1e3*x.Least, 1e3*x.Predicted, 100*x.Error, 100*least)
			if quiet && min(least, x.Error) > .15 || x.Predicted < .85*delay.Seconds() ||
				x.Predicted > 10*x.Least {
				wrong++
			}
		}
		if wrong == 0 {
			return
		}
		if last == 2 {
			t.Errorf("%d predictions are wrong", wrong)
		}
	}
}

// TestALinkWithDelayIsFilled: on a link with a delay of 1 ms each way, messages of 1 MB reach at
// least 80 % of the link's rate, and of the rate of a bare TCP connection. The fastest repetitions
// count, because the wire is a program that the machine's other work delays.
func TestALinkWithDelayIsFilled(t *testing.T) {
	// bytes per second; at a higher rate the wire would need the whole machine
	const rate = 16 << 20
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
