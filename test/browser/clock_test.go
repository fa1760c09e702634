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

// attempts records job a-1, submitted an hour before now: it waited, lost a worker in its first
// attempt, and was loaded, run and written in its second, by two workers of two partitions each.
func attempts(t *testing.T, l *web.Local, now time.Time) {
	t.Helper()
	job := func() *trace.Job {
		return &trace.Job{Job: "a-1", Program: "waves", Graph: "g", Partitions: 4, Began: now.Add(-time.Minute)}
	}
	waits := job()
	waits.Began = now.Add(-time.Hour)
	l.Queue(waits, "waits for its turn")
	must(t, l.Record(job()))
	must(t, l.Record(&trace.Stage{Job: "a-1", Stage: "loading", Seconds: 40}))
	steps(byWorkers{l}, "a-1", 0, 5, 4)
	must(t, l.Record(
		&trace.End{Job: "a-1", State: trace.Failed, Again: true, Error: "worker w2 was lost"}))
	l.Queue(waits, "begins again")
	must(t, l.Record(job()))
	must(t, l.Record(&trace.Stage{Job: "a-1", Stage: "loading", Seconds: 1e-3}))
	steps(byWorkers{l}, "a-1", 0, 1500, 4)
	for _, at := range []string{"superstep 500", "superstep 1000"} {
		must(t, l.Record(
			&trace.Stage{Job: "a-1", Stage: trace.Checkpoint, Part: at, Seconds: 1e-3}))
	}
	must(t, l.Record(&trace.Stage{Job: "a-1", Stage: "writing", Seconds: 1e-3}))
	must(t, l.Record(&trace.Log{Time: time.Now(), Level: "info", Job: "a-1", Text: "goes on"}))
	must(t, l.Record(
		&trace.End{Job: "a-1", State: trace.Done, Ended: trace.Iterations, Supersteps: 1500}))
}

// byWorkers assigns partitions 0 and 1 to worker w1, and the others to w2.
type byWorkers struct{ to trace.Journal }

func (b byWorkers) Record(e trace.Event) error {
	if r, ok := e.(*record.Superstep); ok {
		for i := range r.Partitions {
			r.Partitions[i].Worker = []string{"w1", "w1", "w2", "w2"}[i]
		}
	}
	return b.to.Record(e)
}

// TestTheWallClock: a job's page shows the parts of its time in order. It has a lane for each
// worker or each partition. If there are many supersteps, each column of a lane has several.
func TestTheWallClock(t *testing.T) {
	t.Parallel()
	l := cluster()
	attempts(t, l, time.Now())
	url := serve(t, l, control.Token{}) + "#/job/a-1"
	for _, width := range []int{390, 1000, 1600} {
		b := open(t, url, width, 900)
		b.until(t, "what the time went into", `[...document.querySelectorAll(".clock tbody tr")].map(r => r.cells[0].innerText).join()
			=== "queued,attempt 1: worker w2 was lost,loading,loading,supersteps,writing,2 checkpoints,log"`)
		b.until(t, "both checkpoints", `(row => row.cells[3].innerText === "2 ms" && [...row.querySelectorAll("i")].map(i => i.title).join() === "before superstep 500: 1 ms,before superstep 1000: 1 ms")
			(document.querySelector(".clock tbody").rows[6])`)
		b.until(t, "no checkpoint among the stages", `!document.querySelector(".stages").innerText.includes("checkpoint")`)
		b.until(t, "how long it waited, and when it began", `(rows => rows[0].cells[3].innerText === "59 min 0 s" && rows[1].cells[2].innerText === "59 min 0 s")
			(document.querySelector(".clock tbody").rows)`)
		b.until(t, "bars in their places", `(bars => bars[0].offsetLeft === 0 && bars[0].offsetWidth > 50 * bars[1].offsetWidth - 100 && bars.every(i => i.offsetWidth >= 2)
			&& bars[1].offsetLeft > .9 * bars[1].parentElement.clientWidth)([...document.querySelectorAll(".clock .track i:not(.tick)")])`)
		b.until(t, "a lane for each worker", `document.querySelector("[aria-label=Lanes] canvas")?.ariaLabel === "How busy 2 workers were in supersteps 0 to 1499"`)
		b.do(t, chromedp.Evaluate(`document.querySelector("[aria-label=Lanes] canvas").scrollIntoView({block: "center"})`, nil))
		b.do(t, chromedp.Evaluate(`(c => { const r = c.getBoundingClientRect(); c.dispatchEvent(new MouseEvent("mousemove", { bubbles: true, clientX: r.right - 15, clientY: r.bottom - 2 })); })(document.querySelector("[aria-label=Lanes] canvas"))`, nil))
		b.until(t, "a bin of the second", `/^Worker w2, superstep 14\d\d to 14\d\d: worked \d+ % of the time$/.test(document.querySelector("[aria-label=Lanes] .readout").innerText)`)
		b.do(t, chromedp.Click("[aria-label=Lanes] input"))
		b.until(t, "a lane for each partition", `document.querySelector("[aria-label=Lanes] canvas").ariaLabel.startsWith("How busy 4 partitions were")`)
		b.clean(t)
	}
}
