package web

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/history"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/resultlines"
)

// Master has the methods of a master that a Cluster calls, in the master's process.
type Master interface {
	control.ClusterHandler
	Submit(context.Context, *control.SubmitJobRequest) (about *control.Job, found bool, err error)
	Result(ctx context.Context, id string, offset uint64, each func(data []byte) error) error
	Usage() map[string][]*control.Usage // by worker, oldest first
}

// Cluster is the Source of a master, which records its jobs in the Store. It also submits and
// cancels jobs, and loads and drops graphs. These methods return the errors of the master's calls.
type Cluster struct {
	*history.Store
	master   Master
	programs engine.Registry
	about    About
}

// NewCluster returns a Cluster for a master that has programs.
func NewCluster(s *history.Store, m Master, programs engine.Registry, about About) *Cluster {
	for _, p := range programs {
		about.Programs = append(about.Programs, p.Name)
	}
	slices.Sort(about.Programs)
	return &Cluster{s, m, programs, about}
}

// About describes the cluster.
func (c *Cluster) About() About { return c.about }

func (c *Cluster) recorded() *history.Store { return c.Store }

func (c *Cluster) status() *control.StatusResponse {
	r, _ := c.master.Status(context.Background(), &control.StatusRequest{}) // never fails
	return r
}

// Graphs returns the graphs of the catalog.
func (c *Cluster) Graphs() []Graph {
	var all []Graph
	for _, g := range c.status().GetGraphs() {
		shown := Graph{
			Name: g.Name, State: g.State.Word(), Reason: g.Reason, Vertices: g.Vertices,
			Arcs: g.Arcs, Directed: g.Directed, Bytes: int64(g.Bytes),
			Partitions: int(g.Rows * g.Columns), Grid: fmt.Sprintf("%dx%d", g.Rows, g.Columns),
			Seconds: g.LoadSeconds, Origin: g.Source().Origin(),
		}
		if p := g.Progress; p != nil {
			shown.Stage, shown.Done, shown.Total = p.Stage, int64(p.Done), int64(p.Total)
		}
		all = append(all, shown)
	}
	return all
}

// Workers returns all workers, including those that were lost or have left.
func (c *Cluster) Workers() []Worker {
	var all []Worker
	for _, w := range c.status().GetWorkers() {
		all = append(all, workerOf(w))
	}
	return all
}

func workerOf(w *control.Worker) Worker {
	return Worker{
		Name: w.Name, State: w.StateText(), Reason: w.Reason, Site: w.Site,
		Address: w.DataAddress, Threads: int(w.Cores),
		Memory: int64(w.Limit()), Used: int64(w.MemoryUsed), Heard: w.HeardSeconds,
	}
}

// WorkerDetail is a worker, and the graphs and jobs of which it has partitions.
type WorkerDetail struct {
	Worker Worker   `json:"worker"`
	Graphs []Held   `json:"graphs"`
	Jobs   []string `json:"jobs"`
}

// Recent is what a worker used in the last minutes: figures of the same times, oldest first.
// openapi.json describes them.
type Recent map[string][]figure

// figure is a number that JSON shows with three digits.
type figure float64

// MarshalJSON returns the number.
func (f figure) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(f), 'g', 3, 64), nil
}

// coarse is the step of the curves in a list, in seconds, if a worker has more than maxFine reports.
const (
	coarse  = 10
	maxFine = 30
)

// thinned returns the first report of each step, and the last of all.
func thinned(usage []*control.Usage) (some []*control.Usage) {
	for i, u := range usage {
		if i == 0 || i == len(usage)-1 || len(usage) <= maxFine ||
			int(u.AtSeconds/coarse) != int(usage[i-1].AtSeconds/coarse) {
			some = append(some, u)
		}
	}
	return some
}

// recent sums up reports of usage. It returns nil if there are less than two.
func recent(usage []*control.Usage) Recent {
	if len(usage) < 2 {
		return nil
	}
	r := Recent{}
	for i, v := range usage[1:] {
		u := usage[i]
		add := func(name string, x float64) { r[name] = append(r[name], figure(x)) }
		rate := func(name string, from, until float64) {
			add(name, max(until-from, 0)/max(v.AtSeconds-u.AtSeconds, 1e-3))
		}
		add("seconds", v.AtSeconds-usage[0].AtSeconds)
		rate("processors", u.ProcessorSeconds, v.ProcessorSeconds)
		rate("collection", u.CollectionSeconds, v.CollectionSeconds)
		rate("waiting", u.WaitSeconds, v.WaitSeconds)
		rate("sent", float64(u.SentBytes), float64(v.SentBytes))
		rate("received", float64(u.ReceivedBytes), float64(v.ReceivedBytes))
		add("memory", float64(v.MemoryUsed))
		add("spilled", float64(v.Spilled))
	}
	return r
}

// workers answers with the workers. With the parameter recent they have their usage.
func (s *Site) workers(r *http.Request) (any, error) {
	all := s.source.Workers()
	if c := s.options.Control; c != nil && r.URL.Query().Has("recent") {
		usage := c.master.Usage()
		for i := range all {
			all[i].Recent = recent(thinned(usage[all[i].Name]))
		}
	}
	return list(all), nil
}

// Held has the partitions of a graph that a worker has.
type Held struct {
	Graph      string   `json:"graph"`
	Partitions []uint32 `json:"partitions"`
}

// worker answers with a WorkerDetail.
func (s *Site) worker(r *http.Request) (any, error) {
	name, master := r.PathValue("worker"), s.options.Control.master
	all, err := master.Status(r.Context(), &control.StatusRequest{})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all.Workers, func(w *control.Worker) bool { return w.Name == name })
	if i < 0 {
		return nil, refuse(http.StatusNotFound, "there is no worker %.40q", name)
	}
	d := WorkerDetail{Worker: workerOf(all.Workers[i]), Graphs: []Held{}, Jobs: []string{}}
	d.Worker.Recent = recent(master.Usage()[name])
	for _, g := range all.Graphs {
		h := Held{Graph: g.Name}
		for _, p := range g.Placements {
			if p.Worker == name {
				h.Partitions = append(h.Partitions, p.Partition)
			}
		}
		if h.Partitions != nil {
			d.Graphs = append(d.Graphs, h)
		}
	}
	for _, j := range all.Jobs {
		if slices.Contains(j.Workers, name) {
			d.Jobs = append(d.Jobs, j.Id)
		}
	}
	return d, nil
}

// Result passes the lines of a job's result to each.
func (c *Cluster) Result(ctx context.Context, id string, each func(data []byte) error) error {
	return c.master.Result(ctx, id, 0, each)
}

// form returns the format of the lines of a job's result.
func (c *Cluster) form(id string) (resultlines.Form, error) {
	// The master has the whole parameters. The Store may have shortened them.
	j, err := c.master.GetJob(context.Background(), &control.GetJobRequest{Id: id})
	spec := j.Spec()
	return resolve.ResultForm(c.programs, spec.Program, spec.Parameters, j.GetNamed()), err
}
