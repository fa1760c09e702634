package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph500"
	"github.com/superstep-go/superstep/internal/jobspec"
)

// checkBenchmark refuses a run that cannot be.
func checkBenchmark(s *control.JobSpec, bfs engine.New) error {
	g, err := jobspec.Generator(s.Graph500)
	if err != nil {
		return err
	}
	if g.Scale > graph500.MaxScale {
		return fmt.Errorf("scale: found %d, expected at most %d: vertices have numbers of 32 bits", g.Scale, graph500.MaxScale)
	}
	if s.Graph500.Roots == 0 {
		return errors.New("roots: found 0, expected 1 or more")
	}
	o, err := jobspec.Options(s.Options)
	if err != nil {
		return err
	}
	return graph500.EachKernel(s.Graph500.Sssp, bfs, func(kernel string, program engine.Program) error {
		if err := rehearse(program, o, s.Rows, s.Columns); err != nil {
			return fmt.Errorf("%s: %w", kernel, err)
		}
		return nil
	})
}

// What a netbench may ask of a worker.
const (
	mostSizes       = 64
	mostRepetitions = 1_000_000
)

// checkNetbench refuses measurements that cannot be.
func checkNetbench(s *control.Netbench) error {
	if n := len(s.Sizes); n > mostSizes {
		return fmt.Errorf("found %d sizes, expected at most %d", n, mostSizes)
	}
	if s.Repetitions > mostRepetitions {
		return fmt.Errorf("repetitions: found %d, expected at most %d", s.Repetitions, mostRepetitions)
	}
	return jobspec.Netbench(s).Validate()
}

// rehearse finds out before a job waits that its program cannot run, with the options, in the grid that is asked for, if
// one is.
func rehearse(program engine.Program, o engine.Options, rows, columns uint32) error {
	if _, err := program.Codec(); err != nil {
		return err
	}
	return engine.Rehearse(context.Background(), program, o, graph.Grid{Rows: int(rows), Columns: int(columns)})
}

var errEmpty = errors.New("the job says nothing")
