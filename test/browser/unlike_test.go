package browser

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/internal/web"
	"github.com/superstep-go/superstep/record"
)

// TestUnlikeRuns compares a search with a components run on another graph. Each run's stages are on
// its own page.
func TestUnlikeRuns(t *testing.T) {
	t.Parallel()
	chromium(t)
	path, err := binary()
	must(t, err)
	dir := t.TempDir()
	for _, args := range [][]string{
		{"run", "bfs", "--graph", "kronecker:scale=9", "-p", "source=5", "--trace", "a.jsonl"},
		{"run", "wcc", "--graph", "kronecker:scale=8", "--partitions", "2", "--trace", "b.jsonl"},
	} {
		cmd := exec.Command(path, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	b := open(t, superstep(t, dir, "ui", "a.jsonl", "b.jsonl")+"#/compare/1/2", 1280, 820)
	b.until(t, "the verdict", `document.querySelector(".differ")`)
	text := b.text(t, ".differ")
	for _, want := range []string{"programs (bfs | wcc)", "graphs (kronecker:scale=9 | kronecker:scale=8)", "partitions (1x1 | 2x1)"} {
		if !strings.Contains(text, want) {
			t.Errorf("found %q, expected %q", text, want)
		}
	}
	b.do(t, chromedp.Evaluate(`location.hash = "#/compare/1/1"`, nil))
	b.until(t, "nothing of a run beside itself",
		`!document.querySelector(".differ") && document.querySelector(".sentence")`)
	b.do(t, chromedp.Evaluate(`location.hash = "#/jobs"`, nil))
	b.until(t, "both files' stages",
		`/a\.jsonl: generating[^]*b\.jsonl: generating/.test(document.querySelector(".stages")?.innerText)`)
	b.do(t, chromedp.Evaluate(`location.hash = "#/job/2"`, nil))
	b.until(t, "its own",
		`document.querySelector(".decision") && document.querySelector(".stages")?.innerText.split("generating").length === 2`)
	b.clean(t)
}

// TestOneAmongMany shows 5,000 pulls and one push. The page reports that a bar is cut off.
func TestOneAmongMany(t *testing.T) {
	t.Parallel()
	l := web.NewLocal(web.About{Kind: "run", Name: "pulls", Version: "test"}, 2)
	must(t, l.Record(&trace.Job{Job: "j", Program: "p", Graph: "g", Partitions: 1}))
	for i := range 5000 {
		r := record.Superstep{
			Job: "j", Superstep: i, Scheme: "pull", Delivery: "pull",
			Predicted: map[string]float64{"naive": .5, "pull": 1e-3}, Actual: 1e-3,
			Partitions: []record.Partition{{Computed: 1, Delivered: 1, Times: record.Seconds{Traverse: 1e-3, Total: 1e-3}}},
		}
		if i == 3333 {
			r.Scheme, r.Delivery, r.Predicted = "naive", "push",
				map[string]float64{"naive": 1e-3, "pull": .5}
		}
		must(t, l.Record(&r))
	}
	must(t,
		l.Record(&trace.End{Job: "j", State: trace.Done, Ended: trace.Converged, Supersteps: 5000, Seconds: 5}))
	b := open(t, serve(t, l, control.Token{}), 1280, 900)
	b.until(t, "all supersteps", `document.querySelector("[role=slider]")?.ariaValueMax === "4999"`)
	b.until(t, "the push", `(() => {
		const band = document.querySelector("canvas.band"), n = Number.parseInt(getComputedStyle(document.documentElement).getPropertyValue("--push").trim().slice(1), 16);
		const d = band.getContext("2d").getImageData(0, 0, band.width, band.height / 2).data;
		for (let i = 0; i < d.length; i += 4) if (d[i] === n >> 16 && d[i+1] === (n >> 8 & 255) && d[i+2] === (n & 255)) return true;
		return false;
	})()`)
	b.until(t, "that bars are cut off",
		`document.querySelector(".decision .hint")?.innerText.includes("cut off")`)
	b.clean(t)
}

// TestBeforeAnythingIsKnown opens a page whose requests are never answered.
func TestBeforeAnythingIsKnown(t *testing.T) {
	t.Parallel()
	b := open(t, serve(t, recorded(t, 3, 2), control.Token{}), 1280, 900)
	b.until(t, "the page", "document.querySelector('.decision')")
	b.do(t, chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(
			"window.fetch = () => new Promise(() => {})").Do(ctx)
		return err
	}), chromedp.Evaluate(`location.hash = "#/jobs"`, nil), chromedp.Reload())
	b.until(t, "that it loads",
		`document.querySelector("main")?.innerText.includes("Loading…") && document.querySelector(".link.opening")?.innerText === "loading…"`)
	if text := b.text(t, "body"); strings.Contains(text, "There are no") ||
		strings.Contains(text, "live") {
		t.Errorf("the page claims to know the jobs before it has loaded them: %s", text)
	}
	b.do(t, chromedp.Evaluate(`location.hash = "#/job/1"`, nil))
	b.until(t, "that the job loads", `document.querySelector("main").innerText === "Loading…"`)
}
