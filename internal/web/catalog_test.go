package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"testing"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/job"
)

func TestGraphsAreLoadedAndDropped(t *testing.T) {
	m, s := led(t)
	yes := true
	want := &control.LoadGraphRequest{
		Name: "web", Rows: 2, Columns: 1,
		SourceJson: job.Text(
			&job.Source{Input: "/web.el", Directed: &yes, SelfLoops: "drop", Duplicates: "min"}),
	}
	for _, m.endless = range []bool{false, true} {
		m.loads = nil
		w := ask(s, "POST", "/api/v1/graphs",
			post(`{"name": "web", "graph": "/web.el", "directed": true, "self_loops": "drop", "duplicates": "min", "grid": "2x1"}`, nil))
		if w.Code != http.StatusAccepted || len(m.loads) != 1 ||
			!reflect.DeepEqual(m.loads[0], want) {
			t.Errorf("status %d %s, %v", w.Code, w.Body, m.loads)
		}
		var g Graph
		check(t, json.Unmarshal(w.Body.Bytes(), &g))
		if g.Name != "web" || g.Stage != "sorting" || g.Done != 1 || g.Total != 2 {
			t.Errorf("found %+v", g)
		}
	}
	if w := ask(s, "POST", "/api/v1/graphs/web/drop",
		post(`{}`, nil)); w.Code != http.StatusNoContent || len(m.dropped) != 1 ||
		m.dropped[0] != "web" {
		t.Errorf("status %d %s, dropped %v", w.Code, w.Body, m.dropped)
	}
	m.err = connect.NewError(connect.CodeFailedPrecondition, errors.New("jobs use it"))
	for path, text := range map[string]string{"/api/v1/graphs": `{"name": "web", "graph": "/web.el"}`, "/api/v1/graphs/web/drop": `{}`} {
		if w := ask(s, "POST", path, post(text, nil)); w.Code != http.StatusConflict {
			t.Errorf("%s: status %d %s", path, w.Code, w.Body)
		}
	}
}

func TestAGraphOfTheCatalogIsNotLoaded(t *testing.T) {
	m, s := led(t)
	if w := ask(s, "POST", "/api/v1/graphs", post(`{"name": "a", "graph": "catalog:web"}`,
		nil)); w.Code != http.StatusBadRequest || len(m.loads) > 0 {
		t.Errorf("status %d %s, %v", w.Code, w.Body, m.loads)
	}
}
