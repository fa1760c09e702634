package deploy

import (
	"bufio"
	"io"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"
)

// series maps metric names to labels, and labels to their values.
type series map[string]map[string]map[string]bool

var sampleLine = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? \S+$`)

// add adds a page of metrics, with the labels that Prometheus adds. Where there is promtool, the page
// must follow Prometheus' conventions.
func (s series) add(t testing.TB, text string, target map[string]string) {
	t.Helper()
	if promtool, err := exec.LookPath("promtool"); err == nil {
		c := exec.Command(promtool, "check", "metrics")
		c.Stdin = strings.NewReader(text)
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("promtool check metrics: %v: %s", err, out)
		}
	}
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		m := sampleLine.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("found %q", line)
		}
		name := m[1]
		if s[name] == nil {
			s[name] = map[string]map[string]bool{}
		}
		for _, l := range regexp.MustCompile(
			`([a-z_]+)="((?:[^"\\]|\\.)*)"`).FindAllStringSubmatch(m[2], -1) {
			s.label(name, l[1], l[2])
			if _, clash := target[l[1]]; clash {
				t.Errorf("%s has a label %s of its own, which Prometheus would rename", name, l[1])
			}
		}
		for label, value := range target {
			s.label(name, label, value)
		}
	}
}

func (s series) label(name, label, value string) {
	if s[name][label] == nil {
		s[name][label] = map[string]bool{}
	}
	s[name][label][value] = true
}

// exported returns the metrics of a master, a worker and a local run after some work, with the
// labels that Prometheus adds.
func exported(t *testing.T) series {
	t.Helper()
	c := startCluster(t, 1)
	c.run("bfs", "--graph", "kronecker:scale=8", "-p", "source=1")
	c.command("graph500", "--scale", "8", "--roots", "2")
	if c.begin(io.Discard, "run", "bfs", "--graph", "path:vertices=9", "-p", "source=10")() == nil {
		t.Error("a search from a vertex that does not exist is done")
	}
	all := series{}
	_, text := page(t, "http://"+c.master+"/metrics")
	all.add(t, text, map[string]string{"job": "superstep-master", "instance": "m", "cluster": "c"})
	_, targets := page(t, "http://"+c.master+"/metrics/targets")
	at := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(targets)
	status, text := page(t, "http://"+at+"/metrics")
	if status != 200 {
		t.Fatal(status, text)
	}
	all.add(t, text,
		map[string]string{"job": "superstep-worker", "instance": "w", "worker": "w0", "site": "here", "cluster": "c"})
	_, text = page(t, "http://"+startRun(t)+"/metrics")
	all.add(t, text, map[string]string{"job": "superstep-run", "instance": "r", "cluster": "c"})
	all["up"] = map[string]map[string]bool{
		"job":      {"superstep-master": true, "superstep-worker": true, "superstep-run": true},
		"instance": {"m": true}, "cluster": {"c": true}, "worker": {"w0": true}, "site": {"here": true},
	}
	return all
}

// rule is a rule of Prometheus.
type rule struct {
	Record, Alert, Expr, For string
	Labels, Annotations      map[string]string
}

type ruleFile struct {
	Groups []struct {
		Name, Interval string
		Rules          []rule
	}
}

func rules(t testing.TB, name string) ruleFile {
	t.Helper()
	var f ruleFile
	must(t, yaml.UnmarshalStrict(read(t, deployed+"/prometheus/rules/"+name), &f))
	return f
}

// addRecorded adds the results of recording rules.
func (s series) addRecorded(t *testing.T) {
	t.Helper()
	for _, g := range rules(t, "recording.yml").Groups {
		for _, r := range g.Rules {
			s.check(t, r.Record, r.Expr)
			s[r.Record] = map[string]map[string]bool{}
			for _, l := range resultLabels(t, r.Expr) {
				s[r.Record][l] = nil // any value
			}
		}
	}
}

var promql = parser.NewParser(parser.Options{})

// check fails for metrics, labels and values in an expression that no process exports.
func (s series) check(t *testing.T, where, expression string) {
	t.Helper()
	e, err := promql.ParseExpr(expression)
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return
	}
	var known map[string]map[string]bool // of the last selector
	parser.Inspect(e, func(n parser.Node, path []parser.Node) error {
		switch n := n.(type) {
		case *parser.VectorSelector:
			name := n.Name
			if name == "ALERTS" {
				return nil
			}
			known = s[name]
			if known == nil {
				t.Errorf("%s: no process exports %s", where, name)
				return nil
			}
			for _, m := range n.LabelMatchers {
				s.matcher(t, where, name, m)
			}
			for _, p := range path {
				if a, ok := p.(*parser.AggregateExpr); ok && !a.Without {
					for _, l := range a.Grouping {
						if _, ok := known[l]; !ok {
							t.Errorf("%s: %s has no label %s", where, name, l)
						}
					}
				}
			}
		}
		return nil
	})
}

func (s series) matcher(t *testing.T, where, name string, m *labels.Matcher) {
	t.Helper()
	if m.Name == labels.MetricName {
		return
	}
	values, ok := s[name][m.Name]
	if !ok {
		t.Errorf("%s: %s has no label %s, but %v", where, name, m.Name,
			slices.Sorted(maps.Keys(s[name])))
		return
	}
	if values == nil || strings.HasPrefix(m.Value, "$") {
		return // any value, or a variable of the dashboard
	}
	some := false
	for v := range values {
		some = some || m.Matches(v)
	}
	if !some {
		t.Errorf("%s: no %s has %v", where, name, m)
	}
}

// resultLabels returns the labels of an expression's result, according to its outermost
// aggregation. The right side of "and" gives it none.
func resultLabels(t *testing.T, expression string) []string {
	t.Helper()
	e, err := promql.ParseExpr(expression)
	must(t, err)
	if b, ok := e.(*parser.BinaryExpr); ok && b.Op == parser.LAND {
		e = b.LHS
	}
	var found []string
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		if a, ok := n.(*parser.AggregateExpr); ok && found == nil {
			found = append([]string{}, a.Grouping...)
		}
		return nil
	})
	return found
}

// TestRulesAskForWhatThereIs compares rules with the exported metrics, and alerts with their pages
// in the manual.
func TestRulesAskForWhatThereIs(t *testing.T) {
	all := exported(t)
	all.addRecorded(t)
	manual := string(read(t, root+"/docs/operating.md"))
	tests := string(read(t, deployed+"/prometheus/rules_test.yml"))
	seen := map[string]bool{}
	for _, g := range rules(t, "alerts.yml").Groups {
		for _, r := range g.Rules {
			all.check(t, r.Alert, r.Expr)
			seen[r.Alert] = true
			if r.Annotations["summary"] == "" || r.Labels["severity"] == "" {
				t.Errorf("%s has no summary, or no severity", r.Alert)
			}
			if want := "docs/operating.md#" +
				strings.ToLower(r.Alert); r.Annotations["runbook"] != want {
				t.Errorf("%s: its page is %s, expected %s", r.Alert, r.Annotations["runbook"], want)
			}
			if !strings.Contains(manual, "\n### "+r.Alert+"\n") {
				t.Errorf("docs/operating.md has nothing about %s", r.Alert)
			}
			if !regexp.MustCompile(`alertname: ` + r.Alert + `\n +exp_alerts:`).MatchString(tests) {
				t.Errorf("rules_test.yml does not let %s fire", r.Alert)
			}
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^### (Superstep\w+)$`).FindAllStringSubmatch(manual,
		-1) {
		if !seen[m[1]] {
			t.Errorf("docs/operating.md explains %s, which is no alert", m[1])
		}
	}
}
