package web

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/load"
	"github.com/superstep-go/superstep/internal/trace"
)

// Cut is the number of partitions of a graph, or their grid.
type Cut struct {
	Partitions uint32 `json:"partitions" help:"as a grid Nx1"`
	Grid       string `json:"grid" help:"of partitions, RxC; by default one for each worker"`
}

// Loading is the body of a request to load a graph into the catalog.
type Loading struct {
	Name string `json:"name" help:"letters, digits, - _ . and :"`
	job.Source
	Cut
}

// Submission is the body of a request to run a job. The defaults are those of the command line.
type Submission struct {
	job.Spec
	Cut
	Key string `json:"key" help:"names the call: one that is made again with it finds the job it made, status 200; another job with it is refused, status 409"`
}

// Submit puts a job into the queue, unless ctx has ended, and returns its id. found is true if an
// earlier call with the same key did it.
func (c *Cluster) Submit(ctx context.Context, s *Submission) (id string, found bool, err error) {
	if err := s.complete(); err != nil {
		return "", false, err
	}
	j, found, err := c.master.Submit(ctx,
		&control.SubmitJobRequest{SpecJson: job.Text(s.Spec), Key: s.Key})
	return j.GetId(), found, err
}

// complete converts the submission to a job for the master. It checks what the command line checks
// too; the master checks the rest. An error about a key begins with the key.
func (s *Submission) complete() (err error) {
	if key := s.Unasked(); key != "" {
		return invalid("%s: the API does not take it", key)
	}
	s.Trace = true
	if err := job.Check(&s.Spec); err != nil {
		return invalid("%v", err)
	}
	switch name, catalog := strings.CutPrefix(s.Source.Origin(), control.CatalogPrefix); {
	case s.Graph500 != nil:
		if s.Program != "" || len(s.Parameters) > 0 || s.Source != nil &&
			*s.Source != (job.Source{}) || s.KeepResult || s.MaxSupersteps > 0 || s.Seed > 0 {
			return invalid("graph500: it makes its own graph; leave out all but grid, partitions, delivery, deterministic, superstep_timeout and key")
		}
		// a request may have empty keys of a source
		s.Program, s.Source = trace.Graph500, nil
		job.Complete(s.Graph500)
	case catalog:
		if *s.Source != (job.Source{Input: s.Input}) || s.Cut != (Cut{}) {
			return invalid("graph %s: a graph of the catalog is as it was loaded; leave out format, directed and all else that says how one is loaded", s.Input)
		}
		s.Graph, s.Source = name, nil
	case s.Source != nil:
		err = checkSource(s.Source)
	}
	if err == nil {
		s.Rows, s.Columns, err = s.cut()
	}
	return err
}

// checkSource rejects a source that the workers could not load.
func checkSource(s *job.Source) error {
	_, _, err := load.From(s)
	if err = cmp.Or(job.Check(s), err); err != nil {
		return invalid("%v", err)
	}
	if generate.IsGenerator(s.Input) {
		if err := resolve.Loadable(s.Input); err != nil {
			return invalid("graph: %v", err)
		}
	} else if s.Input != "" && !filepath.IsAbs(s.Input) {
		return invalid("graph: found %.150q, expected %sNAME, a generator such as kronecker:scale=18, or the whole path of a file that the workers see",
			s.Input, control.CatalogPrefix)
	}
	return nil
}

// cut returns the rows and columns of the grid of partitions. The master chooses them if they are
// 0.
func (c Cut) cut() (rows, columns uint32, err error) {
	switch {
	case c.Grid != "" && c.Partitions > 0:
		return 0, 0, invalid("partitions: the grid says how many: give one of the two")
	case c.Partitions > 0:
		return c.Partitions, 1, nil
	case c.Grid == "":
		return 0, 0, nil
	}
	g, err := graph.ParseGrid(c.Grid)
	if err != nil {
		return 0, 0, invalid("grid: %v", err)
	}
	return uint32(g.Rows), uint32(g.Columns), nil
}

func invalid(format string, args ...any) error {
	return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf(format, args...))
}
