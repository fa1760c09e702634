package browser

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/internal/web"
	"github.com/superstep-go/superstep/record"
)

// work records twelve supersteps of a job, with figures that differ from job to job as those of
// real jobs do.
func work(t *testing.T, l *web.Local, job string, seed int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(seed), 1))
	for i := range 12 {
		s := &record.Superstep{Job: job, Superstep: i, Scheme: "pull", Delivery: "pull"}
		s.Predicted = map[string]float64{"pull": rng.Float64() / 50, "naive": rng.Float64() / 50}
		for p := range 2 {
			s.Partitions = append(s.Partitions, record.Partition{
				Partition: p, Computed: rng.IntN(1e6) + 1, Messages: rng.IntN(1e7), Sent: rng.IntN(1e6),
				Bytes: rng.IntN(1e7), Memory: rng.Int64N(1 << 30),
				Times: record.Seconds{Traverse: rng.Float64() / 20, Compute: rng.Float64() / 50},
			})
		}
		s.Actual = rng.Float64() / 50
		s.End(.08)
		must(t, l.Record(s))
	}
}

// TestTheFirstPage has a thousand jobs, of which one runs and sixty wait. Current jobs are above
// past ones. These can be filtered, sorted and paged.
func TestTheFirstPage(t *testing.T) {
	t.Parallel()
	l, now := cluster(), time.Now()
	job := func(i int) *trace.Job {
		return &trace.Job{
			Job: fmt.Sprintf("m-%d", i), Program: []string{"bfs", "wcc"}[i%2],
			Graph: fmt.Sprintf("catalog:g%d", i%3), Partitions: 2, Began: now, MaxSupersteps: 100,
		}
	}
	for i := range 1000 {
		switch {
		case i < 939:
			e := &trace.End{Job: job(i).Job, State: trace.Done, Ended: trace.Converged, Seconds: float64(1 + i%7)}
			if i%100 == 0 {
				e.State, e.Ended, e.Error = trace.Failed, "", fmt.Sprintf("reason %d", i)
			}
			must(t, l.Record(job(i)))
			work(t, l, e.Job, i)
			must(t, l.Record(e))
		case i == 939:
			must(t, l.Record(job(i)))
			steps(l, job(i).Job, 0, 40, 2)
		default:
			q := job(i)
			if i == 999 {
				q.Priority = "high"
			}
			l.Queue(q, "waits for its turn")
		}
	}
	url := serve(t, l, control.Token{})
	for _, width := range []int{390, 1000, 1600} {
		b := open(t, url, width, 900)
		b.until(t, "what runs",
			`/m-939 wcc .*40 of at most 100 supersteps, .* a second, at most .* left/s.test(document.querySelector(".running")?.innerText) && document.querySelector(".running progress")?.value === 40`)
		b.until(t, "the queue",
			`(q => q?.innerText.startsWith("Queue: 60 jobs wait") && /^1\s+m-999 wcc\s.*waits for its turn$/s.test(q.querySelector("tbody tr").innerText))(document.querySelector("[aria-label^=Queue]"))`)
		b.until(t, "failures",
			`(f => f?.querySelectorAll("tbody tr").length === 10 && f.innerText.includes("reason 900"))(document.querySelector("[aria-label='Failed in the last day: 10 jobs']"))`)
		b.until(t, "the workers",
			`document.querySelector(".now").innerText.includes("Workers: 1 ")`)
		const rows, first = `document.querySelectorAll("[aria-label='List of jobs'] tbody tr")`,
			`document.querySelector("[aria-label='List of jobs'] tbody tr").innerText`
		b.until(t, "the newest fifty", rows+`.length === 50 && `+first+`.startsWith("m-999")`)
		var bytes int
		b.do(t, chromedp.Evaluate(`performance.getEntriesByType("resource").concat(performance.getEntriesByType("navigation")).reduce((n, e) => n + e.transferSize, 0)`, &bytes))
		if bytes == 0 || bytes >= 100<<10 {
			t.Errorf("at %d pixels: %d bytes, expected less than 100 KiB", width, bytes)
		}
		var answered, painted float64
		b.do(t, chromedp.Evaluate(`Math.max(...performance.getEntriesByType("resource").filter(e => e.responseEnd < 60e3).slice(0, 12).map(e => e.responseEnd))`, &answered),
			chromedp.Evaluate(`performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0`, &painted))
		t.Logf("%d bytes; the first text after %.0f ms, the last answer after %.0f ms", bytes, painted, answered)
		for _, is := range []bool{false, true} {
			var low string
			b.do(t, dark(is), chromedp.Sleep(settle), chromedp.Evaluate(contrast, &low))
			if low != "" {
				t.Errorf("width %d, dark %t: too little contrast: %s", width, is, low)
			}
		}
		var wide bool
		b.do(t, chromedp.Evaluate(`document.documentElement.scrollWidth > innerWidth`, &wide))
		if wide {
			t.Errorf("at %d pixels the page is wider than the window", width)
		}
		// with the keyboard
		b.do(t, chromedp.Evaluate(`[...document.querySelectorAll(".pages button")].at(-1).focus()`,
			nil), chromedp.KeyEvent(kb.Enter))
		b.until(t, "the next page", first+`.startsWith("m-949") && document.querySelector(".pages").innerText.includes("51 to 100 of 1,000")`)
		b.do(t, chromedp.SendKeys("[role=search] select", "f"))
		b.until(t, "those that failed", rows+`.length === 10 && `+first+`.startsWith("m-900")`)
		b.do(t, chromedp.SendKeys("[role=search] [name=graph]", "g2"),
			chromedp.SendKeys("[role=search] [name=program]", "BFS"))
		b.until(t, "those of a graph", rows+`.length === 3`)
		b.do(t, chromedp.SendKeys("[role=search] [name=text]", "REASON 500"))
		b.until(t, "one reason", rows+`.length === 1 && `+first+`.startsWith("m-500")`)
		b.do(t, chromedp.SendKeys("[role=search] [name=text]", "0"))
		b.until(t, "none", rows+`.length === 0 && document.querySelector(".pages [role=status]").innerText === "No job matches."`)
		b.do(t, chromedp.Evaluate(`location.reload()`, nil))
		b.until(t, "all again", rows+`.length === 50`)
		b.do(t, chromedp.Evaluate(`[...document.querySelectorAll("[aria-label='List of jobs'] th button")].find(x => x.innerText === "time").focus()`, nil), chromedp.KeyEvent(kb.Enter))
		b.until(t, "the longest", `document.querySelector("[aria-sort=descending]")?.innerText === "time" && `+first+`.includes("7 s")`)
		b.clean(t)
	}
}
