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

// findings is a function that returns axe-core's findings on the current page, one per line. only
// are the rules to check; all without it. Of long tables only the first rows are checked.
const findings = `(async only => (await axe.run({ exclude: ["tbody tr:nth-child(n+9)"] },
	{ resultTypes: ["violations"], preload: false, ...(only && { runOnly: only }) })).violations
	.flatMap(v => v.nodes.map(n => v.id + ": " + n.target.join(" ") + ": " + n.failureSummary.replaceAll("\n", " "))).join("\n"))`

// TestAxe: axe-core finds no errors on any view. All rules are checked in a light window of 1,000
// pixels; the rules about colors also in a dark one, and in one of 390 pixels.
func TestAxe(t *testing.T) {
	t.Parallel()
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
	const colors, narrow = `(["color-contrast"])`, `(["color-contrast", "scrollable-region-focusable"])`
	for width, passes := range map[int][]string{1000: {"()", colors}, 390: {narrow}} {
		b := open(t, url+"#/jobs", width, 900)
		b.do(t, chromedp.Evaluate(library+";0", nil))
		for _, place := range []struct{ hash, there string }{
			{"#/jobs", `document.querySelector("[aria-label='List of jobs'] tbody tr")`},
			{"#/job/a-1", `document.querySelectorAll(".u-wrap canvas").length >= 3 && document.querySelector(".clock")`},
			{"#/job/r-1", `document.querySelectorAll(".u-wrap canvas").length >= 3 && document.querySelector(".bound")`},
			{"#/compare/a-1/r-1", `document.querySelectorAll(".u-wrap canvas").length === 2`},
			{"#/graphs", `document.querySelector("[aria-label='List of graphs'] tbody tr")`},
			{"#/workers", `document.querySelector("[aria-label='List of workers'] tbody tr")`},
			{"#/log", `document.querySelector(".log li")`},
		} {
			b.do(t, chromedp.Evaluate(fmt.Sprintf("void (location.hash = %q)", place.hash), nil))
			b.until(t, place.hash, place.there)
			b.do(t, chromedp.Evaluate(
				`document.querySelectorAll("details").forEach(d => d.open = true)`, nil))
			for i, rules := range passes {
				var found string
				b.do(t, dark(i == 1), chromedp.Sleep(settle),
					chromedp.Evaluate(findings+rules, &found, wait))
				if found != "" {
					t.Errorf("%s, %d pixels, dark %t:\n%s", place.hash, width, i == 1, found)
				}
			}
		}
		b.clean(t)
	}
}
