package browser

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/history"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/internal/web"
	"github.com/superstep-go/superstep/record"
)

// cluster returns a source whose jobs have names like those of a master. It has no job yet.
func cluster() *web.Local {
	l := web.NewLocal(web.About{Kind: "master", Name: "a cluster", Version: "test"}, 2)
	l.Store = history.NewNamedStore()
	return l
}

// TestRunsThatDifferByAParameter: a comparison names the parameter that differs.
func TestRunsThatDifferByAParameter(t *testing.T) {
	t.Parallel()
	l := cluster()
	for job, iterations := range map[string]string{"long": "300", "short": "100"} {
		must(t, l.Record(&trace.Job{
			Job: job, Program: "pagerank", Partitions: 2,
			Parameters: map[string]string{"iterations": iterations, "damping": "0.85"},
		}))
		steps(l, job, 0, 5, 2)
		must(t, l.Record(&trace.End{Job: job, State: trace.Done, Ended: trace.Iterations}))
	}
	b := open(t, serve(t, l, control.Token{})+"#/compare/long/short", 1280, 900)
	b.until(t, "the parameter",
		`document.querySelector(".differ")?.innerText.endsWith("They differ in their iterations (300 | 100).")`)
	b.clean(t)
}

// TestAJobThatFailed: the page shows the reason of a failure, the lost attempts, and the times of
// submission and start. Partitions have the names of their workers, and each delivery has one name.
func TestAJobThatFailed(t *testing.T) {
	t.Parallel()
	l, submitted := cluster(), time.Now().Add(-time.Hour)
	for range 2 {
		l.Queue(&trace.Job{Job: "j", Program: "p", Began: submitted}, "waits")
		must(t, l.Record(&trace.Job{Job: "j", Program: "p", Partitions: 2, Began: time.Now()}))
		must(t, l.Record(&record.Superstep{
			Job: "j", Scheme: "naive", Delivery: "push",
			Reason:    "naive predicted 1 µs: 3 unfinished",
			Predicted: map[string]float64{"naive": 1e-6, "pull": 1}, Actual: 1e-3, Seconds: 1,
			Partitions: []record.Partition{
				{Worker: "east", Computed: 1, Times: record.Seconds{Compute: .1, Wait: .9, Total: 1}},
				{Partition: 1, Worker: "west", Computed: 1, Times: record.Seconds{Compute: 1, Total: 1}},
			},
		}))
		must(t, l.Record(
			&trace.End{Job: "j", State: trace.Failed, Again: true, Error: "east was lost"}))
	}
	must(t, l.Record(&trace.Job{Job: "none", Program: "p", Began: time.Now()}))
	must(t, l.Record(&trace.End{Job: "none", State: trace.Failed, Error: "no such file"}))
	b := open(t, serve(t, l, control.Token{})+"#/job/j", 1280, 900)
	b.until(t, "the lost attempt",
		`/Attempt 1 .*after 1 superstep: east was lost/.test(document.querySelector("[aria-label='Lost attempts']")?.innerText)`)
	b.until(t, "the partition's worker",
		`document.querySelector("[aria-label=Partitions] .sentence")?.innerText.startsWith("Partition 1 of west worked longest")`)
	b.until(t, "the timeline",
		`document.querySelector("[aria-label=Timeline]")?.innerText.includes("a vertex is unfinished")`)
	text := b.text(t, "main")
	for _, want := range []string{
		"submitted", "began", "naive",
		"a vertex is unfinished while it can receive messages",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "own edges") {
		t.Errorf("naive has another word:\n%s", text)
	}
	b.do(t, chromedp.Evaluate(`location.hash = "#/job/none"`, nil))
	b.until(t, "why it failed",
		`document.querySelector("main .bad")?.innerText === "no such file" && document.querySelector("[aria-label=Timeline]")`)
	if text := b.text(t, "main"); strings.Contains(text, "yet") {
		t.Errorf("a job that has ended may have a superstep yet:\n%s", text)
	}
	b.clean(t)
}

// TestPrinting: charts outside the window are printed, too.
func TestPrinting(t *testing.T) {
	t.Parallel()
	b := open(t, serve(t, recorded(t, 60, 3), control.Token{}), 1000, 300)
	b.until(t, "the charts",
		"document.querySelectorAll('.u-wrap canvas').length >= 3 && document.querySelector('.matrix canvas')")
	const blank = `[...document.querySelectorAll("canvas")].filter(c => !new Uint32Array(c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer).some(p => p !== 0)).length`
	var before, after int
	b.do(t, chromedp.Sleep(settle), chromedp.Evaluate(blank, &before),
		chromedp.ActionFunc(func(ctx context.Context) error {
			_, _, err := page.PrintToPDF().Do(ctx)
			return err
		}), chromedp.Evaluate(blank, &after))
	if before == 0 || after != 0 {
		t.Errorf("%d charts are blank before printing, %d after", before, after)
	}
	b.clean(t)
}
