package browser

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/internal/web"
	"github.com/superstep-go/superstep/record"
)

// TestTheTimeLeft: a run with a limit of supersteps shows its remaining time. Other runs do not.
func TestTheTimeLeft(t *testing.T) {
	t.Parallel()
	l := web.NewLocal(web.About{Kind: "run", Name: "a run", Version: "test"}, 2)
	run := func(job string, most int) {
		must(t,
			l.Record(&trace.Job{Job: job, Program: job, Partitions: 1, MaxSupersteps: most, Began: time.Now()}))
		for i := range 12 {
			s := &record.Superstep{Job: job, Superstep: i, Partitions: []record.Partition{{Computed: 1}}, Ended: time.Now()}
			s.End(100)
			must(t, l.Record(s))
		}
	}
	run("bounded", 20)
	run("endless", 0)
	chromium(t)
	b := open(t, serve(t, l, control.Token{})+"#/job/1", 1280, 900)
	b.until(t, "how far it is",
		`/^12 of at most 20 supersteps, at most about 1[123] min \d+ s left$/.test(document.querySelector(".bound")?.innerText)`)
	must(t,
		l.Record(
			&trace.End{Job: "bounded", State: trace.Done, Ended: trace.Converged, Supersteps: 12}))
	b.until(t, "the end",
		`document.querySelector(".state.done") && !document.querySelector(".bound")`)
	b.do(t, chromedp.Evaluate(`location.hash = "#/job/2"`, nil))
	b.until(t, "no bound",
		`document.querySelector("h2")?.innerText.includes("endless") && document.querySelector(".state.running") && !document.querySelector(".bound")`)
	b.clean(t)
}

// TestTheResultOfARun: the page of an ended run shows its result.
func TestTheResultOfARun(t *testing.T) {
	t.Parallel()
	url := superstep(t, t.TempDir(), "run", "pagerank", "--graph", "kronecker:scale=10", "-p",
		"iterations=5", "--http", "127.0.0.1:0", "--http-linger")
	b := open(t, url+"#/job/1", 1280, 1120)
	b.until(t, "the result", `document.querySelector(".result")`)
	b.do(t, chromedp.Evaluate(`document.querySelector(".result").open = true`, nil))
	b.until(t, "the greatest values",
		`document.querySelectorAll(".values tbody tr").length === 10 && document.querySelectorAll(".histogram .bar").length > 1`)
	b.do(t, chromedp.SetValue(".find input", "5"), chromedp.Click(".find button"))
	b.until(t, "a vertex's value",
		`/^5: 0\.\d+/.test(document.querySelector(".find [role=status]").innerText) || /^5: \d[\d.]*e-\d+/.test(document.querySelector(".find [role=status]").innerText)`)
	b.clean(t)
}
