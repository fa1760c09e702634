//go:build unix

package clusterscripts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	v1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/record"
	"github.com/superstep-go/superstep/test/scripts"
)

// figures are what somebody says of a run, by name. Each source has its own part of them.
type figures map[string]float64

func (f figures) add(name string, x float64) { f[name] += x }

// count adds a superstep by its delivery. The last one of a run, in which no vertex ran, is none.
func (f figures) count(delivery string, active, seconds float64) {
	if active > 0 {
		f.add("supersteps", 1)
		f.add("seconds", seconds)
		f.add(delivery, 1)
	}
}

// agree compares the figures of several sources. Counts are the same; times are, within rounding.
func agree(t *testing.T, of string, told map[string]figures) {
	t.Helper()
	names := map[string]bool{}
	for _, f := range told {
		for name := range f {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		least, most := math.Inf(1), math.Inf(-1)
		for _, f := range told {
			if x, ok := f[name]; ok {
				least, most = min(least, x), max(most, x)
			}
		}
		room := 0.0
		switch name {
		case "seconds", "wait":
			room = 1e-5*most + 1e-6
		}
		if most-least > room {
			all := ""
			for _, source := range slices.Sorted(maps.Keys(told)) {
				if x, ok := told[source][name]; ok {
					all += fmt.Sprintf(" %s %v", source, x)
				}
			}
			t.Errorf("%s: %s:%s", of, name, all)
		}
	}
}

// begun is the line of a trace that begins a run: what that had come to before the checkpoint that it goes on from.
type begun struct {
	Job    string
	Before struct {
		Supersteps, Messages, Bytes int
		Sent                        int `json:"messages_sent"`
		Pushed, Pulled              struct{ Supersteps int }
	}
}

// told adds what the lines of a trace say.
func told(lines []record.Superstep) figures {
	f := figures{"push": 0, "pull": 0}
	for _, l := range lines {
		active := 0.0
		for _, p := range l.Partitions {
			active += float64(p.Computed)
			f.add("edges", float64(p.Walked))
			f.add("messages", float64(p.Messages))
			f.add("sent", float64(p.Sent))
			f.add("bytes", float64(p.Bytes))
			f.add("wait", p.Times.Wait)
		}
		f.add("active", active)
		f.count(l.Delivery, active, l.Seconds)
	}
	delete(f, "none")
	return f
}

// site asks the page of a process.
type site struct {
	t           *testing.T
	base, token string
}

func (s site) get(path string) []byte {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), "GET", s.base+path, nil)
	scripts.Must(s.t, err)
	r.Header.Set("Authorization", "Bearer "+s.token)
	answer, err := http.DefaultClient.Do(r)
	scripts.Must(s.t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	scripts.Must(s.t, err)
	if answer.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %s %s", path, answer.Status, text)
	}
	return text
}

func (s site) json(path string, to any) {
	s.t.Helper()
	scripts.Must(s.t, json.Unmarshal(s.get("/api/v1/"+path), to))
}

var sample = regexp.MustCompile(`(?m)^superstep_(\w+)(?:\{(.*?)\})? (\S+)$`)

// metrics are the sums of what processes have counted: of a master or a run, and of those that have partitions.
func metrics(all ...site) figures {
	f := figures{}
	for _, s := range all {
		for _, m := range sample.FindAllSubmatch(s.get("/metrics"), -1) {
			x, err := strconv.ParseFloat(string(m[3]), 64)
			scripts.Must(s.t, err)
			switch name, labels := string(m[1]), string(m[2]); name {
			case "supersteps_total":
				f.add("supersteps", x)
			case "messages_total":
				f.add("messages", x)
			case "superstep_duration_seconds_sum":
				f.add("seconds", x)
			case "superstep_duration_seconds_count":
				f.add(strings.Trim(strings.TrimPrefix(labels, "delivery="), `"`), x)
			case "phase_seconds_total":
				f.add(strings.Trim(strings.TrimPrefix(labels, "phase="), `"`), x)
			case "vertices_computed_total":
				f.add("active", x)
			case "edges_walked_total":
				f.add("edges", x)
			case "sent_values_total":
				f.add("sent", x)
			case "sent_bytes_total":
				f.add("bytes", x)
			}
		}
	}
	for _, other := range []string{"none", "expand", "traverse", "fold", "compute"} {
		delete(f, other)
	}
	return f
}

func (f figures) since(before figures) figures {
	for name := range f {
		f[name] -= before[name]
	}
	return f
}

// api has what the page says of a job in all, superstep by superstep, and partition by partition.
func (s site) api(job string) (whole, steps, rows, totals figures) {
	s.t.Helper()
	var j struct {
		Supersteps, Messages, Bytes int
		Sent                        int `json:"messages_sent"`
		Summary                     struct{ Pushed, Pulled struct{ Supersteps int } }
	}
	s.json("jobs/"+job, &j)
	whole = figures{
		"supersteps": float64(j.Supersteps), "messages": float64(j.Messages), "sent": float64(j.Sent), "bytes": float64(j.Bytes),
		"push": float64(j.Summary.Pushed.Supersteps), "pull": float64(j.Summary.Pulled.Supersteps),
	}
	type part struct {
		Active, Edges, Messages, Bytes float64
		Sent                           float64 `json:"messages_sent"`
	}
	add := func(f figures, p part) {
		f.add("active", p.Active)
		f.add("edges", p.Edges)
		f.add("messages", p.Messages)
		f.add("sent", p.Sent)
		f.add("bytes", p.Bytes)
	}
	var list struct {
		Items []struct {
			part
			Superstep int
			Delivery  string
			Seconds   record.Seconds
		}
	}
	s.json("jobs/"+job+"/steps", &list)
	steps, rows, totals = figures{"push": 0, "pull": 0}, figures{"push": 0, "pull": 0}, figures{}
	for _, x := range list.Items {
		add(steps, x.part)
		steps.count(x.Delivery, x.Active, x.Seconds.Total)
		var detail struct{ Partitions []record.Partition }
		s.json(fmt.Sprintf("jobs/%s/steps/%d", job, x.Superstep), &detail)
		for _, p := range detail.Partitions {
			add(rows, part{float64(p.Computed), float64(p.Walked), float64(p.Messages), float64(p.Bytes), float64(p.Sent)})
			rows.add("wait", p.Times.Wait)
		}
		rows.count(x.Delivery, x.Active, x.Seconds.Total)
	}
	var all struct {
		Totals []struct {
			part
			Seconds record.Seconds
		}
	}
	s.json("jobs/"+job+"/partitions", &all)
	for _, p := range all.Totals {
		add(totals, p.part)
		totals.add("wait", p.Seconds.Wait)
	}
	delete(steps, "none")
	delete(rows, "none")
	return whole, steps, rows, totals
}

// collector takes spans.
type collector struct {
	*httptest.Server
	mu    sync.Mutex
	spans []*v1.Span
}

func newCollector(t *testing.T) *collector {
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		data := &v1.TracesData{}
		if err = cmpErr(err, func() error { return proto.Unmarshal(body, data) }); err != nil {
			t.Error(err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, of := range data.ResourceSpans {
			for _, s := range of.ScopeSpans {
				c.spans = append(c.spans, s.Spans...)
			}
		}
	}))
	t.Cleanup(c.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	return c
}

func cmpErr(err error, next func() error) error {
	if err != nil {
		return err
	}
	return next()
}

// of has the figures of a job's spans, of all of its attempts. Supersteps follow each other.
func (c *collector) of(t *testing.T, job string) figures {
	c.mu.Lock()
	defer c.mu.Unlock()
	value := func(s *v1.Span, key string) (text string, n float64) {
		for _, a := range s.Attributes {
			if a.Key == "superstep."+key {
				return a.Value.GetStringValue(), float64(a.Value.GetIntValue())
			}
		}
		return "", 0
	}
	jobs := map[string]bool{}
	for _, s := range c.spans {
		if name, _ := value(s, "job"); name == job {
			jobs[string(s.SpanId)] = true
		}
	}
	f, ended := figures{"push": 0, "pull": 0}, uint64(0)
	spans := slices.Clone(c.spans)
	slices.SortFunc(spans, func(a, b *v1.Span) int { return int(int64(a.EndTimeUnixNano) - int64(b.EndTimeUnixNano)) })
	for _, s := range spans {
		if !jobs[string(s.ParentSpanId)] || !strings.HasPrefix(s.Name, "superstep ") {
			continue
		}
		for key, name := range map[string]string{"active": "active", "edges": "edges", "messages": "messages", "values_sent": "sent", "bytes_sent": "bytes"} {
			_, n := value(s, key)
			f.add(name, n)
		}
		delivery, _ := value(s, "delivery")
		_, active := value(s, "active")
		f.count(delivery, active, float64(s.EndTimeUnixNano-s.StartTimeUnixNano)/1e9)
		if s.StartTimeUnixNano+1000 < ended {
			t.Errorf("%s: %s begins %d ns before the one before has ended", job, s.Name, ended-s.StartTimeUnixNano)
		}
		ended = s.EndTimeUnixNano
	}
	delete(f, "none")
	return f
}

// ran is a run as its command has told of it: the lines of its last attempt, and all lines.
type ran struct {
	name       string
	last, all  []record.Superstep
	report     string
	has        map[string]json.RawMessage
	fromReport figures
	fromJSON   figures
	before     figures // the checkpoint that it goes on from
}

var reported = regexp.MustCompile(`after ([0-9,]+) supersteps?, ([0-9,]+) messages?, ([0-9,]+) values? and`)

// read reads what a command has left in a directory.
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
				"supersteps": float64(b.Supersteps), "messages": float64(b.Messages), "sent": float64(b.Sent), "bytes": float64(b.Bytes),
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

// times compares the seconds of each superstep in the report with those of the trace.
func (r *ran) times(t *testing.T) {
	t.Helper()
	var times []float64
	scripts.Must(t, json.Unmarshal(r.has["superstep_time"], &times))
	var supersteps int
	scripts.Must(t, json.Unmarshal(r.has["supersteps"], &supersteps))
	if len(times) != supersteps {
		t.Errorf("%s: the report has the times of %d supersteps of %d", r.name, len(times), supersteps)
	}
	for _, l := range r.last {
		active := 0
		for _, p := range l.Partitions {
			active += p.Computed
		}
		if active > 0 && (l.Superstep >= len(times) || math.Abs(times[l.Superstep]-l.Seconds) > 1e-9) {
			t.Errorf("%s: superstep %d took %g s by the trace, and by the report %v", r.name, l.Superstep, l.Seconds, times)
			return
		}
	}
}

// whole is what the run came to from its beginning, by the trace.
func (r *ran) whole() figures {
	f := told(r.last)
	sum := figures{}
	for name := range r.before {
		sum[name] = r.before[name] + f[name]
	}
	return sum
}

// TestAllTellTheSame runs jobs of six kinds and compares what the report, --json, the trace, the API of the page, the metrics
// and the spans say of them.
func TestAllTellTheSame(t *testing.T) {
	spans := newCollector(t)
	const graph = "kronecker:scale=12"
	search := []string{"run", "bfs", "-g", graph, "-p", "source=1", "--workers", "2"}

	// One process, with a page.
	dir := t.TempDir()
	local := exec.Command("superstep", append(search, "--trace", "t.jsonl", "--json", "r.json", "--http", "127.0.0.1:0", "--http-linger")...)
	said, out := &scripts.Output{}, &scripts.Output{}
	local.Dir, local.Stderr, local.Stdout = dir, said, out
	scripts.Must(t, local.Start())
	link := regexp.MustCompile(`(http://\S+?)/\?token=(\w+)`)
	if !scripts.Soon(func() bool { return strings.Contains(said.String(), "the page stays at") }) {
		t.Fatalf("it said %q", said)
	}
	found := link.FindStringSubmatch(said.String())
	page := site{t, found[1], found[2]}
	whole, steps, rows, totals := page.api("1")
	counted := metrics(page)
	scripts.Must(t, local.Process.Signal(syscall.SIGINT))
	_ = local.Wait() // its status is looked at elsewhere
	r := read(t, dir, out.String())
	r.times(t)
	agree(t, "a run in one process", map[string]figures{
		"report": r.fromReport, "json": r.fromJSON, "trace": told(r.all), "job": whole, "steps": steps, "rows": rows, "totals": totals,
		"metrics": counted, "spans": spans.of(t, r.name),
	})
	if n := told(r.all); n["push"] == 0 || n["pull"] == 0 || n["sent"] == 0 {
		t.Fatalf("the search says nothing of pushes and pulls: %v", n)
	}

	// A cluster.
	kept := t.TempDir()
	c := scripts.NewCluster(t, "own", 2, "--data", t.TempDir(), "--checkpoints", kept, "--checkpoint-every", "10", "--hold", "5s")
	_, port, err := net.SplitHostPort(c.Address)
	scripts.Must(t, err)
	token, err := os.ReadFile(filepath.Join(os.Getenv("XDG_STATE_HOME"), "superstep/tokens/localhost-"+port))
	scripts.Must(t, err)
	master := site{t, "http://" + c.Address, strings.TrimSpace(string(token))}
	var workers []struct {
		Targets []string
		Labels  map[string]string
	}
	scripts.Must(t, json.Unmarshal(master.get("/metrics/targets"), &workers))
	processes := []site{master}
	for _, w := range workers {
		processes = append(processes, site{t, "http://" + w.Targets[0], master.token})
	}
	if len(processes) != 3 {
		t.Fatalf("found workers %v", workers)
	}
	id := regexp.MustCompile(`"id": *"([0-9a-f]+-[0-9]+)"`)
	newest := func() string {
		out, err := exec.Command("superstep", "jobs", "--all", "--json", "--master", c.Address).Output()
		scripts.Must(t, err)
		all := id.FindAllSubmatch(out, -1)
		return string(all[len(all)-1][1])
	}
	jobs := map[string]map[string]figures{} // what was said of each, to be compared with its spans
	run := func(what string, counting []site, while func(), args ...string) (*ran, string) {
		t.Helper()
		before, dir := metrics(counting...), t.TempDir()
		cmd := exec.Command("own", append(args, "--master", c.Address, "--trace", "t.jsonl", "--json", "r.json")...)
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
		agree(t, what+", in all", map[string]figures{"report": r.fromReport, "json": r.fromJSON, "trace": r.whole(), "job": whole})
		agree(t, what+", in its last attempt", map[string]figures{"trace": told(r.last), "steps": steps, "rows": rows, "totals": totals})
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
		t.Errorf("it began at the beginning: %d lines from superstep %d", len(r.last), r.last[0].Superstep)
	}
	r, job = run("Graph500", processes, nil, "graph500", "--scale", "9", "--roots", "3", "--sssp")
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
			agree(t, s.Job, map[string]figures{"trace": told(searches[name]), "job": whole, "steps": steps, "rows": rows, "totals": totals})
			delete(searches, name)
		}
	}
	if len(searches) > 0 {
		t.Errorf("the page lacks searches: %v", slices.Collect(maps.Keys(searches)))
	}

	// One that loses a worker, whose metrics are gone then.
	scripts.Must(t, os.WriteFile(held, nil, 0o600))
	checkpoints := func() []string {
		names, err := filepath.Glob(filepath.Join(kept, "*", "checkpoint-*"))
		scripts.Must(t, err)
		return names
	}
	others := checkpoints()
	r, job = run("one that lost a worker", processes[:1], func() {
		if !scripts.Soon(func() bool {
			return slices.ContainsFunc(checkpoints(), func(name string) bool { return !slices.Contains(others, name) })
		}) {
			t.Error("there is no checkpoint")
		}
		scripts.Must(t, c.Signal("w2", os.Kill))
		scripts.Must(t, os.Remove(held))
	}, mixes...)
	same("one that lost a worker", r, job)
	if r.before["supersteps"] == 0 || len(r.last) == len(r.all) {
		t.Errorf("it began at superstep %v, with %d lines of %d", r.before["supersteps"], len(r.last), len(r.all))
	}
	scripts.Must(t, c.Signal("master", syscall.SIGTERM)) // which sends the last spans
	for job, of := range jobs {
		of["spans"] = spans.of(t, job)
		agree(t, "all attempts", of)
	}
}
