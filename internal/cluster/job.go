package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/jobspec"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/internal/transport"
	"github.com/superstep-go/superstep/internal/transport/mesh"
	"github.com/superstep-go/superstep/worker"
)

// job is a worker's part in an attempt at a job, and counts the commands that use it.
type job struct {
	*mem.Refs
	epoch   uint32
	self    string
	graph   *loaded // held until the job is freed
	team    *parallel.Team
	session *mesh.Session
	share   engine.Bound
	totals  []kernel.Cell
	end     context.CancelFunc // of the run
	past    int                // supersteps of this run and those before it
}

func (x *Executor) newJob(ctx context.Context, t worker.Task, p *control.Prepare, g *loaded) (*job, error) {
	known, err := x.options.Programs.Find(p.Program)
	if err != nil {
		return nil, err
	}
	program, err := known.New(p.Parameters, jobspec.Finder(p.Vertices))
	if err != nil {
		return nil, err
	}
	return x.begin(ctx, t, t.Job, program, p.Options, p.Placements, g)
}

// begin makes a job of a program and readies it for superstep 0; name is what workers know it by when they meet.
func (x *Executor) begin(ctx context.Context, t worker.Task, name string, program engine.Program, run *control.RunOptions, placements []*control.Placement, g *loaded) (_ *job, err error) {
	o, err := jobspec.Options(run)
	if err != nil {
		return nil, err
	}
	codec, err := program.Codec()
	if err != nil {
		return nil, err
	}
	if !g.Acquire() {
		return nil, errors.New("the graph was dropped")
	}
	j := &job{epoch: t.Epoch, self: x.options.Name, graph: g, team: x.team()}
	j.Refs = mem.NewRefs(j.free)
	defer func() {
		if err != nil {
			j.Close()
		}
	}()
	o.Team, o.Job, o.Log = j.team, t.Job, t.Log
	o.Alpha, o.Beta = collective.Unmeasured.Alpha, collective.Unmeasured.Gap
	if run.GetTrace() {
		o.Trace = told{}
	}
	if j.share, err = program.Bind(g.Graph, o); err != nil {
		return nil, asProgram(err)
	}
	j.totals = j.share.Aggregates().Cells()
	if j.session, err = x.meet(ctx, name, t.Epoch, placements, codec); err != nil {
		return nil, err
	}
	return j, asProgram(j.again())
}

// meet opens a session with the other workers of a job.
func (x *Executor) meet(ctx context.Context, name string, epoch uint32, placements []*control.Placement, codec transport.Codec) (*mesh.Session, error) {
	x.mu.Lock()
	m := x.mesh
	x.mu.Unlock()
	if m == nil {
		return nil, errors.New("the worker is not registered")
	}
	s, err := m.Open(ctx, number(name), epoch, layoutOf(placements), codec)
	return s, lost(x.options.Name, err)
}

// again readies the job for superstep 0, after a run of it or before the first.
func (j *job) again() error {
	running, end := context.WithCancel(context.Background())
	before := j.end
	j.end = end
	past := j.past
	err := j.share.Begin(running, func(partition int) transport.Endpoint {
		return transport.Later(j.session.Endpoint(partition), past)
	}, func() { j.session.Fail(transport.ErrClosed) })
	if before != nil {
		before() // Begin has ended the run before, whose end would have failed the session
	}
	return err
}

// told makes the engine tell of exchanges: reports have them, and the master makes records of these.
type told struct{}

func (told) Record(*trace.Superstep) error { return nil }

// number is a job's on the data plane, where ids have 8 bytes.
func number(id string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(id))
	return h.Sum64()
}

// layoutOf is where a job's partitions are, as the mesh has it.
func layoutOf(placements []*control.Placement) mesh.Layout {
	l := mesh.Layout{Owner: make([]int, len(placements))}
	index := map[string]int{}
	for _, p := range placements {
		i, ok := index[p.Worker]
		if !ok {
			i = len(l.Workers)
			index[p.Worker] = i
			l.Workers = append(l.Workers, mesh.Peer{Name: p.Worker, Addr: p.Address, Incarnation: p.Incarnation})
		}
		l.Owner[p.Partition] = i
	}
	return l
}

func (j *job) free() {
	if j.session != nil {
		j.session.Close()
	}
	if j.share != nil {
		j.share.Close()
	}
	if j.end != nil {
		j.end()
	}
	j.team.Close()
	j.graph.Release()
}

func (j *job) facts() ([]byte, error) { return json.Marshal(j.share.Facts()) }

func (j *job) superstep(ctx context.Context, s *control.Superstep) (*control.SuperstepReport, error) {
	aggregates := j.share.Aggregates()
	command, err := commandOf(s, aggregates, j.totals)
	if err != nil {
		return nil, err
	}
	reports, err := j.share.Superstep(ctx, command)
	if err != nil {
		return nil, lost(j.self, asProgram(err))
	}
	j.past++
	r := &control.SuperstepReport{Superstep: s.Superstep}
	for _, p := range reports {
		told, err := partitionReportOf(p, len(j.graph.Parts), aggregates)
		if err != nil {
			return nil, err
		}
		r.Partitions = append(r.Partitions, told)
	}
	return r, nil
}

// lost tells an error that follows from the loss of a connection from others.
func lost(self string, err error) error {
	var known *worker.LostError
	var broken *mesh.BrokenError
	var unreachable *mesh.UnreachableError
	switch {
	case errors.As(err, &known):
		return err
	case errors.As(err, &broken):
		other := broken.From
		if other == self {
			other = broken.To
		}
		return &worker.LostError{Worker: other, Err: broken}
	case errors.As(err, &unreachable):
		return &worker.LostError{Worker: unreachable.To, Err: unreachable}
	}
	return err
}

// asProgram marks an error as the program's, if it is.
func asProgram(err error) error {
	var program *bsp.ProgramError
	if errors.As(err, &program) {
		return &worker.ProgramError{Text: program.Error(), Stack: program.Stack}
	}
	return err
}
