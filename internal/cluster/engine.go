// Package cluster joins the engine to the master: an [Engine] leads jobs.
package cluster

import (
	"encoding/json"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph500"
	"github.com/superstep-go/superstep/internal/jobspec"
	"github.com/superstep-go/superstep/master"
	"github.com/superstep-go/superstep/pregel"
)

// Engine leads jobs for a master.
type Engine struct{ programs engine.Registry }

var _ master.Engine = (*Engine)(nil)

// NewEngine leads jobs of these programs.
func NewEngine(p engine.Registry) *Engine { return &Engine{p} }

// Check refuses a job that cannot be run, whatever its graph.
func (e *Engine) Check(spec *control.JobSpec) error {
	if spec == nil {
		return errEmpty
	}
	switch {
	case spec.Graph500 != nil:
		return checkBenchmark(spec, e.programs.New("bfs"))
	case spec.Netbench != nil:
		return checkNetbench(spec.Netbench)
	}
	p, err := e.programs.Find(spec.Program)
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
	if spec.KeepResult {
		if err := program.Printable(); err != nil {
			return err
		}
	}
	return rehearse(program, o, spec.Rows, spec.Columns)
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

// Labels returns the input ids of the vertices that parameters name.
func (e *Engine) Labels(spec *control.JobSpec) ([]uint64, error) {
	p, err := e.programs.Find(spec.Program)
	if err != nil {
		return nil, err
	}
	var labels []uint64
	_, err = p.New(spec.Parameters, func(label uint64) (pregel.VertexID, bool) {
		if !slices.Contains(labels, label) {
			labels = append(labels, label)
		}
		return pregel.None, true
	})
	return labels, err
}

// Source says which weights the job's program wants, where the job leaves that open.
func (e *Engine) Source(spec *control.JobSpec) (*control.GraphSource, error) {
	source := proto.CloneOf(spec.Source)
	if source.Weights != "" {
		return source, nil
	}
	p, err := e.programs.Find(spec.Program)
	if err != nil {
		return nil, err
	}
	program, err := p.New(spec.Parameters, nil)
	if err != nil {
		return nil, err
	}
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
	return source, nil
}

// Lead makes the driver of a job.
func (e *Engine) Lead(t master.Task, prepared []*control.PrepareReport) (*bsp.Driver, error) {
	program, err := e.program(t)
	if err != nil {
		return nil, err
	}
	o, err := jobspec.Options(t.Spec.Options)
	if err != nil {
		return nil, err
	}
	o.Trace, o.Progress = t.Trace, t.Progress
	facts := make([]*bsp.Facts, len(prepared))
	for i, r := range prepared {
		facts[i] = new(bsp.Facts)
		if err := json.Unmarshal(r.Facts, facts[i]); err != nil {
			return nil, fmt.Errorf("facts: %w", err)
		}
		if n := facts[i].Partitions; n != len(t.Placements) || n != facts[i].Load.Partitions {
			return nil, fmt.Errorf("a worker has a graph of %d partitions, the job one of %d", n, len(t.Placements))
		}
	}
	return program.Driver(o, facts)
}

// program makes the program of a job, or the kernel of a job of Graph500.
func (e *Engine) program(t master.Task) (engine.Program, error) {
	if t.Spec.Graph500 != nil {
		return graph500.Program(t.Spec.Program, e.programs.New("bfs"), pregel.VertexID(t.Vertices[0].GetId()))
	}
	p, err := e.programs.Find(t.Spec.Program)
	if err != nil {
		return nil, err
	}
	return p.New(t.Spec.Parameters, jobspec.Finder(t.Vertices))
}
