package browser

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
)

// report runs the binary to write a report of traces in a directory. It returns the address of the
// file.
func report(t *testing.T, dir string, traces ...string) string {
	t.Helper()
	path, err := binary()
	must(t, err)
	cmd := exec.Command(path, append([]string{"report", "--output", "report.html"}, traces...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return "file://" + filepath.Join(dir, "report.html")
}

// offline fails the test if the page has requested anything except itself.
func (b *tab) offline(t *testing.T, url string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, address := range b.requests {
		if address != url && !strings.HasPrefix(address, "data:") {
			t.Errorf("it asks for %s", address)
		}
	}
}

// TestAReportOpensFromAFile shows two runs in one file, opened with file://, without a request.
func TestAReportOpensFromAFile(t *testing.T) {
	t.Parallel()
	chromium(t)
	path, err := binary()
	must(t, err)
	dir := t.TempDir()
	for _, delivery := range []string{"auto", "pull"} {
		cmd := exec.Command(path, "run", "bfs", "--graph", "kronecker:scale=14", "-p", "source=5",
			"--partitions", "3", "--delivery", delivery, "--trace", delivery+".jsonl")
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	url := report(t, dir, "auto.jsonl", "pull.jsonl")
	b := open(t, url, 1280, 1120)
	b.until(t, "both runs",
		`document.querySelectorAll("main tbody tr").length === 2 && document.querySelector(".link").innerText === "a report"`)
	for _, is := range []bool{false, true} {
		b.do(t, dark(is), chromedp.Evaluate(`location.hash = "#/job/1"`, nil))
		b.until(t, "the charts",
			"document.querySelectorAll('.u-wrap canvas').length >= 3 && document.querySelector('.matrix canvas')")
		var low string
		b.do(t, chromedp.Sleep(settle), chromedp.Evaluate(contrast, &low))
		if low != "" {
			t.Errorf("dark %t: too little contrast: %s", is, low)
		}
	}
	b.do(t, chromedp.Evaluate(`document.querySelector("[role=slider]").focus()`, nil),
		chromedp.KeyEvent(kb.End))
	// The key may take effect after the first check. Then the details of the superstep are new and
	// closed.
	b.until(t, "the tables", `(document.querySelectorAll("details").forEach(d => d.open = true),
		document.querySelectorAll("[aria-label=Partitions] tbody tr").length === 3 && document.querySelectorAll(".timeline tbody tr").length > 2)`)
	b.do(t,
		chromedp.Evaluate(`document.querySelector("[aria-label=Timeline] tbody button").click()`,
			nil))
	b.until(t, "a superstep's partitions",
		`document.querySelector("[aria-label=Partitions] h2").innerText.includes("superstep 0")`)
	b.do(t, chromedp.Evaluate(`location.hash = "#/compare/1/2"`, nil))
	b.until(t, "the comparison", `document.querySelectorAll('.u-wrap canvas').length === 2`)
	b.do(t, chromedp.Evaluate(`location.hash = "#/licences"`, nil))
	b.until(t, "the licences", `document.querySelector("main").innerText.includes("preact")`)
	b.offline(t, url)
	b.clean(t)
}

// TestAReportOfHostileNames shows a trace whose names contain scripts, or the ends of the elements
// that contain them.
func TestAReportOfHostileNames(t *testing.T) {
	t.Parallel()
	chromium(t)
	const evil = `</script><script>window.owned=1</script><!--<script><img src=x onerror="window.owned=1">]]>` + "\u2028\u202e"
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "evil.jsonl"))
	must(t, err)
	w := trace.NewWriter(f)
	must(t,
		w.Record(&trace.Job{Job: evil, Program: evil, Graph: evil, Grid: evil, Delivery: evil, Partitions: 2, Parameters: map[string]string{evil: evil, "__proto__": evil}, Began: time.Unix(1, 0)}))
	for superstep := range 2 {
		s := &record.Superstep{Job: evil, Superstep: superstep, Scheme: "naive", Delivery: "push", Reason: evil, Actual: 1, Predicted: map[string]float64{"naive": 1, "pull": 2}, Seconds: 1}
		for p := range 2 {
			s.Partitions = append(s.Partitions,
				record.Partition{Partition: p, Worker: evil, Computed: 1, Bytes: 9, Times: record.Seconds{Compute: 1, Total: 1}})
		}
		must(t, w.Record(s))
	}
	must(t, w.Record(&trace.Log{Level: "info", Text: evil}))
	must(t, w.Record(&trace.End{Job: evil, State: trace.Failed, Error: evil}))
	must(t, f.Close())
	url := report(t, dir, "evil.jsonl")
	b := open(t, url, 1280, 900)
	b.until(t, "the job", "document.querySelector('.decision')")
	for _, place := range []string{"#/job/1", "#/jobs", "#/graphs", "#/workers", "#/log", "#/compare/1/1", "#/licences", "#/job/%3Cimg%20src=x%20onerror=owned=1%3E"} {
		b.do(t, chromedp.Evaluate("location.hash = "+quote(place), nil), chromedp.Sleep(settle))
		var bad string
		b.do(t,
			chromedp.Evaluate(`(() => window.owned ? "a script ran" : document.querySelector("main img, main script, header img, header script") || document.scripts.length !== 2 ? "an element was made" : "")()`, &bad))
		if bad != "" {
			t.Errorf("%s: %s", place, bad)
		}
	}
	b.do(t, chromedp.Evaluate(`location.hash = "#/jobs"`, nil))
	b.until(t, "the name as text",
		`document.querySelector("main").innerText.includes("<script>window.owned=1</script>")`)
	// The policy in the file blocks foreign scripts and requests.
	b.do(t,
		chromedp.Evaluate(`(() => { const s = document.createElement("script"); s.textContent = "window.owned = 2"; document.body.append(s); fetch("http://127.0.0.1:9/x").catch(() => 0); })()`, nil))
	b.until(t, "the policy", `window.owned === undefined`)
	b.offline(t, url)
	b.clean(t, "Content Security Policy", "violates the following")
}
