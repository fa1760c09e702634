package deploy

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"
)

// dashboard has the checked fields of Grafana's format.
type dashboard struct {
	UID           string
	Title         string
	Description   string
	SchemaVersion int
	Panels        []panel
	Annotations   struct{ List []annotation }
	Templating    struct {
		List []struct {
			Name, Type string
			Query      any
			Datasource struct{ Type, UID string }
		}
	}
}

type annotation struct{ Name, Expr, TitleFormat, UseValueForTime string }

type panel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  struct{ X, Y, W, H int }
	Datasource               struct{ Type, UID string }
	FieldConfig              struct {
		Defaults struct {
			Unit  string
			Links []struct{ URL string }
		}
	}
	Targets []struct {
		RefID, Expr, LegendFormat string
		Datasource                struct{ Type, UID string }
	}
}

var panelTypes = []string{"row", "timeseries", "stat", "bargauge", "table"}

// TestDashboards: dashboards use only exported metrics, and describe bad values.
func TestDashboards(t *testing.T) {
	all := exported(t)
	all.addRecorded(t)
	files, err := filepath.Glob(deployed + "/grafana/dashboards/*.json")
	must(t, err)
	if len(files) != 3 {
		t.Fatalf("found %v", files)
	}
	for _, file := range files {
		var d dashboard
		must(t, json.Unmarshal(read(t, file), &d))
		where := filepath.Base(file)
		if d.UID+".json" != where || d.Title == "" || d.Description == "" || d.SchemaVersion < 39 {
			t.Errorf("%s: uid %q, title %q, schema %d", where, d.UID, d.Title, d.SchemaVersion)
		}
		variables := map[string]bool{}
		for _, v := range d.Templating.List {
			variables[v.Name] = true
			if v.Type != "query" {
				continue
			}
			query := v.Query.(map[string]any)["query"].(string)
			m := regexp.MustCompile(`^label_values\((.*), (\w+)\)$`).FindStringSubmatch(query)
			if m == nil {
				t.Errorf("%s: variable %s asks for %s", where, v.Name, query)
				continue
			}
			all.check(t, where+" variable "+v.Name, "sum by ("+m[2]+") ("+m[1]+")")
			if v.Name != "cluster" {
				checkCluster(t, where+" variable "+v.Name, m[1])
			}
		}
		if d.UID != "superstep-cluster" {
			checkFollowing(t, all, &d)
		}
		ids := map[int]bool{}
		for _, p := range d.Panels {
			checkPanel(t, all, where+" "+p.Title, &p, variables)
			if ids[p.ID] {
				t.Errorf("%s %s: its number %d is another's too", where, p.Title, p.ID)
			}
			ids[p.ID] = true
			for _, q := range d.Panels {
				if p.ID < q.ID && overlap(&p, &q) {
					t.Errorf("%s: %s lies over %s", where, p.Title, q.Title)
				}
			}
		}
	}
}

// checkFollowing checks that every panel of a dashboard of jobs follows the chosen job, that
// panels of jobs have links to the job's page, and that the graphs have marks.
func checkFollowing(t *testing.T, all series, d *dashboard) {
	t.Helper()
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			if !strings.Contains(q.Expr, `job_id=~"$job_id"`) {
				t.Errorf("%s does not follow the chosen job: %s", p.Title, q.Expr)
			}
			links := p.FieldConfig.Defaults.Links
			if strings.Contains(q.LegendFormat, "{{job_id}}") && (len(links) != 1 ||
				links[0].URL != "${page}/#/job/${__field.labels.job_id}") {
				t.Errorf("%s has the links %v", p.Title, links)
			}
			// Metrics of workers have the instance of the worker, not of the master.
			before, _, _ := strings.Cut(q.Expr, " and on (")
			for name := range all {
				if of := all[name]["job"]; of["superstep-worker"] && !of["superstep-master"] &&
					regexp.MustCompile(`\b`+name+`\{[^}]*instance`).MatchString(before) {
					t.Errorf("%s: a choice of the master hides %s of its workers", p.Title, name)
				}
			}
		}
	}
	var names []string
	for _, a := range d.Annotations.List {
		all.check(t, "mark "+a.Name, a.Expr)
		checkCluster(t, "mark "+a.Name, a.Expr)
		names = append(names, a.Name)
		if atValue := a.UseValueForTime == "on"; a.TitleFormat == "" ||
			atValue != strings.Contains(a.Expr, "_timestamp_seconds") {
			t.Errorf("mark %s: %+v", a.Name, a)
		}
	}
	if !slices.Equal(names, []string{"Begin", "End", "Loss"}) {
		t.Errorf("found the marks %v", names)
	}
}

func overlap(p, q *panel) bool {
	a, b := p.GridPos, q.GridPos
	return a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H
}

func checkPanel(t *testing.T, all series, where string, p *panel, variables map[string]bool) {
	t.Helper()
	if !slices.Contains(panelTypes, p.Type) {
		t.Errorf("%s is a %s, which old Grafanas do not have", where, p.Type)
	}
	if p.GridPos.W <= 0 || p.GridPos.H <= 0 || p.GridPos.X+p.GridPos.W > 24 {
		t.Errorf("%s lies at %v", where, p.GridPos)
	}
	if p.Type == "row" {
		return
	}
	if !strings.Contains(p.Description, "Bad: ") {
		t.Errorf("%s does not say what bad looks like", where)
	}
	if len(p.Targets) == 0 || p.FieldConfig.Defaults.Unit == "" {
		t.Errorf("%s has no query, or no unit", where)
	}
	for _, q := range p.Targets {
		for _, v := range regexp.MustCompile(`\$\{?(\w+)`).FindAllStringSubmatch(q.Expr+
			q.Datasource.UID+p.Datasource.UID, -1) {
			if !variables[v[1]] {
				t.Errorf("%s: there is no variable %s", where, v[1])
			}
		}
		all.check(t, where, q.Expr)
		checkCluster(t, where, q.Expr)
		if strings.Contains(q.Expr, "ALERTS") {
			continue
		}
		if strings.Contains(q.Expr, "increase(") && !strings.HasPrefix(q.Expr, "round(") {
			t.Errorf("%s: %s has fractions of what it counts", where, q.Expr)
		}
		// A worker that was restarted has two instances for a while.
		if strings.HasPrefix(q.LegendFormat, "{{worker}}") && strings.Contains(q.Expr, "[") &&
			!strings.Contains(q.Expr, "by (cluster, worker") {
			t.Errorf("%s: %s has two lines of a worker that was restarted", where, q.Expr)
		}
		for _, l := range regexp.MustCompile(`\{\{(\w+)\}\}`).FindAllStringSubmatch(q.LegendFormat,
			-1) {
			if !hasLabel(t, all, q.Expr, l[1]) {
				t.Errorf("%s: the result of %s has no label %s", where, q.Expr, l[1])
			}
		}
	}
}

// checkCluster checks that an expression has data only of the chosen cluster, and does not combine
// data of several clusters.
func checkCluster(t *testing.T, where, expression string) {
	t.Helper()
	e, err := promql.ParseExpr(expression)
	must(t, err)
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		switch n := n.(type) {
		case *parser.VectorSelector:
			if !slices.ContainsFunc(n.LabelMatchers, func(m *labels.Matcher) bool {
				return m.String() == `cluster=~"$cluster"`
			}) {
				t.Errorf("%s: %s is of any cluster", where, n)
			}
		case *parser.BinaryExpr:
			if m := n.VectorMatching; m != nil && m.On &&
				!slices.Contains(m.MatchingLabels, "cluster") {
				t.Errorf("%s: %s combines clusters", where, n)
			}
		case *parser.AggregateExpr:
			if slices.Contains(n.Grouping, "worker") && !slices.Contains(n.Grouping, "cluster") {
				t.Errorf("%s: %s adds workers of several clusters", where, n)
			}
		}
		return nil
	})
}

// hasLabel reports whether an expression's result can have a label, according to its aggregation or
// its metric.
func hasLabel(t *testing.T, all series, expression, label string) bool {
	t.Helper()
	if by := resultLabels(t, expression); by != nil {
		return slices.Contains(by, label)
	}
	for name, labels := range all {
		if regexp.MustCompile(`\b` + name + `\b`).MatchString(expression) {
			if _, ok := labels[label]; ok {
				return true
			}
		}
	}
	return false
}

// TestProvisioning compares Grafana's provisioning with the names in the dashboards and the compose
// file.
func TestProvisioning(t *testing.T) {
	var sources struct {
		APIVersion  int `json:"apiVersion"`
		Datasources []struct {
			Name, UID, Type, Access, URL string
			IsDefault                    bool           `json:"isDefault"`
			JSONData                     map[string]any `json:"jsonData"`
		}
	}
	must(t, yaml.UnmarshalStrict(read(t,
		deployed+"/grafana/provisioning/datasources/prometheus.yaml"), &sources))
	if len(sources.Datasources) != 1 || sources.Datasources[0].Type != "prometheus" ||
		sources.Datasources[0].URL != "http://prometheus:9090" {
		t.Errorf("found %+v", sources)
	}
	var boards struct {
		APIVersion int `json:"apiVersion"`
		Providers  []struct {
			Name, Folder, Type string
			AllowUIUpdates     bool `json:"allowUiUpdates"`
			Options            struct{ Path string }
		}
	}
	must(t, yaml.UnmarshalStrict(read(t,
		deployed+"/grafana/provisioning/dashboards/superstep.yaml"), &boards))
	compose := read(t, deployed+"/compose/compose.yaml")
	for _, p := range boards.Providers {
		if !bytes.Contains(compose, []byte("../grafana/dashboards:"+p.Options.Path+":ro")) {
			t.Errorf("the compose file has nothing at %s", p.Options.Path)
		}
	}
	if len(boards.Providers) != 1 {
		t.Errorf("found %+v", boards)
	}
}
