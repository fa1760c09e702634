package web

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/history"
)

// Master is what a Cluster asks of a master: a master.Server, in its process.
type Master interface {
	Status(context.Context, *connect.Request[control.StatusRequest]) (*connect.Response[control.StatusResponse], error)
	Submit(context.Context, *control.SubmitJobRequest) (about *control.Job, found bool, err error)
	CancelJob(context.Context, *connect.Request[control.CancelJobRequest]) (*connect.Response[control.Job], error)
	LoadGraph(context.Context, *connect.Request[control.LoadGraphRequest]) (*connect.Response[control.Graph], error)
	DropGraph(context.Context, *connect.Request[control.DropGraphRequest]) (*connect.Response[control.Graph], error)
	Result(ctx context.Context, id string, offset uint64, each func(data []byte) error) error
}

// Cluster is the Source of a master: a Store, named, that is told of its jobs, and what the master says of the rest. It also runs
// jobs there and ends them, and loads and drops graphs; the errors are those of calls to the master.
type Cluster struct {
	*history.Store
	master Master
	about  About
}

// NewCluster shows a master's cluster.
func NewCluster(s *history.Store, m Master, about About) *Cluster { return &Cluster{s, m, about} }

// About says what is shown.
func (c *Cluster) About() About { return c.about }

func (c *Cluster) recorded() *history.Store { return c.Store }

func (c *Cluster) status() *control.StatusResponse {
	r, err := c.master.Status(context.Background(), connect.NewRequest(&control.StatusRequest{}))
	if err != nil {
		return nil
	}
	return r.Msg
}

// Graphs lists the catalog.
func (c *Cluster) Graphs() []Graph {
	var all []Graph
	for _, g := range c.status().GetGraphs() {
		shown := Graph{
			Name: g.Name, State: g.State.Word(), Reason: g.Reason, Vertices: g.Vertices, Arcs: g.Arcs, Directed: g.Directed, Bytes: int64(g.Bytes),
			Partitions: int(g.Rows * g.Columns), Grid: fmt.Sprintf("%dx%d", g.Rows, g.Columns), Seconds: g.LoadSeconds, Origin: g.Source.GetInput(),
		}
		if p := g.Progress; p != nil {
			shown.Stage, shown.Done, shown.Total = p.Stage, int64(p.Done), int64(p.Total)
		}
		all = append(all, shown)
	}
	return all
}

// Workers lists the workers, those that are gone too.
func (c *Cluster) Workers() []Worker {
	var all []Worker
	for _, w := range c.status().GetWorkers() {
		all = append(all, Worker{
			Name: w.Name, State: w.StateText(), Reason: w.Reason, Site: w.Site, Address: w.DataAddress, Threads: int(w.Cores),
			Memory: int64(w.Memory), Used: int64(w.MemoryUsed), Heard: w.HeardSeconds,
		})
	}
	return all
}

// Submit puts a job into the queue, unless ctx has ended, and returns its id; found, if an earlier call with the same key has done it.
func (c *Cluster) Submit(ctx context.Context, s *Submission) (id string, found bool, err error) {
	spec, err := s.spec()
	if err != nil {
		return "", false, err
	}
	j, found, err := c.master.Submit(ctx, &control.SubmitJobRequest{Spec: spec, Key: s.Key})
	return j.GetId(), found, err
}

// spec is the job for the master. What makes no sense the master says, but for what only the command line knows.
func (s *Submission) spec() (*control.JobSpec, error) {
	spec := &control.JobSpec{
		Program: s.Program, Parameters: s.Parameters, KeepResult: s.KeepResult,
		Options: &control.RunOptions{
			Delivery: s.Delivery, Deterministic: s.Deterministic, MaxSupersteps: s.MaxSupersteps, Seed: s.Seed, Trace: true,
		},
	}
	var ok bool
	if spec.Priority, ok = control.PriorityOf(s.Priority); !ok {
		return nil, invalid("priority: found %.50q, expected low, normal or high", s.Priority)
	}
	if s.SuperstepTimeout != "" {
		limit, err := time.ParseDuration(s.SuperstepTimeout)
		if err != nil || limit < 0 {
			return nil, invalid("superstep_timeout: found %.50q, expected a time, such as 30s", s.SuperstepTimeout)
		}
		spec.Options.SuperstepTimeout = int64(limit)
	}
	if b := s.Graph500; b != nil {
		if s.Program+s.Graph+s.Format+s.Duplicates+s.SelfLoops != "" || len(s.Parameters) > 0 || s.Directed != nil || s.UnitWeights || s.KeepResult || s.MaxSupersteps > 0 || s.Seed > 0 {
			return nil, invalid("graph500: it makes its own graph; leave out all but grid, delivery, deterministic, superstep_timeout and key")
		}
		spec.Program, spec.Graph500 = control.Graph500Program, &control.Graph500{
			Scale: b.Scale, EdgeFactor: cmp.Or(b.EdgeFactor, 16), Roots: cmp.Or(b.Roots, 64), Seed1: cmp.Or(b.Seed1, 2), Seed2: cmp.Or(b.Seed2, 3),
			Sssp: b.SSSP, Validate: !b.NoValidate,
		}
		return spec, s.cut(spec)
	}
	if name, ok := strings.CutPrefix(s.Graph, control.CatalogPrefix); ok {
		spec.Graph = name
		if s.Format+s.Duplicates+s.SelfLoops+s.Grid != "" || s.Directed != nil || s.UnitWeights {
			return nil, invalid("graph %s: a graph of the catalog is as it was loaded; leave out format, directed, duplicates, self_loops, unit_weights and grid", s.Graph)
		}
		return spec, nil
	}
	if s.SelfLoops != "" && s.SelfLoops != "keep" && s.SelfLoops != "drop" {
		return nil, invalid("self_loops: found %.50q, expected keep or drop", s.SelfLoops)
	}
	if s.Graph != "" && !generate.IsGenerator(s.Graph) && !filepath.IsAbs(s.Graph) {
		return nil, invalid("graph: found %.150q, expected %sNAME, a generator such as kronecker:scale=18, or the whole path of a file that the workers see",
			s.Graph, control.CatalogPrefix)
	}
	spec.Source = &control.GraphSource{
		Input: s.Graph, Format: s.Format, Directed: s.Directed, Duplicates: s.Duplicates, DropLoops: s.SelfLoops == "drop", UnitWeights: s.UnitWeights,
	}
	return spec, s.cut(spec)
}

// cut says into which grid of partitions the job's graph is cut.
func (s *Submission) cut(spec *control.JobSpec) error {
	if s.Grid == "" {
		return nil
	}
	g, err := graph.ParseGrid(s.Grid)
	if err != nil {
		return invalid("grid: %v", err)
	}
	spec.Rows, spec.Columns = uint32(g.Rows), uint32(g.Columns)
	return nil
}

func invalid(format string, args ...any) error {
	return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf(format, args...))
}

// Cancel tells a job to end. One that has ended stays as it is.
func (c *Cluster) Cancel(ctx context.Context, id, reason string) error {
	if reason == "" {
		reason = "cancelled on the page"
	}
	_, err := c.master.CancelJob(ctx, connect.NewRequest(&control.CancelJobRequest{Id: id, Reason: reason}))
	return err
}

// Result passes on what a job computed.
func (c *Cluster) Result(ctx context.Context, id string, each func(data []byte) error) error {
	return c.master.Result(ctx, id, 0, each)
}
