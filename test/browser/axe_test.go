package browser

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/internal/web"
)

// axe returns the source of axe-core, which finds accessibility errors. Without axe-core the test
// is skipped, or fails if Chromium is required.
func axe(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../web/node_modules/axe-core/axe.min.js")
	if err != nil && os.Getenv("CHROMIUM_REQUIRED") == "" {
		t.Skip("SKIPPED: there is no axe-core here: cd web && npm ci")
	}
	must(t, err)
	return string(text)
}

// findings is a script that returns axe-core's findings on the current page, one per line.
const findings = `(async () => (await axe.run(document, { resultTypes: ["violations"] })).violations
	.flatMap(v => v.nodes.map(n => v.id + ": " + n.target.join(" ") + ": " + n.failureSummary.replaceAll("\n", " "))).join("\n"))()`

// TestAxe: axe-core finds no errors on any view, in windows of three widths, light and dark.
func TestAxe(t *testing.T) {
	library := axe(t)
	l, now := cluster(), time.Now()
	l.AddGraph(web.Graph{Name: "g", State: "loaded", Vertices: 1 << 20, Arcs: 1 << 24, Partitions: 4, Grid: "4x1", Origin: "kronecker:scale=20"})
	attempts(t, l, now)
	for i := range 60 {
		job := &trace.Job{Job: fmt.Sprintf("q-%d", i), Program: "wcc", Graph: "catalog:g", Began: now}
		l.Queue(job, "waits for its turn")
	}
	must(t, l.Record(&trace.Job{Job: "f-1", Program: "bfs", Partitions: 2, Began: now}))
	must(t, l.Record(&trace.End{Job: "f-1", State: trace.Failed, Error: "no such file"}))
	must(t, l.Record(
		&trace.Job{Job: "r-1", Program: "bfs", Partitions: 2, Began: now, MaxSupersteps: 100}))
	steps(l, "r-1", 0, 40, 2)
	must(t,
		l.Record(&trace.Log{Time: now, Level: "warn", Job: "r-1", Worker: "w1", Text: "a remark"}))
	url := serve(t, l, control.Token{})
	for _, width := range []int{390, 1000, 1600} {
		for _, place := range []struct{ hash, there string }{
			{"#/jobs", `document.querySelector("[aria-label='List of jobs'] tbody tr")`},
			{"#/job/a-1", `document.querySelectorAll(".u-wrap canvas").length >= 3 && document.querySelector(".clock")`},
			{"#/job/r-1", `document.querySelectorAll(".u-wrap canvas").length >= 3 && document.querySelector(".bound")`},
			{"#/compare/a-1/r-1", `document.querySelectorAll(".u-wrap canvas").length === 2`},
			{"#/graphs", `document.querySelector("main tbody tr")`},
			{"#/workers", `document.querySelector("main tbody tr")`},
			{"#/log", `document.querySelector(".log li")`},
		} {
			b := open(t, url+place.hash, width, 900)
			b.until(t, place.hash, place.there)
			b.do(t, chromedp.Evaluate(
				`document.querySelectorAll("details").forEach(d => d.open = true)`, nil),
				chromedp.Evaluate(library+";0", nil))
			for _, is := range []bool{false, true} {
				var found string
				b.do(t, dark(is), chromedp.Sleep(settle), chromedp.Evaluate(findings, &found, wait))
				if found != "" {
					t.Errorf("%s, %d pixels, dark %t:\n%s", place.hash, width, is, found)
				}
			}
			b.clean(t)
		}
	}
}
