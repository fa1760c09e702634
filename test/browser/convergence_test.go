package browser

import (
	"math"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/internal/web"
	"github.com/superstep-go/superstep/record"
)

// converging records supersteps in the range [from, until) of a job whose change falls by a tenth
// in each, with some noise.
func converging(t *testing.T, l *web.Local, from, until int) {
	t.Helper()
	for i := from; i < until; i++ {
		noise := 1 + .05*math.Sin(float64(i*i))
		s := &record.Superstep{
			Job: "c-1", Superstep: i, Scheme: "pull", Delivery: "pull", Ended: time.Now(),
			Partitions: []record.Partition{{Computed: 1}},
			Aggregators: []record.Aggregator{
				{Name: "dangling", Value: .25}, {Name: "change", Value: math.Pow(.9, float64(i)) * noise},
			},
		}
		s.End(60)
		must(t, l.Record(s))
	}
}

// TestConvergence: aggregators are curves over the supersteps while a job runs. The page tells when
// the job converges by their trend, and how sure that is.
func TestConvergence(t *testing.T) {
	t.Parallel()
	l := cluster()
	must(t, l.Record(&trace.Job{
		Job: "c-1", Program: "pagerank", Partitions: 1, Began: time.Now(),
		Parameters: map[string]string{"tolerance": "1e-3"},
	}))
	converging(t, l, 0, 4)
	url := serve(t, l, control.Token{}) + "#/job/c-1"
	const chart = `document.querySelector(".plot[aria-label^='change by superstep']")`
	for i, width := range []int{390, 1000, 1600} {
		b := open(t, url, width, 900)
		b.until(t, "the curve", chart+`?.querySelector(".u-wrap canvas")?.width > 0`)
		if i == 0 {
			b.until(t, "no estimate from four supersteps", `!document.querySelector(".converges")`)
			converging(t, l, 4, 40)
		}
		// .9^n is below 1e-3 from n = 65.6 on
		b.until(t, "the estimate", `(found => found && +found[1] >= 25 && +found[1] <= 28 && +found[2] >= 20 && +found[2] < +found[1] && +found[3] > +found[1] && +found[3] <= 32 && found[4] === found[1])
			(/^By the trend of change over 12 supersteps, it falls below 0\.001 in about (\d+) supersteps \(probably (\d+) to (\d+)\), about (\d+) min 0 s left\.$/.exec(document.querySelector(".converges")?.innerText))`)
		b.until(t, "only curves of values that differ", `document.querySelectorAll(".plot[aria-label*=' by superstep, ']").length === 1`)
		b.do(t, chromedp.Evaluate(chart+`.scrollIntoView({block: "center"})`, nil))
		for _, is := range []bool{false, true} {
			var low, blank string
			b.do(t, dark(is), chromedp.Sleep(settle), chromedp.Evaluate(contrast, &low),
				chromedp.Evaluate(`(c => new Uint32Array(c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer).some(p => p !== 0) ? "" : "blank")(`+chart+`.querySelector("canvas"))`, &blank))
			if low+blank != "" {
				t.Errorf("width %d, dark %t: %s %s", width, is, low, blank)
			}
		}
		var wide bool
		b.do(t, chromedp.Evaluate(`document.documentElement.scrollWidth > innerWidth`, &wide))
		if wide {
			t.Errorf("at %d pixels the page is wider than the window", width)
		}
		if i == 2 {
			must(t, l.Record(&trace.End{Job: "c-1", State: trace.Done, Ended: trace.Converged}))
			b.until(t, "the end", `document.querySelector(".state.done") && !document.querySelector(".converges") && `+chart)
		}
		b.clean(t)
	}
}
