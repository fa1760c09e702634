package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestAMaster submits a job on the page of a master with two workers, sees it run and end, and cancels another.
func TestAMaster(t *testing.T) {
	url := superstep(t, t.TempDir(), "master", "--listen", "127.0.0.1:0")
	b := open(t, url+"#/workers", 1280, 1120)
	b.do(t, dark(false))
	at := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/")
	for _, name := range []string{"east", "west"} {
		begin(t, t.TempDir(), "worker", "--master", at, "--name", name, "--threads", "1")
	}
	b.until(t, "the workers", `["east", "west"].every(n => [...document.querySelectorAll("tbody tr")].some(r => r.innerText.startsWith(n) && r.innerText.includes("registered")))`)

	submit := func(program, graph, parameters string) {
		t.Helper()
		b.do(t, chromedp.Evaluate(`location.hash = "#/jobs"`, nil))
		b.until(t, "the form", `document.querySelector(".submit form [name=program]")`)
		b.do(t, chromedp.Evaluate(`document.querySelector(".submit").open = true`, nil),
			chromedp.SetValue("[name=program]", program), chromedp.SetValue("[name=graph]", graph), chromedp.SetValue("[name=parameters]", parameters),
			chromedp.Click(".submit button"))
	}
	submit("bfs", "kronecker:scale=17", "sauce=5")
	b.until(t, "the refusal", `document.querySelector(".submit .bad")?.innerText.includes("sauce")`)
	submit("bfs", "kronecker:scale=18", "source=5")
	b.until(t, "the job's page", `location.hash.startsWith("#/job/")`)
	b.until(t, "the job's end", `document.querySelector(".state.converged")`)
	b.until(t, "the charts", "document.querySelectorAll('.u-wrap canvas').length >= 3 && document.querySelector('.matrix canvas')")
	b.until(t, "who has the slowest partition", `/ of (east|west): worked/.test(document.querySelector("[aria-label=Partitions] .readout").innerText)`)
	b.until(t, "the load", `document.querySelector(".stages")?.innerText.includes("loading")`)
	b.picture(t, "master")

	submit("pagerank", "kronecker:scale=16", "iterations=1000000")
	b.until(t, "a superstep", `+document.querySelector("[role=slider]")?.ariaValueMax > 2`)
	b.do(t, chromedp.Click(".cancel button"), chromedp.Click(".cancel .danger"))
	b.until(t, "the job's end", `document.querySelector(".state.cancelled") && document.querySelector(".bad").innerText === "cancelled on the page"`)
	b.do(t, chromedp.Evaluate(`location.hash = "#/log"`, nil))
	b.until(t, "the log", `["worker is there", "state running", "cancelled on the page"].every(w => document.querySelector(".log").innerText.includes(w))`)
	b.clean(t, "400")
}
