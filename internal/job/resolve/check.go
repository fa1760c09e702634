package resolve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/load"
	"github.com/superstep-go/superstep/pregel"
)

// Limits of a netbench.
const (
	maxSizes       = 64
	maxRepetitions = 1_000_000
)

// ofCatalog is what results and values by number need.
const ofCatalog = "expected a column of vertices, in a graph of the catalog"

// CheckProgram checks a job of a vertex program before its graph is loaded, and completes its spec.
// grid is the grid of the job or of its graph of the catalog, if known.
func CheckProgram(programs engine.Registry, spec *job.Spec, grid graph.Grid) error {
	switch {
	case spec.Program == "":
		return errors.New("the job has no program")
	case (spec.Graph == "") == (spec.Source.Origin() == ""):
		return errors.New("a job needs either a graph of the catalog or a graph to load")
	}
	p, err := programs.Find(spec.Program)
	if err != nil {
		return err
	}
	parameters := BeforeLoading(p.Parameters, spec.Parameters, spec.Source)
	if err := engine.Check(p.Parameters, parameters); err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	program, err := p.New(parameters, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	o, err := Options(spec.Options)
	if err = cmp.Or(err, checkWhen(spec.KeepWhen)); err != nil {
		return err
	}
	if spec.KeepWhen != nil {
		if err := program.Checkpointable(); err != nil {
			return err
		}
	}
	if spec.Source != nil {
		_, _, err := load.From(spec.Source)
		err = cmp.Or(err, reads(p, program, spec.Source), Loadable(spec.Source.Input))
		if err != nil {
			return err
		}
	}
	for name := range spec.Inputs {
		switch column, err := program.Column(name); {
		case err != nil:
			return err
		case column.OfEdges || spec.Graph == "":
			return fmt.Errorf("column %.150q: found a result, "+ofCatalog, name)
		}
	}
	for name, data := range spec.ColumnData {
		switch column, err := program.Column(name); {
		case err != nil:
			return err
		case spec.Inputs[name] != "":
			return fmt.Errorf(
				"column %.150q: found a result and values, expected one of them", name)
		case data == nil:
			return fmt.Errorf("column %.150q: nothing was sent", name)
		case data.File == "" && (column.OfEdges || spec.Graph == ""):
			return fmt.Errorf("column %.150q: found values by number, "+ofCatalog, name)
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
	return engine.CheckOnCluster(context.Background(), program, o, grid)
}

// CheckThere is CheckProgram for a job of a cluster, whose client has sent its vertex sets.
func CheckThere(programs engine.Registry, spec *job.Spec, grid graph.Grid) error {
	if err := CheckProgram(programs, spec, grid); err != nil {
		return err
	}
	p, err := programs.Find(spec.Program)
	if err == nil && spec.Numbered && (spec.Values != "" || !spec.KeepResult) {
		err = errors.New("numbers are for results of lines")
	}
	return cmp.Or(err, sent(p.Parameters, spec))
}

// Loadable rejects generators of graphs that cannot be loaded. Files are checked when they are
// read.
func Loadable(input string) error {
	if !generate.IsGenerator(input) {
		return nil
	}
	g, err := generate.Parse(input)
	if err != nil {
		return err
	}
	return generate.Loadable(g)
}

// Weighted returns the source of a job's graph. If the job does not specify the type of weights,
// the program determines it.
func Weighted(s *job.Source, p engine.Registered, values map[string]string) (*job.Source, error) {
	program, err := p.New(BeforeLoading(p.Parameters, values, s), nil)
	if err == nil {
		err = reads(p, program, s)
	}
	if err != nil || s.Weights != "" {
		return s, err
	}
	weighted := *s
	s = &weighted
	if needed := program.Weights(); needed != edges.Unweighted {
		s.Weights = needed.String()
	} else if !p.KeepWeights {
		s.Weights = "none"
	}
	return s, nil
}

// reads rejects a column of weights that the program would not read.
func reads(p engine.Registered, program *engine.Program, source *job.Source) error {
	switch {
	case source.WeightColumn == "":
		return nil
	case program.Weights() == edges.Unweighted && !p.KeepWeights:
		return fmt.Errorf("weight column %.100q: %s does not read weights, expected none",
			source.WeightColumn, p.Name)
	case source.UnitWeights:
		return fmt.Errorf("found the weight column %.100q and unit weights", source.WeightColumn)
	}
	return nil
}

// Inputs returns the columns of a program that --column can fill.
func Inputs(p *engine.Program) []kernel.Property {
	return slices.DeleteFunc(slices.Clone(p.Properties()),
		func(c kernel.Property) bool { return c.Private })
}

// WeightsText describes how a program uses the weights of edges.
func WeightsText(p engine.Registered) (string, error) {
	program, err := p.New(nil, func(uint64) (pregel.VertexID, bool) { return 0, true })
	switch {
	case err != nil:
		return "", err
	case program.Weights() != edges.Unweighted:
		return "needed; --unit-weights makes each 1", nil
	case p.KeepWeights:
		return "optional: the program reads them, if the graph has them", nil
	}
	return "not read: --weight-column is refused", nil
}

// Filled reports whether the spec has initial values for columns, or vertex sets.
func Filled(spec *job.Spec) bool { return len(spec.Inputs)+len(spec.ColumnData)+len(spec.Sets) > 0 }

// CheckNetbench is CheckProgram for a job that measures the network.
func CheckNetbench(_ engine.Registry, spec *job.Spec, _ graph.Grid) error {
	if spec.Program != control.NetbenchProgram || spec.Graph != "" || spec.Source != nil ||
		spec.Rows|spec.Columns != 0 || Filled(spec) || spec.Numbered {
		return fmt.Errorf("expected the program %s without graph, source, columns and grid",
			control.NetbenchProgram)
	}
	spec.KeepResult, spec.Unsorted = true, true // the report, from one worker
	if n := len(spec.Netbench.Sizes); n > maxSizes {
		return fmt.Errorf("found %d sizes, expected at most %d", n, maxSizes)
	}
	if n := spec.Netbench.Repetitions; n > maxRepetitions {
		return fmt.Errorf("repetitions: found %d, expected at most %d", n, maxRepetitions)
	}
	return Netbench(spec.Netbench).Validate()
}
