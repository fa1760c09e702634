package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
)

// TestWhatStandsOut: long supersteps are marked and listed with probable causes. The slow worker is
// named, with its cost and since when it is slow.
func TestWhatStandsOut(t *testing.T) {
	t.Parallel()
	l := cluster()
	must(t, l.Record(&trace.Job{Job: "j", Program: "p", Partitions: 4}))
	for i := range 100 {
		took, edges := 0.010, 1000
		if i == 70 {
			took, edges = 0.1, 9000
		}
		r := &record.Superstep{
			Job: "j", Superstep: i, Scheme: "pull", Delivery: "pull", Actual: took,
			Predicted: map[string]float64{"naive": 1, "pull": took}, Seconds: took,
		}
		for p := range 4 {
			x := record.Partition{Partition: p, Worker: fmt.Sprint("w", 1+p/2), Computed: 1, Walked: edges}
			x.Times = record.Seconds{Traverse: took / 2, Wait: took / 2, Total: took}
			if p >= 2 && i >= 50 {
				x.Times.Traverse, x.Times.Wait = took, 0
			}
			if i == 30 {
				x.Times.Total, x.GCPause = .05, .04
			}
			r.Partitions = append(r.Partitions, x)
		}
		must(t, l.Record(r))
	}
	must(t, l.Record(&trace.End{Job: "j", State: trace.Done, Ended: trace.Halted}))
	url := serve(t, l, control.Token{}) + "#/job/j"
	for _, width := range []int{390, 1000, 1600} {
		b := open(t, url, width, 900)
		b.until(t, "the list",
			`document.querySelectorAll("[aria-label='What stands out'] li").length === 2`)
		text := b.text(t, "[aria-label='What stands out'] li")
		for _, want := range []string{
			"Superstep 30 took 50 ms, 5.0 times its neighbours' median: the garbage collector paused it for 40 ms.",
			"Superstep 70 took 100 ms, 10.0 times its neighbours' median: it walked 9.0 times as many edges.",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("found\n%s\nexpected %q", text, want)
			}
		}
		b.until(t, "who is slow, and since when",
			`/^w2 takes 1\.\d times as long per edge since superstep 50, cost \d+ ms: the machine, not its share of edges\.$/.test(document.querySelector("[role=note]")?.innerText)`)
		b.until(t, "a ring", `(() => {
			const c = [...document.querySelectorAll(".plot")].find(p => p.ariaLabel.startsWith("Time by phase")).querySelector("canvas");
			const n = Number.parseInt(getComputedStyle(document.documentElement).getPropertyValue("--bad").trim().slice(1), 16);
			document.querySelector("[aria-label='What stands out']").scrollIntoView({block: "center"});
			const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
			for (let i = 0; i < d.length; i += 4) if (d[i] === n >> 16 && d[i+1] === (n >> 8 & 255) && d[i+2] === (n & 255)) return true;
			return false;
		})()`)
		b.do(t, chromedp.Evaluate(
			`document.querySelector("[aria-label='What stands out'] button").focus()`, nil),
			chromedp.KeyEvent(kb.Enter))
		b.until(t, "the superstep that was chosen",
			`document.querySelector("[role=slider]").ariaValueNow === "30"`)
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
		b.clean(t)
	}
}
