package browser

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/internal/web"
	"github.com/superstep-go/superstep/record"
)

// settle is the time to wait before a picture is taken. It is longer than drawing takes.
const settle = 700 * time.Millisecond

// binary builds superstep once.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "superstep")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "superstep")
	out, err := exec.Command("go", "build", "-C", "../..", "-o", path,
		"./cmd/superstep").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := binary(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

var address = regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+/(\?token=[0-9a-f]+)?`)

// superstep runs the binary in a directory. It returns the address of its page.
func superstep(t *testing.T, dir string, args ...string) (url string) {
	t.Helper()
	chromium(t)
	lines := begin(t, dir, args...)
	for url == "" {
		line, ok := <-lines
		if !ok {
			t.Fatal("it did not name an address")
		}
		url = address.FindString(line)
	}
	return url
}

// begin runs the binary in a directory until the test ends. It returns its output lines. Unread
// lines are dropped.
func begin(t *testing.T, dir string, args ...string) <-chan string {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Env = dir,
		append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(filepath.Dir(path), "state"))
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 20 * time.Second
	out, in := io.Pipe()
	cmd.Stdout, cmd.Stderr = in, in
	must(t, cmd.Start())
	go func() {
		_ = cmd.Wait()
		_ = in.Close()
	}()
	lines := make(chan string, 100)
	ended := make(chan struct{})
	t.Cleanup(func() { cancel(); <-ended })
	go func() {
		defer close(ended)
		defer close(lines)
		for all := bufio.NewScanner(out); all.Scan(); {
			select {
			case lines <- all.Text():
			default:
			}
		}
	}()
	return lines
}

// serve serves a source made by the test.
func serve(t *testing.T, l *web.Local, token control.Token) string {
	t.Helper()
	chromium(t)
	s, err := web.Start("127.0.0.1:0", token, l, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s.Link
}

// TestFromARunToThePicture runs a search in four partitions, sees it end on the page, and takes
// pictures of the page.
func TestFromARunToThePicture(t *testing.T) {
	t.Parallel()
	url := superstep(t, "", "run", "bfs", "--graph", "kronecker:scale=18", "-p", "source=5",
		"--partitions", "4", "--http", "127.0.0.1:0", "--http-linger")
	b := open(t, url, 1280, 1120)
	b.do(t, dark(false))
	b.until(t, "the run's end", "document.querySelector('.state.done')")
	b.until(t, "the charts",
		"document.querySelectorAll('.u-wrap canvas').length >= 3 && document.querySelector('.matrix canvas')")

	// The numbers are those of the API.
	b.until(t, "the same supersteps as the API has", `(async () => {
		const steps = (await (await fetch("api/v1/jobs/1/steps")).json()).items;
		const slider = document.querySelector("[role=slider]");
		return +slider.ariaValueMax === steps.at(-1).superstep && steps.some(s => s.delivery === "push") && steps.some(s => s.delivery === "pull");
	})()`)
	said := b.text(t, ".said")
	for _, want := range []string{"time: ", "delivery: ", "skew: "} {
		if !strings.Contains(said, want) {
			t.Errorf("the summary lacks %q: %s", want, said)
		}
	}
	b.picture(t, "page")
	b.do(t, dark(true))
	b.picture(t, "page-dark")

	// In both themes text has enough contrast.
	for _, is := range []bool{true, false} {
		b.do(t, dark(is), chromedp.Sleep(settle))
		var low string
		b.do(t, chromedp.Evaluate(contrast, &low))
		if low != "" {
			t.Errorf("dark %t: too little contrast: %s", is, low)
		}
	}

	// With the pointer: the reason follows it.
	b.until(t, "the band", "document.querySelector('.band').clientWidth > 0")
	var before, after string
	b.do(t, chromedp.Evaluate(`document.querySelector('.decision h3').innerText`, &before),
		chromedp.Evaluate(`(() => { const c = document.querySelector(".band"), r = c.getBoundingClientRect(), n = +document.querySelector("[role=slider]").ariaValueMax + 1;
			c.dispatchEvent(new MouseEvent("mousemove", { bubbles: true, clientX: r.left + 64 + (r.width - 78) * 1.5 / n, clientY: r.top + 10 })); })()`, nil))
	b.until(t, "the reason under the pointer",
		`document.querySelector(".decision h3").innerText.startsWith("Superstep 1:")`)
	b.do(t, chromedp.Evaluate(`document.querySelector('.decision .reason').innerText`, &after))
	if !strings.Contains(after, "predicted") {
		t.Errorf("the reason reads %q (before: %s)", after, before)
	}

	b.do(t, dark(false),
		chromedp.Evaluate(`document.querySelector("[aria-label='Partitions']").scrollIntoView()`,
			nil))
	b.picture(t, "partitions")
	b.do(t, chromedp.EmulateViewport(400, 1100), chromedp.Evaluate(`scrollTo(0, 0)`, nil))
	b.picture(t, "page-narrow")
	for _, width := range []int64{400, 1280} {
		b.do(t, chromedp.EmulateViewport(width, 1100), chromedp.Sleep(settle))
		var wide float64
		b.do(t, chromedp.Evaluate(`document.documentElement.scrollWidth`, &wide))
		if wide > float64(width) {
			t.Errorf("at %d pixels the page is %g wide", width, wide)
		}
	}

	// Graphics have text alternatives and tables.
	var unnamed int
	b.do(t,
		chromedp.Evaluate(`[...document.querySelectorAll("canvas[role=img], .plot")].filter(e => !(e.ariaLabel || "").trim()).length`, &unnamed))
	if unnamed > 0 {
		t.Errorf("%d charts have no words", unnamed)
	}
	b.do(t, chromedp.Evaluate(`document.querySelectorAll("details").forEach(d => d.open = true)`,
		nil))
	b.until(t, "the tables", `document.querySelectorAll(".timeline table tbody tr").length === +document.querySelector("[role=slider]").ariaValueMax + 1
		&& document.querySelectorAll("[aria-label=Partitions] tbody tr").length === 4`)
	b.do(t, chromedp.Evaluate(`location.hash = "#/graphs"`, nil))
	b.until(t, "the graph", `document.querySelector("main").innerText.includes("262,144")`)
	b.do(t, chromedp.Evaluate(`location.hash = "#/workers"`, nil))
	b.until(t, "the process", `document.querySelector("main").innerText.includes("this process")`)
	b.clean(t)
}

// contrast finds text on a plain background with a contrast below 4.5.
const contrast = `(() => {
	const light = (c) => { const [r, g, b] = c.map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126*r + .7152*g + .0722*b; };
	const parse = (s) => { const m = s.match(/[\d.]+/g).map(Number); return m.length > 3 && m[3] === 0 ? undefined : m.slice(0, 3); };
	const ground = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c) return c; } return [255, 255, 255]; };
	for (const e of document.querySelectorAll("main *, header *, footer *")) {
		if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || !e.checkVisibility() || e.closest(".hidden, option, button:disabled")) continue;
		const a = light(parse(getComputedStyle(e).color)), b = light(ground(e));
		const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
		if (ratio < 4.5) return e.tagName + "." + e.className + " " + ratio.toFixed(2) + ": " + e.textContent.slice(0, 40);
	}
	return "";
})()`

// TestByKeyboard uses the page with the keyboard only.
func TestByKeyboard(t *testing.T) {
	t.Parallel()
	url := serve(t, recorded(t, 40, 4), control.Token{})
	b := open(t, url, 1280, 900)
	b.until(t, "the timeline", "document.querySelector('[role=slider]')")
	focused := func() string {
		var text string
		b.do(t,
			chromedp.Evaluate(`(() => { const e = document.activeElement; return e.ariaLabel || e.innerText || e.tagName; })()`, &text))
		return text
	}
	reached := map[string]bool{}
	for range 40 {
		b.do(t, chromedp.KeyEvent(kb.Tab))
		f := focused()
		reached[strings.SplitN(f, "\n", 2)[0]] = true
		if strings.HasPrefix(f, "Superstep") {
			break
		}
	}
	for _, want := range []string{"Skip to the content", "Jobs", "Compare", "Log", "Superstep"} {
		if !reached[want] {
			t.Errorf("Tab does not reach %q, only %v", want, reached)
		}
	}
	value := func(want int, keys string) {
		t.Helper()
		b.do(t, chromedp.KeyEvent(keys))
		b.until(t, fmt.Sprintf("superstep %d", want), fmt.Sprintf(`+document.activeElement.ariaValueNow === %d
			&& document.activeElement.ariaValueText.startsWith("Superstep %d: ") && document.querySelector(".decision h3").innerText.startsWith("Superstep %d:")`, want, want, want))
	}
	value(0, kb.Home)
	value(2, kb.ArrowRight+kb.ArrowRight)
	value(1, kb.ArrowLeft)
	value(39, kb.End)
	value(35, kb.PageDown)
	b.until(t, "the reason in words", `document.activeElement.ariaValueText.includes("predicted")`)
	b.until(t, "bars of the superstep",
		`document.querySelector("[aria-label=Partitions] h2").innerText.includes("superstep 35")`)
	b.do(t, chromedp.KeyEvent("+"))
	b.until(t, "the zoom", `document.querySelector(".hint button")`)
	b.do(t, chromedp.KeyEvent(kb.Escape))
	b.until(t, "no zoom", `!document.querySelector(".hint button")`)
	b.do(t, chromedp.KeyEvent(kb.Escape))
	b.until(t, "the whole run",
		`document.querySelector("[aria-label=Partitions] h2").innerText.includes("whole run")`)

	b.do(t, chromedp.Evaluate(`document.querySelector(".matrix canvas").focus()`, nil),
		chromedp.KeyEvent(kb.ArrowRight))
	b.until(t, "the pair",
		`document.querySelector(".beside .readout").innerText.startsWith("From 0 to 1: ")`)
	b.clean(t)
}

// TestLive: supersteps arrive, the connection fails and returns, and the run ends.
func TestLive(t *testing.T) {
	t.Parallel()
	l := recorded(t, 5, 2)
	s, err := web.Start("127.0.0.1:0", control.Token{}, l, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	chromium(t)
	b := open(t, s.Link, 1280, 900)
	b.until(t, "five supersteps", `document.querySelector("[role=slider]")?.ariaValueMax === "4"`)
	steps(l, "long", 5, 30, 2)
	b.until(t, "thirty", `document.querySelector("[role=slider]")?.ariaValueMax === "29"`)
	must(t, l.Record(&trace.Stage{Job: "long", Stage: "writing", Done: 1000, Total: 10_000}))
	b.until(t, "how far it is",
		`document.querySelector(".stages")?.innerText.includes("10 %: 1000 of 10 k")`)
	time.Sleep(time.Second) // a rate is shown after one second
	must(t, l.Record(&trace.Stage{Job: "long", Stage: "writing", Done: 5000, Total: 10_000}))
	b.until(t, "the time left",
		`/50 %: 5000 of 10 k, [\d.]+( k)?.s, \d+ s left/.test(document.querySelector(".stages").innerText)`)
	must(t, l.Record(&trace.Log{Time: time.Now(), Level: "warn", Text: "mind the gap"}))
	must(t, l.Record(&trace.Job{Job: "second", Began: time.Now()}))
	must(t, l.Record(&trace.End{Job: "long", State: trace.Failed, Error: "the disk is full"}))
	b.until(t, "the failure",
		`document.querySelector(".state.failed") && document.querySelector("main").innerText.includes("the disk is full")`)
	b.do(t, chromedp.Evaluate(`location.hash = "#/log"`, nil))
	b.until(t, "the log", `document.querySelector("main").innerText.includes("mind the gap")`)
	b.do(t, chromedp.Evaluate(`location.hash = "#/jobs"`, nil))
	b.until(t, "both jobs",
		`document.querySelectorAll("[aria-label='List of jobs'] tbody tr").length === 2`)
	// The page subscribes to other events when it leaves a job. It must be subscribed before the
	// run ends.
	must(t, l.Record(&trace.Stage{Stage: "reading", Done: 1, Total: 2}))
	b.until(t, "an event since", `document.querySelector(".stages")?.innerText.includes("reading")`)

	address := strings.TrimSuffix(strings.TrimPrefix(s.URL, "http://"), "/")
	b.clean(t)
	s.Close()
	b.until(t, "the end", `document.querySelector(".link.ended")`)
	if text := b.text(t, "main"); !strings.Contains(text, "second") {
		t.Errorf("the page has lost its contents: %s", text)
	}
	// of requests in progress
	b.clean(t, "ERR_CONNECTION_", "ERR_EMPTY_RESPONSE", "ERR_SOCKET_NOT_CONNECTED")

	// After the server returns at the same address, the page connects to it. New events are not
	// mixed with old ones.
	s, err = web.Start(address, control.Token{}, recorded(t, 3, 2), nil)
	if err != nil {
		t.Skip("the port is taken:", err)
	}
	defer s.Close()
	b.do(t, chromedp.Navigate(s.Link))
	b.until(t, "three supersteps", `document.querySelector("[role=slider]")?.ariaValueMax === "2"`)
}

// TestHostileNamesAreText shows names that contain scripts.
func TestHostileNamesAreText(t *testing.T) {
	t.Parallel()
	const evil = `<img src=x onerror="window.owned=1"><script>window.owned=1</script>"'}]]>` +
		"\u202e\x07"
	l := web.NewLocal(web.About{Kind: "run", Name: evil, Version: evil}, 1)
	l.AddGraph(web.Graph{Name: evil, State: evil, Reason: evil, Grid: evil})
	must(t, l.Record(&trace.Job{
		Job: evil, Program: evil, Graph: evil, Grid: evil, Delivery: evil, Partitions: 2,
		Parameters: map[string]string{evil: evil, "__proto__": evil},
	}))
	for superstep := range 3 {
		s := &record.Superstep{
			Job: evil, Superstep: superstep, Scheme: evil, Delivery: evil, Reason: evil, Actual: 1,
			Predicted: map[string]float64{evil: 1, "pull": 2, "__proto__": 3, "constructor": 4},
		}
		for p := range 2 {
			s.Partitions = append(s.Partitions, record.Partition{
				Partition: p, Worker: evil, Computed: 1, Bytes: 9,
				Times: record.Seconds{Compute: 1, Total: 1},
				Peers: []record.Peer{{Partition: 1 - p, Exchange: evil, Encoding: evil, Bytes: 9}},
			})
		}
		must(t, l.Record(s))
	}
	must(t, l.Record(&trace.Stage{Stage: evil, Seconds: 1}))
	must(t, l.Record(&trace.Log{Level: evil, Text: evil}))
	must(t, l.Record(&trace.End{Job: evil, State: trace.Failed, Error: evil}))
	b := open(t, serve(t, l, control.Token{}), 1280, 900)
	b.until(t, "the job", "document.querySelector('.decision')")
	b.do(t, chromedp.Evaluate(`document.querySelectorAll("details").forEach(d => d.open = true)`,
		nil))
	for _, place := range []string{"#/job/1", "#/jobs", "#/graphs", "#/workers", "#/log", "#/compare/1/1", "#/job/%3Cimg%20src=x%20onerror=owned=1%3E", "#/%E0%A4%A"} {
		b.do(t, chromedp.Evaluate("location.hash = "+quote(place), nil), chromedp.Sleep(settle))
		var bad string
		b.do(t,
			chromedp.Evaluate(`(() => window.owned ? "a script ran" : document.querySelector("main img, main script, header img, header script") ? "an element was made" : "")()`, &bad))
		if bad != "" {
			t.Errorf("%s: %s", place, bad)
		}
	}
	b.do(t, chromedp.Evaluate(`location.hash = "#/log"`, nil))
	b.until(t, "the name as text",
		`document.querySelector("main").innerText.includes("<script>window.owned=1</script>")`)
	b.clean(t)
}

// TestAToken: the page asks for the token, and scripts cannot read it.
func TestAToken(t *testing.T) {
	t.Parallel()
	const secret = "canary-canary-canary-canary"
	token, err := control.NewToken(secret, "test")
	must(t, err)
	b := open(t, serve(t, recorded(t, 3, 2), token), 1280, 900)
	b.until(t, "the question", "document.querySelector('input[name=token]')")
	if text := b.text(t, "form"); !strings.Contains(text, "--http-token-file") ||
		!strings.Contains(text, "--token-file of a master") {
		t.Errorf("whence the token is: %s", text)
	}
	enter := func(text string) {
		b.do(t, chromedp.SetValue("input[name=token]", text), chromedp.Click("form button"))
	}
	enter("wrong-wrong-wrong-wrong")
	b.until(t, "the refusal",
		`document.querySelector("form")?.innerText.includes("a token is missing or wrong")`)
	enter(secret)
	b.until(t, "the page", "document.querySelector('.decision')")
	var seen string
	b.do(t,
		chromedp.Evaluate(`document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage) + location.href + document.documentElement.outerHTML`, &seen))
	if strings.Contains(seen, secret) || strings.Contains(seen, "superstep-session") {
		t.Error("a script can read the token or the session")
	}
	b.do(t, chromedp.Reload())
	b.until(t, "the page again", "document.querySelector('.decision')")
}

// TestComparison shows two saved traces side by side.
func TestComparison(t *testing.T) {
	t.Parallel()
	chromium(t)
	path, err := binary()
	must(t, err)
	dir := t.TempDir()
	var files []string
	for _, delivery := range []string{"auto", "pull"} {
		file := delivery + ".jsonl"
		cmd := exec.Command(path, "run", "bfs", "--graph", "kronecker:scale=16", "-p", "source=5",
			"--delivery", delivery, "--trace", file)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		files = append(files, file)
	}
	b := open(t, superstep(t, dir, append([]string{"ui"}, files...)...)+"#/compare/1/2", 1280, 820)
	b.do(t, dark(false))
	b.until(t, "the verdict",
		`/times faster|the same time/.test(document.querySelector(".sentence")?.innerText ?? "")`)
	b.until(t, "the charts", "document.querySelectorAll('.u-wrap canvas').length === 2")
	b.do(t, chromedp.Evaluate(`document.querySelectorAll("details").forEach(d => d.open = true)`,
		nil))
	b.until(t, "both in a row",
		`[...document.querySelectorAll("tbody tr")].some(r => r.innerText.includes("push") && r.innerText.includes("pull"))`)
	b.picture(t, "compare")
	b.clean(t)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
