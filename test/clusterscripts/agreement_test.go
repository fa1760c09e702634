//go:build unix

package clusterscripts

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/superstep-go/superstep/record"
	"github.com/superstep-go/superstep/test/scripts"
)

// ran is a run as its command reports it: the trace lines of its last attempt, and all lines.
type ran struct {
	name       string
	last, all  []record.Superstep
	report     string
	has        map[string]json.RawMessage
	fromReport figures
	fromJSON   figures
	before     figures // the checkpoint from which it resumed
}

var reported = regexp.MustCompile(
	`after ([0-9,]+) supersteps?, ([0-9,]+) messages?, ([0-9,]+) values? and`)

// read reads the output files of a command in a directory.
func read(t *testing.T, dir, report string) *ran {
	t.Helper()
	r := &ran{report: report, before: figures{}}
	data, err := os.ReadFile(filepath.Join(dir, "t.jsonl"))
	scripts.Must(t, err)
	for text := range bytes.Lines(data) {
		var head struct{ Kind string }
		scripts.Must(t, json.Unmarshal(text, &head))
		switch head.Kind {
		case "job":
			var j begun
			scripts.Must(t, json.Unmarshal(text, &j))
			b := j.Before
			r.last, r.before = nil, figures{
				"supersteps": float64(b.Supersteps), "messages": float64(b.Messages),
				"sent": float64(b.Sent), "bytes": float64(b.Bytes),
				"push": float64(b.Pushed.Supersteps), "pull": float64(b.Pulled.Supersteps),
			}
			r.name = j.Job
		case "superstep":
			var l record.Superstep
			scripts.Must(t, json.Unmarshal(text, &l))
			r.last, r.all = append(r.last, l), append(r.all, l)
		}
	}
	data, err = os.ReadFile(filepath.Join(dir, "r.json"))
	scripts.Must(t, err)
	scripts.Must(t, json.Unmarshal(data, &r.has))
	if m := reported.FindStringSubmatch(report); m != nil {
		r.fromReport = figures{}
		for i, name := range []string{"supersteps", "messages", "sent"} {
			x, err := strconv.ParseFloat(strings.ReplaceAll(m[i+1], ",", ""), 64)
			scripts.Must(t, err)
			r.fromReport[name] = x
		}
	}
	r.fromJSON = figures{}
	for key, name := range map[string]string{"supersteps": "supersteps", "messages": "messages", "messages_sent": "sent", "bytes_sent": "bytes"} {
		var x float64
		if len(r.has[key]) > 0 {
			scripts.Must(t, json.Unmarshal(r.has[key], &x))
			r.fromJSON[name] = x
		}
	}
	return r
}

// times compares the seconds of each superstep in the report with those in the trace.
func (r *ran) times(t *testing.T) {
	t.Helper()
	var times []float64
	scripts.Must(t, json.Unmarshal(r.has["superstep_time"], &times))
	var supersteps int
	scripts.Must(t, json.Unmarshal(r.has["supersteps"], &supersteps))
	if len(times) != supersteps {
		t.Errorf("%s: the report has the times of %d supersteps of %d", r.name, len(times),
			supersteps)
	}
	for _, l := range r.last {
		active := 0
		for _, p := range l.Partitions {
			active += p.Computed
		}
		if active > 0 &&
			(l.Superstep >= len(times) || math.Abs(times[l.Superstep]-l.Seconds) > 1e-9) {
			t.Errorf("%s: superstep %d took %g s by the trace, and by the report %v", r.name,
				l.Superstep, l.Seconds, times)
			return
		}
	}
}

// whole returns the totals of the run from its beginning, according to the trace.
func (r *ran) whole() figures {
	f := told(r.last)
	sum := figures{}
	for name := range r.before {
		sum[name] = r.before[name] + f[name]
	}
	return sum
}

// TestAllTellTheSame runs jobs of six kinds. It compares their numbers in the report, --json, the
// trace, the page's API, the metrics and the spans.
func TestAllTellTheSame(t *testing.T) {
	spans := newCollector(t)
	const graph = "kronecker:scale=12"
	search := []string{"run", "bfs", "-g", graph, "-p", "source=1", "--workers", "2"}

	// One process with a page.
	dir := t.TempDir()
	local := exec.Command("superstep", append(search, "--trace", "t.jsonl", "--json", "r.json",
		"--http", "127.0.0.1:0", "--http-linger")...)
	said, out := &scripts.Output{}, &scripts.Output{}
	local.Dir, local.Stderr, local.Stdout = dir, said, out
	scripts.Must(t, local.Start())
	link := regexp.MustCompile(`(http://\S+?)/\?token=(\w+)`)
	if !scripts.Soon(func() bool { return strings.Contains(said.String(), "the page stays at") }) {
		t.Fatalf("its output is %q", said)
	}
	found := link.FindStringSubmatch(said.String())
	page := site{t, found[1], found[2]}
	whole, steps, rows, totals := page.api("1")
	counted := metrics(page)
	scripts.Must(t, local.Process.Signal(syscall.SIGINT))
	_ = local.Wait() // its status is checked elsewhere
	r := read(t, dir, out.String())
	r.times(t)
	agree(t, "a run in one process", map[string]figures{
		"report": r.fromReport, "json": r.fromJSON, "trace": told(r.all), "job": whole,
		"steps": steps, "rows": rows, "totals": totals,
		"metrics": counted, "spans": spans.of(t, r.name),
	})
	if n := told(r.all); n["push"] == 0 || n["pull"] == 0 || n["sent"] == 0 {
		t.Fatalf("the search says nothing of pushes and pulls: %v", n)
	}

	// A cluster.
	kept := t.TempDir()
	c := scripts.NewCluster(t, "own", 2, "--data", t.TempDir(), "--checkpoints", kept,
		"--checkpoint-every", "10", "--hold", "5s")
	_, port, err := net.SplitHostPort(c.Address)
	scripts.Must(t, err)
	token, err := os.ReadFile(filepath.Join(os.Getenv("XDG_STATE_HOME"),
		"superstep/tokens/localhost-"+port))
	scripts.Must(t, err)
	master := site{t, "http://" + c.Address, strings.TrimSpace(string(token))}
	var workers []struct {
		Targets []string
		Labels  map[string]string
	}
	scripts.Must(t, json.Unmarshal(master.get("/metrics/targets"), &workers))
	processes, byName := []site{master}, map[string]site{}
	for _, w := range workers {
		at := site{t, "http://" + w.Targets[0], master.token}
		processes, byName[w.Labels["worker"]] = append(processes, at), at
	}
	if len(processes) != 3 {
		t.Fatalf("found workers %v", workers)
	}
	id := regexp.MustCompile(`"id": *"([0-9a-f]+-[0-9]+)"`)
	newest := func() string {
		out, err := exec.Command("superstep", "jobs", "--all", "--json", "--master",
			c.Address).Output()
		scripts.Must(t, err)
		all := id.FindAllSubmatch(out, -1)
		return string(all[len(all)-1][1])
	}
	jobs := map[string]map[string]figures{} // the numbers of each job, to compare with its spans
	run := func(what string, counting []site, while func(), args ...string) (*ran, string) {
		t.Helper()
		before, dir := metrics(counting...), t.TempDir()
		cmd := exec.Command("own", append(args, "--master", c.Address, "--trace", "t.jsonl",
			"--json", "r.json")...)
		var said, report bytes.Buffer
		cmd.Dir, cmd.Stderr, cmd.Stdout = dir, &said, &report
		scripts.Must(t, cmd.Start())
		if while != nil {
			while()
		}
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%s: %v\n%s", what, err, &said)
		}
		job, r := newest(), read(t, dir, report.String())
		jobs[job] = map[string]figures{what: told(r.all), what + ", metrics": metrics(counting...).since(before)}
		return r, job
	}
	same := func(what string, r *ran, job string) {
		t.Helper()
		r.times(t)
		whole, steps, rows, totals := master.api(job)
		agree(t, what+", in all",
			map[string]figures{"report": r.fromReport, "json": r.fromJSON, "trace": r.whole(), "job": whole})
		agree(t, what+", in its last attempt",
			map[string]figures{"trace": told(r.last), "steps": steps, "rows": rows, "totals": totals})
	}
	r, job := run("a job of a cluster", processes, nil, search...)
	same("a job of a cluster", r, job)
	r, job = run("a plan", processes, nil, "run", "ages", "-g", graph, "-p", "rounds=4")
	same("a plan", r, job)
	for _, l := range r.all {
		if l.Phase == 0 {
			t.Errorf("a plan: superstep %d has no phase", l.Superstep)
		}
	}
	held := filepath.Join(t.TempDir(), "held")
	mixes := []string{"run", "mixes", "-g", graph, "-p", "rounds=60", "-p", "while=" + held}
	r, job = run("one to a limit", processes, nil, append(mixes, "--max-supersteps", "25")...)
	same("one to a limit", r, job)
	r, job = run("one that goes on", processes, nil, "resume", job, "--max-supersteps", "45")
	same("one that goes on", r, job)
	if r.before["supersteps"] == 0 {
		t.Errorf("it began at the beginning: %d lines from superstep %d", len(r.last),
			r.last[0].Superstep)
	}

	// One of the workers is stopped repeatedly, and the other waits for it.
	scripts.Must(t, os.WriteFile(held, nil, 0o600))
	before := map[string]figures{}
	for name, w := range byName {
		before[name] = metrics(w)
	}
	r, job = run("one with a throttled worker", processes, func() {
		master.awaitSuperstep()
		throttle(t, c.Running["w2"].Process)
		scripts.Must(t, os.Remove(held))
	}, mixes...)
	same("one with a throttled worker", r, job)
	for name, w := range byName {
		counted := metrics(w).since(before[name])
		agree(t, "the waiting of "+name, map[string]figures{
			"trace": waits(r.last, name, 0), "totals": master.waits(job, name),
			"metrics": {"wait": counted["wait"]},
		})
	}
	expected := stops * stopped.Seconds() / 2 // it may work while the other is stopped
	if of := waits(r.last, "w1", stopped.Seconds()/2); of["wait"] < expected {
		t.Errorf("w1 waited %.3g s for w2, expected %.3g s at least", of["wait"], expected)
	}

	r, job = run("Graph500", processes, nil, "graph500", "--scale", "9", "--roots", "3", "--sssp")
	for _, name := range []string{"bfs", "sssp"} {
		shown, counted := master.kernel(job, name)
		if len(shown) != 9 || len(counted) != 6 {
			t.Errorf("of %s the page has %v and the metrics %v", name, shown, counted)
		}
		agree(t, "Graph500's "+name,
			map[string]figures{"report": r.kernel(t, name), "job": shown, "metrics": counted})
	}
	searches := map[string][]record.Superstep{}
	for _, l := range r.all {
		searches[l.Job] = append(searches[l.Job], l)
	}
	if len(searches) < 6 {
		t.Errorf("Graph500 has records of %d searches", len(searches))
	}
	var shown struct{ Items []struct{ ID, Job string } }
	master.json("jobs", &shown)
	for _, s := range shown.Items {
		if name, ok := strings.CutPrefix(s.Job, job+" "); ok {
			whole, steps, rows, totals := master.api(s.ID)
			agree(t, s.Job,
				map[string]figures{"trace": told(searches[name]), "job": whole, "steps": steps, "rows": rows, "totals": totals})
			delete(searches, name)
		}
	}
	if len(searches) > 0 {
		t.Errorf("the page lacks searches: %v", slices.Collect(maps.Keys(searches)))
	}

	// A job that loses a worker, whose metrics are lost, too.
	scripts.Must(t, os.WriteFile(held, nil, 0o600))
	checkpoints := func() []string {
		names, err := filepath.Glob(filepath.Join(kept, "*", "checkpoint-*"))
		scripts.Must(t, err)
		return names
	}
	others := checkpoints()
	r, job = run("one that lost a worker", processes[:1], func() {
		if !scripts.Soon(func() bool {
			return slices.ContainsFunc(checkpoints(),
				func(name string) bool { return !slices.Contains(others, name) })
		}) {
			t.Error("there is no checkpoint")
		}
		scripts.Must(t, c.Signal("w2", os.Kill))
		scripts.Must(t, os.Remove(held))
	}, mixes...)
	same("one that lost a worker", r, job)
	if r.before["supersteps"] == 0 || len(r.last) == len(r.all) {
		t.Errorf("it began at superstep %v, with %d lines of %d", r.before["supersteps"],
			len(r.last), len(r.all))
	}
	scripts.Must(t, c.Signal("master", syscall.SIGTERM)) // sends the last spans
	for job, of := range jobs {
		of["spans"] = spans.of(t, job)
		agree(t, "all attempts", of)
	}
}
