package master

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	layout "github.com/superstep-go/superstep/internal/graph"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/pregel"
)

// programKind is the jobs of vertex programs.
var programKind kind

func init() {
	programKind = kind{again: true, check: resolve.CheckProgram, shape: layout.Of, coordinate: coordinateProgram}
}

// coordinateProgram runs a vertex program: load, locate, prepare, superstep after superstep, values. What an earlier master has begun it takes up
// where the workers are.
func coordinateProgram(ctx context.Context, r *run) error {
	p, err := r.server.options.Registry.Find(r.spec.Program)
	if err != nil {
		return err
	}
	if r.job.takenUp {
		if err := r.takeUp(ctx); err != nil {
			return err
		}
		return r.values(ctx)
	}
	if r.spec.Graph == "" {
		if err := r.load(ctx, p); err != nil {
			return err
		}
	}
	if r.figures().Named && r.spec.Values == "" { // a client in Go has input ids
		if err := r.findNames(ctx, p); err != nil {
			return err
		}
	}
	vertices, err := r.locate(ctx, p)
	if err != nil {
		return err
	}
	if err := r.perform(ctx, p, vertices); err != nil {
		return err
	}
	return r.values(ctx)
}

// values keeps the values of the job's vertices, if its client wants them.
func (r *run) values(ctx context.Context) error {
	if !r.spec.KeepResult {
		return nil
	}
	r.advance(control.JobState_JOB_STATE_WRITING)
	began := time.Now()
	defer func() { r.set(func(a *control.Job) { a.WriteSeconds = time.Since(began).Seconds() }) }()
	return r.storeResult(ctx, "values", &control.Command{Body: &control.Command_Values{Values: &control.Values{Sorted: !r.spec.Unsorted, Raw: r.spec.Values != ""}}})
}

// load loads the graph that the job brings. Where the job leaves open which weights it has, the program says so.
func (r *run) load(ctx context.Context, p engine.Registered) error {
	source, err := resolve.Weighted(r.spec.Source, p, r.spec.Parameters)
	if err != nil {
		return err
	}
	report, err := r.server.loadOn(ctx, r.id, r.epoch, r.team, &control.Load{
		Graph: r.job.graph(), SourceJson: jobspec.Text(source), Rows: r.job.rows, Columns: r.job.columns, Placements: r.job.placements,
	}, r.saw)
	if err != nil {
		return err
	}
	r.set(func(a *control.Job) {
		a.Vertices, a.Edges, a.Arcs, a.Directed, a.LoadSeconds = report.Vertices, report.Edges, report.Arcs, report.Directed, report.Seconds
		a.Named = report.Named
		a.Skipped = report.Skipped
	})
	for _, note := range report.Notes {
		r.server.append(r.id, said(note))
	}
	return nil
}

// locate finds the vertices that the job's parameters name by their input ids: the workers that have them know their numbers.
func (r *run) locate(ctx context.Context, p engine.Registered) ([]*control.Vertex, error) {
	var labels []uint64
	seen := map[uint64]bool{}
	_, err := p.New(r.parameters, func(label uint64) (pregel.VertexID, bool) {
		if !seen[label] {
			seen[label], labels = true, append(labels, label)
		}
		return pregel.None, true
	})
	if err != nil || len(labels) == 0 {
		return nil, err
	}
	ids, err := r.find(ctx, labels)
	if err != nil {
		return nil, err
	}
	var vertices []*control.Vertex
	for _, label := range labels {
		if id, ok := ids[label]; ok {
			vertices = append(vertices, &control.Vertex{Label: label, Id: id})
		}
	}
	// It names the parameter whose vertex is not there.
	if _, err := p.New(r.parameters, resolve.Finder(vertices)); err != nil {
		return nil, fmt.Errorf("%s: %w", r.spec.Origin(), err)
	}
	return vertices, nil
}

// find returns the vertices of the job's graph that have these input ids, by these.
func (r *run) find(ctx context.Context, labels []uint64) (map[uint64]uint64, error) {
	answers, err := r.server.locate(ctx, "locate", r.team, &control.Locate{Graph: r.job.graph(), Labels: labels})
	ids := make(map[uint64]uint64, len(labels))
	for _, a := range answers {
		for _, v := range a.Vertices {
			ids[v.Label] = v.Id
		}
	}
	return ids, err
}

// prepare has the workers prepare a program, which goes on from a checkpoint if goOn
// is not nil, and returns the facts of each.
func (r *run) prepare(ctx context.Context, p *control.Prepare, goOn *control.GoOn) (facts [][]byte, err error) {
	p = proto.CloneOf(p) // the lanes may still have the one before
	prepared := func(report *control.Report) bool { return report.GetPrepare() != nil }
	answers, err := r.all(ctx, "prepare", &control.Command{Body: &control.Command_Prepare{Prepare: p}}, prepared)
	if err == nil && goOn != nil {
		answers, err = r.all(ctx, "prepare", &control.Command{Body: &control.Command_GoOn{GoOn: goOn}}, prepared)
	}
	for _, a := range answers {
		facts = append(facts, a.GetPrepare().GetFacts())
	}
	return facts, err
}

// supersteps runs a program that was prepared, before which so much has run in the same job, to its end.
func (r *run) supersteps(ctx context.Context, facts [][]byte, before bsp.Outcome, totals bool) (*control.RunEnd, error) {
	r.advance(control.JobState_JOB_STATE_RUNNING)
	end, err := r.drive(ctx, facts, before, totals)
	r.set(func(a *control.Job) { a.RunSeconds += end.GetSeconds() })
	return end, err
}
