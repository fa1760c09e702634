package deploy

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestRules runs promtool on the configuration and the rules, and runs the rules' own tests.
func TestRules(t *testing.T) {
	promtool := needs(t, "promtool", "prometheus")
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS(deployed+"/prometheus")))
	must(t, os.WriteFile(dir+"/metrics-token", []byte(metricsToken), 0o600))
	for _, args := range []string{"check config prometheus.yml", "check rules rules/alerts.yml rules/recording.yml", "test rules rules_test.yml"} {
		c := exec.Command(promtool, strings.Fields(args)...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", args, err, out)
		}
	}
}

// prometheus is a server with the deployed configuration. It scrapes a cluster and a local run.
type prometheus struct {
	t  *testing.T
	at string
}

func startPrometheus(t *testing.T, c *cluster, run string) *prometheus {
	t.Helper()
	path := needs(t, "prometheus", "prometheus")
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS(deployed+"/prometheus")))
	must(t, os.WriteFile(dir+"/metrics-token", []byte(metricsToken), 0o600))
	config := string(read(t, dir+"/prometheus.yml"))
	for old, now := range map[string]string{
		"master:7700":              c.master,
		"scrape_interval: 5s":      "scrape_interval: 500ms\n  scrape_timeout: 500ms",
		"evaluation_interval: 15s": "evaluation_interval: 1s",
		"refresh_interval: 5s":     "refresh_interval: 1s",
	} {
		if !strings.Contains(config, old) {
			t.Fatalf("the configuration has no %q", old)
		}
		config = strings.ReplaceAll(config, old, now)
	}
	config += fmt.Sprintf("  - job_name: superstep-run\n    authorization: {credentials_file: metrics-token}\n    static_configs: [{targets: [%q]}]\n", run)
	must(t, os.WriteFile(dir+"/prometheus.yml", []byte(config), 0o600))
	p := &prometheus{t, freePort(t)}
	launch(t, nil, path, "--config.file="+dir+"/prometheus.yml", "--storage.tsdb.path="+
		filepath.Join(dir, "data"),
		"--web.listen-address="+p.at, "--log.level=warn")
	return p
}

// get calls the API. It returns false while the data do not exist yet.
func (p *prometheus) get(path string, into any) bool {
	p.t.Helper()
	status, text := page(p.t, "http://"+p.at+"/api/v1/"+path)
	if status != 200 {
		return false
	}
	answer := struct{ Data any }{into}
	must(p.t, json.Unmarshal([]byte(text), &answer))
	return true
}

// sample is a value in the result of a query.
type sample struct {
	Metric map[string]string
	Value  [2]any
}

func (s sample) number() float64 {
	n, _ := strconv.ParseFloat(fmt.Sprint(s.Value[1]), 64)
	return n
}

func (p *prometheus) query(expression string) []sample {
	p.t.Helper()
	var data struct{ Result []sample }
	p.get("query?query="+url.QueryEscape(expression), &data)
	return data.Result
}

// evaluates checks that every panel and mark of a dashboard has data of the job of a program, and
// none of a job that does not exist, or of another cluster. A loss is no part of it.
func (p *prometheus) evaluates(t *testing.T, name, program string) {
	t.Helper()
	var d dashboard
	must(t, json.Unmarshal(read(t, deployed+"/grafana/dashboards/"+name+".json"), &d))
	all := map[string]string{}
	for _, panel := range d.Panels {
		for _, q := range panel.Targets {
			all[panel.Title+" "+q.LegendFormat] = q.Expr
		}
	}
	for _, a := range d.Annotations.List[:2] {
		all["mark "+a.Name] = a.Expr
	}
	id := p.query(`superstep_job_superstep{job="superstep-master",program="` + program + `"}`)[0].Metric["job_id"]
	for name, expression := range all {
		of := func(job, cluster string) []sample {
			e := strings.NewReplacer("$instance", ".*", "$job_id", job, "$cluster",
				cluster).Replace(expression)
			return p.query("count_over_time((" + e + ")[10m:1s])")
		}
		until(t, name+" of "+id, func() bool { return len(of(id, ".*")) > 0 })
		if found := append(of("none", ".*"), of(id, "other")...); len(found) > 0 {
			t.Errorf("%s of no job: %v", name, found)
		}
	}
}

// TestPrometheus: a real server scrapes a master, two workers and a local run while they work. The
// test queries it.
func TestPrometheus(t *testing.T) {
	needs(t, "prometheus", "prometheus")
	c := startCluster(t, 2)
	p := startPrometheus(t, c, startRun(t))
	until(t, "Prometheus to see a master, two workers and a run", func() bool {
		up := map[string]int{}
		for _, s := range p.query("up == 1") {
			up[s.Metric["job"]]++
		}
		return up["superstep-master"] == 1 && up["superstep-worker"] == 2 &&
			up["superstep-run"] == 1
	})
	for _, s := range p.query(`up{job="superstep-worker"}`) {
		if w := s.Metric["worker"]; w != "w0" && w != "w1" {
			t.Errorf("a worker is called %q", w)
		}
	}
	// Long enough to be scraped while it runs.
	c.run("pagerank", "--graph", "kronecker:scale=14", "-p", "iterations=6000", "-p",
		"tolerance=1e-300")
	c.command("graph500", "--scale", "12", "--roots", "64")
	for _, k := range []struct {
		what string
		want func(float64) bool
	}{
		{`superstep_jobs_total{job="superstep-master",program="pagerank",state="done",ended="iterations"}`, func(x float64) bool { return x == 1 }},
		{`sum(superstep_supersteps_total{job="superstep-master"})`, func(x float64) bool { return x >= 1500 }},
		{`count(superstep_edges_walked_total{job="superstep-worker"} > 0)`, func(x float64) bool { return x == 2 }},
		{`sum(superstep_mesh_bytes_total{direction="out"}) > 0`, func(x float64) bool { return x > 0 }},
		{`max_over_time(superstep_job_running{job="superstep-master",program="pagerank"}[5m])`, func(x float64) bool { return x == 1 }},
		{`superstep_job_superstep{job="superstep-master",program="pagerank"}`, func(x float64) bool { return x >= 1499 }},
		{`sum(superstep_superstep_duration_seconds_count{job="superstep-run"})`, func(x float64) bool { return x >= 20 }},
		{`sum(superstep_graph500_searches_total{job="superstep-master",kernel="bfs",valid="true"})`, func(x float64) bool { return x == 64 }},
		{`count(superstep_graph500_part_seconds{job="superstep-master"} > 0)`, func(x float64) bool { return x == 5 }},
		{`superstep:phase_share:rate5m{phase="traverse"}`, func(x float64) bool { return x > 0 && x < 1 }},
		{`sum(superstep:phase_share:rate5m)`, func(x float64) bool { return x > .999 && x < 1.001 }},
		{`histogram_quantile(0.5, sum by (le) (rate(superstep_superstep_duration_seconds_bucket{job="superstep-master"}[1m])))`, func(x float64) bool { return x > 0 && x < 10 }},
	} {
		until(t, k.what, func() bool {
			s := p.query(k.what)
			return len(s) == 1 && k.want(s[0].number())
		})
	}
	p.evaluates(t, "superstep-run", "pagerank")
	p.evaluates(t, "superstep-graph500", "graph500")
	var rules struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	until(t, "every rule to be evaluated", func() bool {
		if !p.get("rules", &rules) || len(rules.Groups) != 2 {
			return false
		}
		for _, g := range rules.Groups {
			for _, r := range g.Rules {
				if r.Health == "err" {
					t.Fatalf("%s: %s", r.Name, r.LastError)
				}
				if r.Health != "ok" {
					return false
				}
			}
		}
		return true
	})
	for _, s := range p.query(`ALERTS{alertstate="firing"}`) {
		if severity := s.Metric["severity"]; severity != "info" {
			t.Errorf("a cluster in good health fires %s", s.Metric["alertname"])
		}
	}
}
