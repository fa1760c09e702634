package master

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/generate"
	layout "github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/jobspec"
	"github.com/superstep-go/superstep/pregel"
)

// programKind is the jobs of vertex programs.
var programKind kind

func init() {
	programKind = kind{check: checkProgram, shape: layout.Of, coordinate: coordinateProgram}
}

func checkProgram(programs engine.Registry, spec *control.JobSpec, grid layout.Grid) error {
	switch {
	case spec.GetProgram() == "":
		return errors.New("a job names the program to run")
	case (spec.Graph == "") == (spec.Source.GetInput() == ""):
		return errors.New("a job names a graph of the cluster, or one to load: one of the two")
	}
	p, err := programs.Find(spec.Program)
	if err != nil {
		return err
	}
	if err := engine.Check(p.Parameters, spec.Parameters); err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	program, err := p.New(spec.Parameters, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	o, err := jobspec.Options(spec.Options)
	if err != nil {
		return err
	}
	if spec.Source != nil {
		if _, _, err := jobspec.Source(spec.Source); err != nil {
			return err
		}
		if err := loadable(spec.Source.Input); err != nil {
			return err
		}
	}
	switch {
	case spec.Values != "":
		if here, err := program.ValueType(); err != nil {
			return err
		} else if here != spec.Values {
			return fmt.Errorf("%s: its values are of type %s on the cluster, and %.200s at the client", p.Name, here, spec.Values)
		}
		if here := p.Form(); here != spec.Form {
			return fmt.Errorf("%s: the cluster has another version of this program: %.300s there, %.300s at the client", p.Name, here, spec.Form)
		}
		spec.KeepResult, spec.Unsorted = true, true // blocks have no order
	case spec.KeepResult:
		if err := program.Printable(); err != nil {
			return err
		}
	}
	return engine.Rehearse(context.Background(), program, o, grid)
}

// loadable refuses generators that make what cannot be loaded; files are the workers' to look at.
func loadable(input string) error {
	if !generate.IsGenerator(input) {
		return nil
	}
	g, err := generate.Parse(input)
	if err != nil {
		return err
	}
	return generate.Loadable(g)
}

// coordinateProgram runs a vertex program: load, locate, prepare, superstep after superstep, values.
func coordinateProgram(ctx context.Context, r *run) error {
	p, err := r.server.options.Registry.Find(r.spec.Program)
	if err != nil {
		return err
	}
	if r.spec.Graph == "" {
		if err := r.load(ctx, p); err != nil {
			return err
		}
	}
	vertices, err := r.locate(ctx, p)
	if err != nil {
		return err
	}
	answers, err := r.all(ctx, "prepare", &control.Command{Body: &control.Command_Prepare{Prepare: &control.Prepare{
		Graph: r.job.graph(), Program: r.spec.Program, Parameters: r.spec.Parameters, Options: r.spec.Options, Placements: r.job.placements,
		Vertices: vertices,
	}}}, func(report *control.Report) bool { return report.GetPrepare() != nil })
	if err != nil {
		return err
	}
	facts := make([][]byte, len(answers))
	for i, a := range answers {
		facts[i] = a.GetPrepare().Facts
	}
	r.advance(control.JobState_JOB_STATE_RUNNING)
	if err := r.supersteps(ctx, p, vertices, facts); err != nil {
		return err
	}
	if !r.spec.KeepResult {
		return nil
	}
	r.advance(control.JobState_JOB_STATE_WRITING)
	began := time.Now()
	defer func() { r.set(func(a *control.Job) { a.WriteSeconds = time.Since(began).Seconds() }) }()
	return r.keep(ctx, "values", &control.Command{Body: &control.Command_Values{Values: &control.Values{Sorted: !r.spec.Unsorted, Raw: r.spec.Values != ""}}})
}

// load loads the graph that the job brings. Where the job leaves open which weights it has, the program says so.
func (r *run) load(ctx context.Context, p engine.Registered) error {
	source := r.spec.Source
	if source.Weights == "" {
		program, err := p.New(r.spec.Parameters, nil)
		if err != nil {
			return err
		}
		source = proto.CloneOf(source)
		switch program.Weights() {
		case edges.Float32:
			source.Weights = "float32"
		case edges.Float64:
			source.Weights = "float64"
		default:
			if !p.KeepWeights {
				source.Weights = "none"
			}
		}
	}
	report, err := r.server.loadOn(ctx, r.id, r.epoch, r.team, &control.Load{
		Graph: r.job.graph(), Source: source, Rows: r.job.rows, Columns: r.job.columns, Placements: r.job.placements,
	}, r.saw)
	if err != nil {
		return err
	}
	r.set(func(a *control.Job) {
		a.Vertices, a.Edges, a.Arcs, a.Directed, a.LoadSeconds = report.Vertices, report.Edges, report.Arcs, report.Directed, report.Seconds
	})
	return nil
}

// locate finds the vertices that the job's parameters name by their input ids: the workers that have them know their numbers.
func (r *run) locate(ctx context.Context, p engine.Registered) ([]*control.Vertex, error) {
	var labels []uint64
	_, err := p.New(r.spec.Parameters, func(label uint64) (pregel.VertexID, bool) {
		if !slices.Contains(labels, label) {
			labels = append(labels, label)
		}
		return pregel.None, true
	})
	if err != nil || len(labels) == 0 {
		return nil, err
	}
	answers, err := r.all(ctx, "locate", &control.Command{Body: &control.Command_Locate{Locate: &control.Locate{Graph: r.job.graph(), Labels: labels}}},
		func(report *control.Report) bool { return report.GetLocated() != nil })
	if err != nil {
		return nil, err
	}
	ids := map[uint64]uint64{}
	for _, a := range answers {
		for _, v := range a.GetLocated().Vertices {
			ids[v.Label] = v.Id
		}
	}
	var vertices []*control.Vertex
	for _, label := range labels {
		id, ok := ids[label]
		if !ok {
			return nil, fmt.Errorf("%s: the graph has no vertex %d", r.spec.Program, label)
		}
		vertices = append(vertices, &control.Vertex{Label: label, Id: id})
	}
	return vertices, nil
}

func (r *run) supersteps(ctx context.Context, p engine.Registered, vertices []*control.Vertex, facts [][]byte) error {
	began := time.Now()
	defer func() { r.set(func(a *control.Job) { a.RunSeconds = time.Since(began).Seconds() }) }()
	program, err := p.New(r.spec.Parameters, jobspec.Finder(vertices))
	if err != nil {
		return err
	}
	t, err := r.newTeam(program, facts)
	if err != nil {
		return err
	}
	return t.drive(ctx, "")
}
