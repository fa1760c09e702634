//go:build unix

package clusterscripts

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	v1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/record"
	"github.com/superstep-go/superstep/test/scripts"
)

// figures are the numbers of a run from one source, by name. Each source has some of them.
type figures map[string]float64

func (f figures) add(name string, x float64) { f[name] += x }

// count adds a superstep to the numbers of its delivery. A run's last superstep without active
// vertices does not count.
func (f figures) count(delivery string, active, seconds float64) {
	if active > 0 {
		f.add("supersteps", 1)
		f.add("seconds", seconds)
		f.add(delivery, 1)
	}
}

// agree compares the numbers of several sources. Counts must be equal, times up to rounding.
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
		case "seconds", "wait", "translate", "validate":
			room = 1e-5*most + 1e-6
		case "teps", "last":
			room = 1e-9 * most
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

// begun is the trace line that begins a run. Before has the totals before the checkpoint from which
// it resumes.
type begun struct {
	Job    string
	Before struct {
		Supersteps, Messages, Bytes int
		Sent                        int `json:"messages_sent"`
		Pushed, Pulled              struct{ Supersteps int }
	}
}

// told adds up the lines of a trace.
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

// site requests pages of a process.
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

// metrics returns the sums of the metrics of several processes: of a master or a run, and of the
// processes with partitions.
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

// api returns a job's numbers in the page's API: in total, per superstep, and per partition.
func (s site) api(job string) (whole, steps, rows, totals figures) {
	s.t.Helper()
	var j struct {
		Supersteps, Messages, Bytes int
		Sent                        int `json:"messages_sent"`
		Summary                     struct{ Pushed, Pulled struct{ Supersteps int } }
	}
	s.json("jobs/"+job, &j)
	whole = figures{
		"supersteps": float64(j.Supersteps), "messages": float64(j.Messages),
		"sent": float64(j.Sent), "bytes": float64(j.Bytes),
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
			add(rows,
				part{float64(p.Computed), float64(p.Walked), float64(p.Messages), float64(p.Bytes), float64(p.Sent)})
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

// kernel returns the numbers of the searches of Graph500 by a kernel, according to the report.
func (r *ran) kernel(t *testing.T, name string) figures {
	t.Helper()
	of := func(key string) (all []float64) {
		scripts.Must(t, json.Unmarshal(r.has[name+"_"+key], &all))
		return all
	}
	sum := func(key string) (x float64) {
		for _, y := range of(key) {
			x += y
		}
		return x
	}
	times, edges, mean := of("time"), of("nedge"), 0.0
	scripts.Must(t, json.Unmarshal(r.has[name+"_harmonic_mean_TEPS"], &mean))
	n := len(times)
	var generation, construction float64
	scripts.Must(t, json.Unmarshal(r.has["graph_generation"], &generation))
	scripts.Must(t, json.Unmarshal(r.has["construction_time"], &construction))
	return figures{
		"generation": generation, "construction": construction,
		"searches": float64(n), "seconds": sum("time"), "translate": sum("translate"),
		"validate": sum("validate"), "teps": mean, "last": edges[n-1] / times[n-1],
	}
}

// kernel returns the numbers of the searches of a job by a kernel: those of the page and of metrics.
func (s site) kernel(job, name string) (shown, counted figures) {
	s.t.Helper()
	var j struct {
		Generation, Construction float64
		Kernels                  []struct {
			Name                                                string
			Searches, Valid, Seconds, Translate, Validate, TEPS float64
			Last                                                float64 `json:"last_teps"`
		}
	}
	s.json("jobs/"+job, &j)
	for _, k := range j.Kernels {
		if k.Name == name {
			shown = figures{
				"generation": j.Generation, "construction": j.Construction,
				"searches": k.Searches, "valid": k.Valid, "seconds": k.Seconds,
				"translate": k.Translate, "validate": k.Validate, "teps": k.TEPS, "last": k.Last,
			}
		}
	}
	counted = figures{}
	for _, m := range sample.FindAllSubmatch(s.get("/metrics"), -1) {
		x, err := strconv.ParseFloat(string(m[3]), 64)
		scripts.Must(s.t, err)
		switch of := `kernel="` + name + `"`; string(m[1]) + "{" + string(m[2]) + "}" {
		case `graph500_teps{job_id="` + job + `",` + of + `,program="graph500"}`:
			counted["teps"] = x
		case `graph500_search_teps{job_id="` + job + `",` + of + `,program="graph500"}`:
			counted["last"] = x
		case `graph500_part_seconds{job_id="` + job + `",part="generation",program="graph500"}`:
			counted["generation"] = x
		case `graph500_part_seconds{job_id="` + job + `",part="construction",program="graph500"}`:
			counted["construction"] = x
		case `graph500_searches_total{` + of + `,valid="true"}`:
			counted["searches"], counted["valid"] = x, x
		}
	}
	return shown, counted
}

// collector receives spans.
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

// of returns the numbers in a job's spans, over all its attempts. Supersteps must be consecutive.
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
	slices.SortFunc(spans,
		func(a, b *v1.Span) int { return int(int64(a.EndTimeUnixNano) - int64(b.EndTimeUnixNano)) })
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
		if s.StartTimeUnixNano+200_000 < ended { // the machine's clock may be adjusted meanwhile
			t.Errorf("%s: %s begins %d ns before the one before has ended", job, s.Name,
				ended-s.StartTimeUnixNano)
		}
		ended = s.EndTimeUnixNano
	}
	delete(f, "none")
	return f
}
