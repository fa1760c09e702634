package resolve

import (
	"errors"
	"fmt"
	"math"

	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/job"
)

// Later encodes the job of a vertex program for a checkpoint, so that it can be resumed from any
// directory. here means that its file names are relative to this process's directory; otherwise
// they are relative to the workers' data roots. parameters are the program's, needed only here.
func Later(spec *job.Spec, here bool, parameters []engine.Parameter) (_ []byte, err error) {
	s := &job.Spec{
		Program: spec.Program, Parameters: spec.Parameters, Graph: spec.Graph, Source: spec.Source,
		Options: spec.Options, Rows: spec.Rows, Columns: spec.Columns, KeepWhen: spec.KeepWhen,
	}
	if here && s.Source != nil {
		source := *s.Source
		s.Source = &source
		if err := Absolute(&source); err != nil {
			return nil, err
		}
		if s.Parameters, err = AbsoluteSets(parameters, s.Parameters); err != nil {
			return nil, err
		}
	}
	text := job.Text(s)
	if _, err := Earlier([]byte(text)); err != nil { // otherwise resume would reject it
		return nil, fmt.Errorf("the job cannot be stored in a checkpoint: %w", err)
	}
	return []byte(text), nil
}

// Absolute makes the names of a source's files independent of this process's directory. An error
// begins with the field: graph or vertices.
func Absolute(s *job.Source) error {
	for _, file := range []struct {
		field string
		name  *string
	}{{"graph", &s.Input}, {"vertices", &s.Vertices}, {"within", &s.Within}} {
		if file.field == "graph" && generate.IsGenerator(s.Input) {
			continue
		}
		name, err := graphio.Absolute(*file.name)
		if err != nil {
			return fmt.Errorf("%s %s: %w", file.field, *file.name, err)
		}
		*file.name = name
	}
	return nil
}

// Earlier decodes the result of Later.
func Earlier(data []byte) (*job.Spec, error) {
	s, err := job.Read[job.Spec](string(data))
	if err != nil {
		return nil, fmt.Errorf("found no valid job: %w", err)
	}
	if s.Program == "" || s.Source == nil && s.Graph == "" {
		return nil, fmt.Errorf("found program %q without a graph", s.Program)
	}
	return s, nil
}

// When combines a job's policy of checkpoints with the master's. If the job sets a number of
// supersteps, an interval or a mean time between failures, the master's values of these are
// ignored. Strict applies if either sets it.
func When(job *checkpoint.Policy, master checkpoint.Policy) checkpoint.Policy {
	if job == nil {
		return master
	}
	own := *job
	own.Strict = own.Strict || master.Strict
	if own.Every == 0 && own.Interval == 0 && own.MTBF == 0 {
		own.Every, own.Interval, own.MTBF = master.Every, master.Interval, master.MTBF
	}
	return own
}

// checkWhen validates a job's policy of checkpoints.
func checkWhen(k *checkpoint.Policy) error {
	switch {
	case k == nil:
		return nil
	case k.Interval < 0 || k.MTBF < 0:
		return fmt.Errorf(
			"checkpoints every %v, by a mean time between failures of %v: expected 0 or more",
			k.Interval, k.MTBF)
	case k.Every < 0 || k.Every > math.MaxInt32:
		return fmt.Errorf("a checkpoint every %d supersteps: expected at most %d",
			k.Every, math.MaxInt32)
	case k.Every > 0 && k.Interval > 0:
		return errors.New("found checkpoints by number and by time, expected one of the two")
	}
	return nil
}
