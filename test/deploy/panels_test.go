package deploy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// line is a line of a trace, with the fields that panels show.
type line struct {
	Kind             string
	Job              string
	Scheme, Delivery string
	Predicted        map[string]float64
	Actual           float64
	Seconds          float64
	Partitions       []struct {
		Computed int `json:"active"`
		Walked   int `json:"edges"`
		Messages int
		Sent     int `json:"messages_sent"`
		Bytes    int
		Times    map[string]float64 `json:"seconds"`
	}
	// of a search
	Kernel              string
	Translate, Validate float64
	Nedge               float64
	Valid               *bool
}

// told is what the report of a run and its trace say, from one scrape to another.
type told struct {
	what, program string
	report        map[string]json.RawMessage
	text          string
	lines         []line
	from, until   float64 // the times of scrapes before and after the run
	lost          bool    // a worker was lost, with its metrics
}

// steps returns the supersteps that count: those in which vertices ran.
func (r *told) steps() (some []line) {
	for _, l := range r.lines {
		for _, p := range l.Partitions {
			if p.Computed > 0 {
				some = append(some, l)
				break
			}
		}
	}
	return some
}

// figures are values by the label of a panel's series.
type figures map[string]float64

// by sums up figures of lines by a label.
func by(lines []line, of func(l line, add func(label string, x float64))) figures {
	f := figures{}
	for _, l := range lines {
		of(l, func(label string, x float64) { f[label] += x })
	}
	return f
}

// work sums up a figure of all partitions, including those of a last superstep without vertices.
func (r *told) work(label string, of func(l line, p int) float64) figures {
	return by(r.lines, func(l line, add func(string, float64)) {
		for p := range l.Partitions {
			add(label, of(l, p))
		}
	})
}

// number returns a number of the report in JSON.
func (r *told) number(t *testing.T, key string) float64 {
	t.Helper()
	var x float64
	if err := json.Unmarshal(r.report[key], &x); err != nil {
		t.Fatalf("%s: the report's %s: %v", r.what, key, err)
	}
	return x
}

// official returns a number of the official block of Graph500.
func (r *told) official(t *testing.T, key string) float64 {
	t.Helper()
	m := regexp.MustCompile(`(?m)^` + key + `: +!? *(\S+)$`).FindStringSubmatch(r.text)
	if m == nil {
		t.Fatalf("there is no %s in\n%s", key, r.text)
	}
	x, err := strconv.ParseFloat(m[1], 64)
	must(t, err)
	return x
}

// panels maps the panels of dashboards to what the report says. A figure of 0 may have no series.
// Without a function a panel shows what no report has, such as the memory of processes now.
var panels = map[string]func(t *testing.T, r *told) figures{
	"superstep-run/Running": func(*testing.T, *told) figures { return figures{"running": 0} },
	"superstep-run/Superstep": func(t *testing.T, r *told) figures {
		if r.program == "graph500" {
			return figures{"JOB graph500": float64(len(r.steps()))}
		}
		return figures{"JOB " + r.program: r.number(t, "supersteps")}
	},
	"superstep-run/Last superstep took": func(_ *testing.T, r *told) figures {
		all := r.steps()
		return figures{"JOB " + r.program: all[len(all)-1].Seconds}
	},
	"superstep-run/Silent for": func(_ *testing.T, r *told) figures { return figures{"JOB " + r.program: 0} },
	"superstep-run/Frontier":   func(*testing.T, *told) figures { return figures{"JOB active": 0, "JOB senders": 0} },
	"superstep-run/Work": func(_ *testing.T, r *told) figures {
		f := r.work("messages", func(l line, p int) float64 { return float64(l.Partitions[p].Messages) })
		if !r.lost {
			maps.Copy(f, r.work("edges", func(l line, p int) float64 { return float64(l.Partitions[p].Walked) }))
			maps.Copy(f, r.work("vertices", func(l line, p int) float64 { return float64(l.Partitions[p].Computed) }))
		}
		return f
	},
	"superstep-run/Supersteps": func(_ *testing.T, r *told) figures {
		values := map[string][]float64{}
		for _, l := range r.steps() {
			values[l.Delivery] = append(values[l.Delivery], l.Seconds)
		}
		f := figures{}
		for delivery, all := range values {
			bounds := exponentialBounds(1e-5, 1e3, 2)
			f[delivery+" p50"], f[delivery+" p95"] = quantile(.5, bounds, all), quantile(.95, bounds, all)
		}
		return f
	},
	"superstep-run/Delivery": func(_ *testing.T, r *told) figures {
		return by(r.steps(), func(l line, add func(string, float64)) { add(l.Scheme, 1) })
	},
	"superstep-run/Phases": func(_ *testing.T, r *told) figures {
		if r.lost {
			return nil
		}
		return by(r.lines, func(l line, add func(string, float64)) {
			for _, p := range l.Partitions {
				for _, phase := range []string{"expand", "traverse", "fold", "compute", "wait"} {
					add(phase, p.Times[phase])
				}
			}
		})
	},
	"superstep-run/Skew": func(_ *testing.T, r *told) figures {
		var all []float64
		for _, l := range r.steps() {
			most, sum := 0., 0.
			for _, p := range l.Partitions {
				busy := p.Times["expand"] + p.Times["traverse"] + p.Times["fold"] + p.Times["compute"]
				most, sum = max(most, busy), sum+busy
			}
			if sum > 0 {
				all = append(all, most/sum*float64(len(l.Partitions)))
			}
		}
		bounds := []float64{1.05, 1.1, 1.25, 1.5, 2, 3, 5, 10}
		return figures{"p50": max(quantile(.5, bounds, all), 1), "p90": max(quantile(.9, bounds, all), 1)}
	},
	"superstep-run/Model": func(_ *testing.T, r *told) figures {
		var all []float64
		for _, l := range r.steps() {
			if predicted := l.Predicted[l.Scheme]; predicted > 0 && l.Actual >= 1e-3 {
				all = append(all, l.Actual/predicted)
			}
		}
		if all == nil {
			return figures{}
		}
		bounds := []float64{.1, .25, .5, .75, .9, 1.1, 1.33, 2, 4, 10}
		return figures{"p10": quantile(.1, bounds, all), "p50": quantile(.5, bounds, all), "p90": quantile(.9, bounds, all)}
	},
	"superstep-run/Sent between partitions": func(_ *testing.T, r *told) figures {
		if r.lost {
			return nil
		}
		f := r.work("values", func(l line, p int) float64 { return float64(l.Partitions[p].Sent) })
		maps.Copy(f, r.work("bytes", func(l line, p int) float64 { return float64(l.Partitions[p].Bytes) }))
		return f
	},
	"superstep-run/Memory":             nil,
	"superstep-run/Garbage collection": nil,

	"superstep-graph500/Harmonic mean":        harmonicMeans,
	"superstep-graph500/Harmonic mean so far": harmonicMeans,
	"superstep-graph500/Searches": func(_ *testing.T, r *told) figures {
		return by(r.lines, func(l line, add func(string, float64)) {
			if l.Kind == "search" {
				add(l.Kernel, 1)
			}
		})
	},
	"superstep-graph500/Invalid": func(*testing.T, *told) figures { return figures{"bfs": 0, "sssp": 0} },
	"superstep-graph500/TEPS by search": func(_ *testing.T, r *told) figures {
		f := figures{}
		for _, l := range r.lines {
			if l.Kind == "search" {
				f["JOB "+l.Kernel] = l.Nedge / l.Seconds
			}
		}
		return f
	},
	"superstep-graph500/Split of time": func(t *testing.T, r *told) figures {
		f := by(r.lines, func(l line, add func(string, float64)) {
			if l.Kind == "search" {
				add("JOB search", l.Seconds-l.Translate)
				add("JOB translation", l.Translate)
				add("JOB validation", l.Validate)
			}
		})
		f["JOB generation"] = r.official(t, "graph_generation")
		f["JOB construction"] = r.official(t, "construction_time")
		return f
	},
	"superstep-graph500/Validity": func(_ *testing.T, r *told) figures {
		return by(r.lines, func(l line, add func(string, float64)) {
			if l.Kind == "search" {
				add(strconv.FormatBool(*l.Valid), 60) // a minute
			}
		})
	},

	"superstep-cluster/Workers": func(_ *testing.T, r *told) figures { return figures{"attached": workersLeft(r)} },
	"superstep-cluster/Threads": func(_ *testing.T, r *told) figures { return figures{"threads": workersLeft(r)} },
	"superstep-cluster/Waiting": func(*testing.T, *told) figures { return figures{"queued": 0} },
	"superstep-cluster/Running": func(*testing.T, *told) figures { return figures{"running": 0} },
	"superstep-cluster/Workers by state": func(_ *testing.T, r *told) figures {
		return figures{"registered": workersLeft(r), "lost": 2 - workersLeft(r)}
	},
	"superstep-cluster/Losses and suspicions": func(_ *testing.T, r *told) figures {
		return figures{"lost": 2 - workersLeft(r), "suspected": 0}
	},
	"superstep-cluster/Jobs by state": func(*testing.T, *told) figures { return figures{"queued": 0, "running": 0} },
	"superstep-cluster/Jobs that ended": func(_ *testing.T, r *told) figures {
		return figures{"done": 1, "again": 2 - workersLeft(r)}
	},
	"superstep-cluster/Graphs in memory": func(*testing.T, *told) figures { return figures{"graphs": 0} },
	"superstep-cluster/Commands that failed": func(_ *testing.T, r *told) figures {
		if r.lost {
			return nil
		}
		return figures{}
	},
	"superstep-cluster/Turned away": func(_ *testing.T, r *told) figures { return figures{} },
	"superstep-cluster/Broken": func(_ *testing.T, r *told) figures {
		if r.lost {
			return nil
		}
		return figures{}
	},
	// Of processes now, not of a run.
	"superstep-cluster/Up": nil, "superstep-cluster/Alerts": nil, "superstep-cluster/Silence": nil,
	"superstep-cluster/Memory of workers": nil, "superstep-cluster/Processors of workers": nil,
	"superstep-cluster/Memory of the master": nil, "superstep-cluster/Versions": nil,
	// Other panels have the phases of workers, and the times of jobs and commands with their loads.
	"superstep-cluster/Work of workers": nil, "superstep-cluster/Jobs took": nil,
	"superstep-cluster/Commands": nil, "superstep-cluster/Sessions": nil,
	// Frames carry heartbeats and the control of a run, too.
	"superstep-cluster/Network": nil, "superstep-cluster/Frames and messages": nil,
}

func harmonicMeans(t *testing.T, r *told) figures {
	t.Helper()
	return figures{
		"JOB bfs":  r.official(t, "bfs +harmonic_mean_TEPS"),
		"JOB sssp": r.official(t, "sssp +harmonic_mean_TEPS"),
	}
}

func workersLeft(r *told) float64 {
	if r.lost {
		return 1
	}
	return 2
}

// exponentialBounds are the bounds of a histogram of superstep's metrics.
func exponentialBounds(from, most, factor float64) []float64 {
	n := 1 + int(math.Round(math.Log(most/from)/math.Log(factor)))
	growth := math.Pow(most/from, 1/float64(n-1))
	bounds := []float64{from}
	for len(bounds) < n {
		bounds = append(bounds, bounds[len(bounds)-1]*growth)
	}
	return bounds
}

// quantile returns what histogram_quantile does for a histogram of the values.
func quantile(q float64, bounds, values []float64) float64 {
	rank, below, low := q*float64(len(values)), 0., 0.
	for i, bound := range bounds {
		n := 0.
		for _, v := range values {
			if v <= bound && (i == 0 || v > bounds[i-1]) {
				n++
			}
		}
		if below+n >= rank && n > 0 {
			return low + (bound-low)*(rank-below)/n
		}
		below, low = below+n, bound
	}
	return bounds[len(bounds)-1]
}

var (
	rates   = regexp.MustCompile(`\b(rate|increase|changes)\((\w+\{[^}]*\})\[\w+\]\)`)
	runs    = regexp.MustCompile(`superstep_job_running\{[^}]*\}`)
	counted = regexp.MustCompile(`sum by \(([^)]*)\) \((superstep_graph500_searches_total\{[^}]*\})\)`)
)

// over returns a panel's expression for a run: counters count from the scrape before it to the one
// after it, and the run counts as running. Everything else is as in the panel.
func (r *told) over(expression, job string) string {
	e := strings.NewReplacer("$instance", ".*", "$job_id", job, "$cluster", ".*", "$worker",
		".*").Replace(expression)
	since := fmt.Sprintf("($2 @ %f - ($2 @ %f or $2 @ %f * 0))", r.until, r.from, r.until)
	e = rates.ReplaceAllString(e, since)
	if strings.Contains(e, "> 0)") {
		e = runs.ReplaceAllString(e, "($0 + 1)")
	}
	return counted.ReplaceAllString(e, "sum by ($1) ("+since+")")
}

var label = regexp.MustCompile(`\{\{(\w+)\}\}`)

// panelsTellTheReport compares every panel of a dashboard with the report of a run.
func (p *prometheus) panelsTellTheReport(t *testing.T, name, job string, r *told) (verdicts []string) {
	t.Helper()
	var d dashboard
	must(t, json.Unmarshal(read(t, deployed+"/grafana/dashboards/"+name+".json"), &d))
	for _, panel := range d.Panels {
		if panel.Type == "row" {
			continue
		}
		of, known := panels[name+"/"+panel.Title]
		if !known {
			t.Errorf("nothing says what %s of %s shows", panel.Title, name)
		}
		if of == nil {
			continue
		}
		want := of(t, r)
		if want == nil {
			continue
		}
		found := figures{}
		for _, q := range panel.Targets {
			e := r.over(q.Expr, job)
			for _, s := range p.query(e) {
				series := label.ReplaceAllStringFunc(q.LegendFormat, func(name string) string {
					if name == "{{job_id}}" {
						return "JOB"
					}
					return s.Metric[strings.Trim(name, "{}")]
				})
				if x := s.number(); !math.IsNaN(x) {
					found[strings.TrimSpace(series)] += x
				}
			}
		}
		verdict := "agrees"
		for _, series := range slices.Sorted(maps.Keys(merged(found, want))) {
			x, y := found[series], want[series]
			if _, expected := want[series]; !expected && r.lost {
				continue // of the worker that is left
			}
			if math.Abs(x-y) > .01*math.Abs(y) {
				verdict = "differs"
				t.Errorf("%s: %s shows %s %g, the report %g", r.what, panel.Title, series, x, y)
			}
		}
		verdicts = append(verdicts, panel.Title+" "+verdict)
	}
	return verdicts
}

func merged(a, b figures) figures {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// scraped waits until all targets that are up have been scraped after now, and returns that time.
func (p *prometheus) scraped(t *testing.T, targets int) float64 {
	t.Helper()
	now := float64(time.Now().UnixNano()) / 1e9
	until(t, "scrapes", func() bool {
		fresh := 0
		for _, s := range p.query(`timestamp(superstep_build_info{job=~"superstep-(master|worker)"})`) {
			if s.number() > now {
				fresh++
			}
		}
		return fresh >= targets
	})
	return float64(time.Now().UnixNano()) / 1e9
}

// TestPanelsTellTheReport runs jobs of five kinds on a cluster that Prometheus scrapes. After each,
// every panel of the dashboards has the figures of the job's report, within a hundredth.
func TestPanelsTellTheReport(t *testing.T) {
	needs(t, "prometheus", "prometheus")
	c := startCluster(t, 2, "--checkpoints", t.TempDir(), "--checkpoint-every", "20")
	p := startPrometheus(t, c, freePort(t))
	until(t, "Prometheus to see a master and two workers",
		func() bool { return len(p.query(`up{job=~"superstep-(master|worker)"} == 1`)) == 3 })
	const long = "2000"
	newest := func() string {
		all := regexp.MustCompile(`"id": *"([0-9a-f]+-[0-9]+)"`).FindAllStringSubmatch(
			c.command("jobs", "--all", "--json"), -1)
		return all[len(all)-1][1]
	}
	pagerank := []string{"run", "pagerank", "--graph", "kronecker:scale=12", "-p", "tolerance=1e-300", "-p", "iterations=" + long}
	for _, kind := range []struct {
		what, program string
		args          func() []string
	}{
		{"Graph500", "graph500", func() []string { return []string{"graph500", "--scale", "11", "--roots", "8", "--sssp"} }},
		{"a plan of phases", "scc", func() []string { return []string{"run", "scc", "--graph", "kronecker:scale=11"} }},
		{"a list program", "cdlp", func() []string { return []string{"run", "cdlp", "--graph", "kronecker:scale=11"} }},
		{"one to a limit", "pagerank", func() []string { return append(slices.Clone(pagerank), "--max-supersteps", "50") }},
		{"one that resumes", "pagerank", func() []string { return []string{"resume", newest(), "--max-supersteps", "120"} }},
		{"one that lost a worker", "pagerank", func() []string { return pagerank }},
	} {
		r := &told{what: kind.what, program: kind.program, from: p.scraped(t, 3)}
		dir := t.TempDir()
		args := append(kind.args(), "--trace", filepath.Join(dir, "t.jsonl"), "--json", filepath.Join(dir, "r.json"))
		out := &lockedBuffer{}
		wait := c.begin(out, args[0], args[1:]...)
		if kind.what == "one that lost a worker" {
			r.lost = true
			until(t, "supersteps after a checkpoint", func() bool {
				s := p.query(`superstep_job_superstep and superstep_job_running == 1`)
				return len(s) == 1 && s[0].number() > 40
			})
			must(t, c.workers[1].Process.Signal(syscall.SIGKILL))
		}
		if err := wait(); err != nil {
			t.Fatalf("%s: %v: %s", kind.what, err, out)
		}
		r.text = out.String()
		targets := 3
		if r.lost {
			targets = 2
		}
		r.until = p.scraped(t, targets)
		must(t, json.Unmarshal(read(t, filepath.Join(dir, "r.json")), &r.report))
		for text := range bytes.Lines(read(t, filepath.Join(dir, "t.jsonl"))) {
			if l := (line{}); bytes.Contains(text, []byte(`"kind":"superstep"`)) ||
				bytes.Contains(text, []byte(`"kind":"search"`)) {
				must(t, json.Unmarshal(text, &l))
				r.lines = append(r.lines, l)
			}
		}
		dashboards := []string{"superstep-run", "superstep-cluster"}
		if kind.program == "graph500" {
			dashboards = append(dashboards, "superstep-graph500")
		}
		for _, name := range dashboards {
			t.Logf("%s, %s: %s", kind.what, name, strings.Join(p.panelsTellTheReport(t, name, newest(), r), ", "))
		}
	}
}
