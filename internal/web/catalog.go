package web

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/job"
)

// loadPatience is how long a request waits for a graph to be loaded, to return an early error. The
// load goes on afterwards.
const loadPatience = time.Second

// LoadGraph loads a graph into the catalog. It may return before the graph is loaded.
func (c *Cluster) LoadGraph(ctx context.Context, l *Loading) error {
	if strings.HasPrefix(l.Input, control.CatalogPrefix) {
		return invalid("graph: found %.150q, expected a generator or the whole path of a file that the workers see", l.Input)
	}
	err := checkSource(&l.Source)
	if err != nil {
		return err
	}
	request := &control.LoadGraphRequest{Name: l.Name, SourceJson: job.Text(&l.Source)}
	if request.Rows, request.Columns, err = l.cut(); err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, loadPatience)
	defer cancel()
	_, err = c.master.LoadGraph(waiting, request)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil
	}
	return err
}

func (s *Site) loadGraph(w http.ResponseWriter, r *http.Request) {
	var asked Loading
	err := body(w, r, maxBody, &asked,
		`a graph, such as {"name": "k14", "graph": "kronecker:scale=14"}`)
	if err == nil {
		err = s.options.Control.LoadGraph(r.Context(), &asked)
	}
	if failed(w, err) {
		return
	}
	all := s.source.Graphs()
	i := slices.IndexFunc(all, func(g Graph) bool { return g.Name == asked.Name })
	if i < 0 {
		fail(w, &refusal{http.StatusConflict, "the graph was dropped again"})
		return
	}
	reply(w, http.StatusAccepted, all[i])
}

func (s *Site) dropGraph(w http.ResponseWriter, r *http.Request) {
	var asked struct{}
	err := body(w, r, maxBody, &asked, `{}`)
	if err == nil {
		request := &control.DropGraphRequest{Name: r.PathValue("graph")}
		_, err = s.options.Control.master.DropGraph(r.Context(), request)
	}
	if failed(w, err) {
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
