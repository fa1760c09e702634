package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestAMaster submits a job on the page of a master with two workers, watches it run and end, and
// cancels another job.
func TestAMaster(t *testing.T) {
	t.Parallel()
	url := superstep(t, t.TempDir(), "master", "--listen", "127.0.0.1:0")
	b := open(t, url+"#/workers", 1280, 1120)
	b.do(t, dark(false))
	at, _, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	for _, name := range []string{"east", "west"} {
		begin(t, t.TempDir(), "worker", "--master", at, "--name", name, "--threads", "1")
	}
	b.until(t, "the workers",
		`["east", "west"].every(n => [...document.querySelectorAll("tbody tr")].some(r => r.innerText.startsWith(n) && r.innerText.includes("registered")))`)

	fill := func(form string, fields ...string) {
		t.Helper()
		b.until(t, form,
			`[...document.querySelectorAll(".submit summary")].some(s => s.innerText === `+
				quote(form)+`)`)
		b.do(t,
			chromedp.Evaluate(`document.querySelectorAll(".submit").forEach(d => d.open = d.querySelector("summary").innerText === `+quote(form)+`)`, nil))
		for i := 0; i < len(fields); i += 2 {
			b.until(t, fields[i], `document.querySelector(".submit[open] [name='`+fields[i]+`']")`)
			b.do(t, chromedp.SetValue(".submit[open] [name='"+fields[i]+"']", fields[i+1]))
			b.do(t,
				chromedp.Evaluate(`(e => ["input", "change"].forEach(kind => e.dispatchEvent(new Event(kind, { bubbles: true }))))(document.querySelector(".submit[open] [name='`+fields[i]+`']"))`, nil))
		}
		b.do(t,
			chromedp.Evaluate(`document.querySelector(".submit[open] button[type=submit]").click()`,
				nil))
	}
	visit := func(place string) {
		t.Helper()
		b.do(t, chromedp.Evaluate(`location.hash = `+quote(place), nil))
	}
	visit("#/graphs")
	fill("Load a graph", "name", "web", "graph", "kronecker:scale=99")
	b.until(t, "the refusal at its field", `document.activeElement.name === "graph" && document.activeElement.ariaInvalid === "true"
		&& document.getElementById(document.activeElement.getAttribute("aria-describedby").split(" ").at(-1)).innerText.includes("scale")`)
	fill("Load a graph", "graph", "kronecker:scale=12")
	b.until(t, "the graph",
		`[...document.querySelectorAll("tbody tr")].some(r => r.innerText.startsWith("web") && r.innerText.includes("4,096"))`)

	visit("#/jobs")
	fill("Submit a job", "program", "bfs", "graph", "kronecker:scale=18", "parameters.source",
		"sauce")
	b.until(t, "the refusal",
		`document.querySelector(".field .bad")?.innerText.includes("sauce") && document.activeElement.name === "parameters.source"`)
	b.picture(t, "submit")
	fill("Submit a job", "parameters.source", "5")
	b.until(t, "the job's page", `location.hash.startsWith("#/job/")`)
	b.until(t, "the job's end", `document.querySelector(".state.done")`)
	b.until(t, "the charts",
		"document.querySelectorAll('.u-wrap canvas').length >= 3 && document.querySelector('.matrix canvas')")
	b.until(t, "who has the slowest partition",
		`/ of (east|west): worked/.test(document.querySelector("[aria-label=Partitions] .readout").innerText)`)
	b.until(t, "the load", `document.querySelector(".stages")?.innerText.includes("loading")`)
	b.picture(t, "master")

	b.until(t, "the results", `document.querySelector(".result")`)
	b.do(t, chromedp.Evaluate(`document.querySelector(".result").open = true`, nil))
	b.until(t, "the greatest values",
		`document.querySelectorAll(".values tbody tr").length === 10 && document.querySelectorAll(".histogram .bar").length > 1`)
	b.do(t, chromedp.SetValue(".find input", "5"), chromedp.Click(".find button"))
	b.until(t, "the root's value, which is itself",
		`/^5: 5$/.test(document.querySelector(".find [role=status]").innerText)`)
	b.do(t, chromedp.SetValue(".find input", "999999999"), chromedp.Click(".find button"))
	b.until(t, "that there is no such vertex",
		`document.querySelector(".find [role=status]").innerText.includes("no vertex")`)
	b.until(t, "all lines",
		`(async () => (await (await fetch(document.querySelector(".result a[download]").href)).text()).split("\n").length === 262145)()`)

	visit("#/jobs")
	fill("Submit a job", "program", "hits", "graph", "catalog:web")
	b.until(t, "the job's page",
		`location.hash.startsWith("#/job/") && document.querySelector(".state.done")`)
	b.until(t, "the results", `document.querySelector(".result")`)
	b.do(t, chromedp.Evaluate(`document.querySelector(".result").open = true`, nil))
	b.until(t, "two fields",
		`document.querySelectorAll(".values th").length === 4 && document.querySelector(".result select").options.length === 2`)
	b.do(t, chromedp.Evaluate(`document.querySelector(".result").scrollIntoView()`, nil))
	b.picture(t, "result")
	var low string
	b.do(t, chromedp.Evaluate(contrast, &low))
	if low != "" {
		t.Errorf("too little contrast: %s", low)
	}

	visit("#/jobs")
	fill("Submit a job", "program", "pagerank", "graph", "catalog:web", "parameters.iterations",
		"10000000")
	b.until(t, "a superstep", `+document.querySelector("[role=slider]")?.ariaValueMax > 2`)
	visit("#/workers")
	b.until(t, "links to the workers", `document.querySelector("tbody a[href='#/workers/east']")`)
	workersInAList(t, b)
	b.do(t, chromedp.Click("tbody a[href='#/workers/east']"))
	b.until(t, "the curves of a worker", `document.querySelectorAll(".curves .u-wrap canvas").length === 4`)
	b.until(t, "its work", `/busy 0\.[1-9]|busy [1-9]/.test(document.querySelector(".curves").innerText) && /sent [1-9]/.test(document.querySelector(".curves").innerText)`)
	b.until(t, "its partition and job",
		`/web: partition [01]$/m.test(document.querySelector("main").innerText) && document.querySelector("main li a[href^='#/job/']")`)
	b.picture(t, "worker")
	b.do(t, chromedp.Evaluate(contrast, &low))
	if low != "" {
		t.Errorf("too little contrast on a worker's page: %s", low)
	}
	visit("#/workers/nobody")
	b.until(t, "that there is no such worker", `document.querySelector("[role=alert]")?.innerText.includes("nobody")`)
	b.do(t, chromedp.Evaluate(`history.go(-3)`, nil))
	b.until(t, "the job's page again", `location.hash.startsWith("#/job/")`)
	b.do(t, chromedp.Click(".cancel button"), chromedp.Click(".cancel .danger"))
	b.until(t, "the job's end",
		`document.querySelector(".state.cancelled") && document.querySelector(".bad").innerText === "cancelled on the page"`)
	visit("#/jobs")
	fill("Run Graph500", "graph500.scale", "0")
	b.until(t, "the refusal", `document.querySelector(".submit[open] .bad")`)
	fill("Run Graph500", "graph500.scale", "10", "graph500.roots", "4")
	b.until(t, "the searches",
		`document.querySelectorAll("[aria-label=Searches] tbody tr").length >= 4 && document.querySelector(".state.done")`)
	b.until(t, "the official output", `document.querySelector("[aria-label=Searches] details")`)
	b.do(t, chromedp.Evaluate(`document.querySelector("[aria-label=Searches] details").open = true`, nil))
	b.until(t, "its text", `/bfs +harmonic_mean_TEPS/.test(document.querySelector("[aria-label=Searches] pre")?.innerText)`)
	b.until(t, "the official times", `/^construction_time: +([\d.e-]+)$/m.exec(document.querySelector("[aria-label=Searches] pre").innerText) && /generation\s+[\d.]+ .?s\s+construction\s+[\d.]+ .?s/.test(document.querySelector("[aria-label='before the searches']")?.innerText)`)
	b.picture(t, "graph500")

	visit("#/jobs")
	b.until(t, "the benchmark in one row", `[...document.querySelectorAll("tbody td:first-child")].filter(c => /graph500|root/.test(c.innerText)).length === 1`)

	visit("#/graphs")
	b.until(t, "the graph again", `document.querySelector("tbody .cancel button")`)
	b.do(t, chromedp.Click("tbody .cancel button"), chromedp.Click("tbody .cancel .danger"))
	b.until(t, "no graph", `document.querySelector("main").innerText.includes("There are none.")`)
	visit("#/log")
	b.until(t, "the log",
		`["worker is there", "state running", "cancelled on the page"].every(w => document.querySelector(".log").innerText.includes(w))`)
	b.clean(t, "400", "404")
}

// workersInAList checks the list of two workers that run a job: each has four curves, which tell
// what they show, on windows of all widths.
func workersInAList(t *testing.T, b *tab) {
	t.Helper()
	b.until(t, "a curve for each", `[...document.querySelectorAll("tbody tr")].map(r => r.querySelectorAll(".spark polyline").length).join() === "7,7"`)
	b.until(t, "what they show", `(labels => /Processors over the last \d+ seconds: busy [\d.]*[1-9], garbage collection/.test(labels) && /Waiting .*: for other workers \d+ %/.test(labels)
		&& /Memory .*: used [\d.]+ MiB, spilled to files 0 B/.test(labels) && /Network .*: sent [1-9].* received [1-9]/.test(labels))
		([...document.querySelectorAll("tbody tr:last-child .spark svg")].map(s => s.getAttribute("aria-label")).join("; "))`)
	b.until(t, "lines that are not flat", `(p => new Set(p).size > 1)([...document.querySelector(".spark polyline").points].map(p => p.y))`)
	library := axe(t)
	b.do(t, chromedp.Evaluate(library, nil))
	for _, width := range []int64{390, 1000, 1600} {
		for _, is := range []bool{false, true} {
			var low, found string
			var wide bool
			b.do(t, chromedp.EmulateViewport(width, 900), dark(is), chromedp.Sleep(settle),
				chromedp.Evaluate(contrast, &low), chromedp.Evaluate(findings+`()`, &found, wait),
				chromedp.Evaluate(`document.documentElement.scrollWidth > innerWidth`, &wide))
			if low+found != "" || wide {
				t.Errorf("workers at %d pixels, dark %t, wide %t: %s %s", width, is, wide, low, found)
			}
		}
	}
	b.do(t, chromedp.EmulateViewport(1280, 300), dark(false))
	b.picture(t, "workers")
	b.do(t, chromedp.EmulateViewport(1280, 1120))
}
