package testcluster

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/master"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/worker"
)

// toyEngine leads jobs of the program "toy": as many supersteps as the parameter says.
type toyEngine struct{}

func (toyEngine) Check(spec *control.JobSpec) error {
	if _, err := strconv.Atoi(spec.GetParameters()["supersteps"]); err != nil {
		return fmt.Errorf("toy: supersteps=%s: expected a whole number", spec.GetParameters()["supersteps"])
	}
	return nil
}

func (toyEngine) Labels(*control.JobSpec) ([]uint64, error) { return nil, nil }

func (toyEngine) Source(spec *control.JobSpec) (*control.GraphSource, error) { return spec.Source, nil }

func (toyEngine) Benchmark(context.Context, *master.Benchmark) error { return errors.ErrUnsupported }

func (toyEngine) Lead(job master.Task, prepared []*control.PrepareReport) (*bsp.Driver, error) {
	n, _ := strconv.Atoi(job.Spec.Parameters["supersteps"])
	parts := len(job.Placements)
	return bsp.New(&bsp.Program{Name: "toy", Coordinate: toyHalt(n)}, bsp.Options{Trace: job.Trace, Progress: job.Progress}, []*bsp.Facts{{
		Partitions: parts, Vertices: 100, Edges: 400,
		Load: delivery.Load{Vertices: 100, Partitions: parts, Grid: graph.Of(parts), Threads: 1},
	}})
}

// toyHalt halts before a superstep.
type toyHalt int

func (h toyHalt) Coordinate(c *pregel.Coordinator) {
	if c.Superstep == int(h) {
		c.Halt()
	}
}

// toyWorkers execute for toyEngine: every partition sends each other one value a superstep. The parameter "at" of the
// job says in which superstep something happens, "what" what.
type toyWorkers struct {
	mu     sync.Mutex
	jobs   map[string]*control.Prepare // by worker and job
	graphs map[string]*control.Load
}

func newToyWorkers() *toyWorkers {
	return &toyWorkers{jobs: map[string]*control.Prepare{}, graphs: map[string]*control.Load{}}
}

// holds returns how many jobs and graphs are held by all workers.
func (*toyWorkers) Probe(context.Context, worker.Task, *control.Probe) (*control.ProbeReport, error) {
	return &control.ProbeReport{}, nil
}

func (x *toyWorkers) holds() (jobs, graphs int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.jobs), len(x.graphs)
}

func held(t worker.Task, name string) string { return fmt.Sprint(t.Self, " ", name) }

func (x *toyWorkers) Meet(context.Context, worker.Task, *control.Meet) error { return nil }

func (x *toyWorkers) Load(ctx context.Context, t worker.Task, l *control.Load) (*control.LoadReport, error) {
	switch l.Source.Input {
	case "missing":
		return nil, errors.New("open missing: no such file")
	case "slow":
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.graphs[held(t, l.Graph)] = l
	return &control.LoadReport{Vertices: 100, Edges: 400, Bytes: 1 << 20, Seconds: .1}, nil
}

func (x *toyWorkers) Prepare(_ context.Context, t worker.Task, p *control.Prepare) (*control.PrepareReport, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.graphs[held(t, p.Graph)] == nil {
		return nil, fmt.Errorf("there is no graph %s here", p.Graph)
	}
	x.jobs[held(t, t.Job)] = p
	return &control.PrepareReport{}, nil
}

func (x *toyWorkers) Superstep(ctx context.Context, t worker.Task, s *control.Superstep) (*control.SuperstepReport, error) {
	x.mu.Lock()
	p := x.jobs[held(t, t.Job)]
	x.mu.Unlock()
	if p == nil {
		return nil, errors.New("the job was not prepared")
	}
	what := ""
	if p.Parameters["at"] == fmt.Sprint(s.Superstep) {
		what = p.Parameters["what"]
	}
	switch what {
	case "fail":
		return nil, errors.New("no memory")
	case "program":
		return nil, &worker.ProgramError{Text: "vertex 7, superstep 1: index out of range", Stack: "main.go:1"}
	case "panic":
		panic("a slip")
	case "block":
		t.Log("blocked")
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	r := &control.SuperstepReport{Superstep: s.Superstep}
	for _, own := range p.Placements {
		if own.Incarnation != t.Self {
			continue
		}
		report := &control.PartitionReport{Partition: own.Partition, Computed: 1, Active: 1}
		for _, other := range p.Placements {
			if other.Partition != own.Partition {
				report.Sent++
				report.Peers = append(report.Peers, &control.Peer{Partition: other.Partition, Sent: 1, Received: 1})
			}
		}
		if what == "lie" && own.Partition == 1 {
			report.Peers[0].Received = 0
		}
		r.Partitions = append(r.Partitions, report)
	}
	return r, nil
}

func (x *toyWorkers) Registered(uint64) error { return nil }

func (x *toyWorkers) Keep(_, _ []string) func() { return func() {} }

func (x *toyWorkers) Offers() (all []*control.Offer) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, l := range x.graphs {
		if l.Number != 0 {
			all = append(all, &control.Offer{Load: l, Report: &control.LoadReport{Vertices: 100, Edges: 400}})
		}
	}
	return all
}

func (x *toyWorkers) Locate(_ context.Context, _ worker.Task, l *control.Locate) (*control.Located, error) {
	return &control.Located{}, nil
}

func (x *toyWorkers) Benchmark(context.Context, worker.Task, *control.BenchmarkStep) (*control.BenchmarkReport, error) {
	return nil, errors.New("a toy has no benchmark")
}

func (x *toyWorkers) Measure(context.Context, worker.Task, *control.Measure, func([]byte) error) error {
	return errors.New("a toy measures nothing")
}

func (x *toyWorkers) Values(_ context.Context, t worker.Task, _ *control.Values, emit func([]byte) error) error {
	x.mu.Lock()
	p := x.jobs[held(t, t.Job)]
	x.mu.Unlock()
	for _, own := range p.Placements {
		if own.Incarnation == t.Self {
			if err := emit(fmt.Appendf(nil, "%d %s\n", own.Partition, own.Worker)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (x *toyWorkers) Cancel(worker.Task, string) {}

func (x *toyWorkers) Drop(_ context.Context, t worker.Task, graph string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if graph != "" {
		delete(x.graphs, held(t, graph))
	} else {
		delete(x.jobs, held(t, t.Job))
	}
	return nil
}

func (x *toyWorkers) Reset() {}
