package engine_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/pregel"
)

// TestMessageCountsOfUeno13 reproduces Table 1 of Ueno13. On a uniform random graph with mean
// degree 32, it compares two counts: values between partitions if each partition gets a sender's
// message once, and messages between partitions one by one.
func TestMessageCountsOfUeno13(t *testing.T) {
	if raced {
		t.Skip("it counts, and one goroutine does so")
	}
	const n = 1 << 13 // the table's 1M gives the same ratios, and so does 1 << 17
	team := parallel.NewTeam(2, false)
	defer team.Close()
	for _, c := range []struct {
		partitions int
		ratio      float64 // in the table
	}{{2, 0.0625}, {4, 0.125}, {8, 0.245}, {16, 0.432}, {32, 0.632}, {64, 0.787}} {
		t.Run(fmt.Sprintf("partitions=%d", c.partitions), func(t *testing.T) {
			in, err := generate.Input(t.Context(), generate.Uniform{N: n, Degree: 32, Seed: 5},
				generate.Options{Team: team})
			check(t, err)
			defer in.Close()
			g, err := build.Local(t.Context(), in,
				graph.Options{Partitions: c.partitions, Team: team})
			check(t, err)
			defer g.Close()
			// every vertex sends to all its neighbours once
			once := algorithms.PageRank{Damping: 0.85, Iterations: 1}
			sent := func(o engine.Options) int {
				o.Team = team
				job, err := engine.NewJob(t.Context(), g, pregel.Erase(once), o)
				check(t, err)
				defer job.Close()
				outcome, err := job.Run(t.Context())
				check(t, err)
				if outcome.Messages != 2*32*n { // the last superstep's are not delivered
					t.Errorf("%d messages, want %d", outcome.Messages, 2*32*n)
				}
				return outcome.Sent
			}
			naive := sent(engine.Options{Delivery: delivery.ChooseNaive, Experiment: delivery.Experiment{Uncombined: true}})
			bitmaps := sent(engine.Options{Delivery: delivery.ChoosePull})
			ratio := float64(bitmaps) / float64(naive)
			t.Logf("%d values against %d messages: %.4f, Table 1 has %.4f", bitmaps, naive, ratio,
				c.ratio)
			if math.Abs(ratio/c.ratio-1) > 0.02 {
				t.Errorf("ratio %.4f, want %.4f within 2 %%", ratio, c.ratio)
			}
			p := float64(c.partitions)
			if formula := p * (1 - math.Pow(1-1/p, 32)) / 32; math.Abs(ratio/formula-1) > 0.02 {
				t.Errorf("ratio %.4f, and by (4)/(1) %.4f", ratio, formula)
			}
		})
	}
}
