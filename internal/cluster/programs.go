// Package cluster joins the engine to the cluster: an [Engine] leads jobs for the master, an [Executor] does the work of
// a worker, with the same partitions, kernels and deliveries as in one process.
//
//	master -- bsp.Driver
//	            | Superstep                        ^ PartitionReport
//	            v                                  |
//	worker -- Executor --> engine.Job -- frames, by mesh --> Job of another worker
package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph500"
	"github.com/superstep-go/superstep/pregel"
)

// Find translates the input id of a vertex.
type Find = func(label uint64) (pregel.VertexID, bool)

// Program is a vertex program by its name.
type Program struct {
	Name       string
	Parameters []engine.Parameter
	// New makes the program; find is nil when only its form is wanted.
	New func(values map[string]string, find Find) (engine.Program, error)
	// KeepWeights says that the program may look at the weights of edges, whatever its combiner wants.
	KeepWeights bool
}

// NewProgram names a program. Its parameters are its fields with a param tag.
func NewProgram[V, M any](name string, p pregel.Program[V, M]) Program {
	return Program{Name: name, Parameters: engine.Parameters(engine.Inner(p)), KeepWeights: true, New: func(values map[string]string, find Find) (engine.Program, error) {
		fresh, err := engine.Fresh(p, values, find)
		if err != nil {
			return nil, err
		}
		return engine.Erase(fresh)
	}}
}

// Programs are those of a binary. The zero value is none.
type Programs struct{ byName map[string]Program }

// NewPrograms makes a set of programs with different names.
func NewPrograms(all []Program) Programs {
	p := Programs{map[string]Program{}}
	for _, program := range all {
		p.byName[program.Name] = program
	}
	return p
}

func (p Programs) find(name string) (Program, error) {
	program, ok := p.byName[name]
	if !ok {
		return program, fmt.Errorf("there is no algorithm %.150q: the algorithms are %s", name, strings.Join(slices.Sorted(maps.Keys(p.byName)), ", "))
	}
	return program, nil
}

// bfs makes kernel 2 of Graph500, or is nil.
func (p Programs) bfs() graph500.New { return p.byName["bfs"].New }

// options are the engine's, of those of a job.
func options(o *control.RunOptions) (engine.Options, error) {
	choice, err := parsed(o.GetDelivery(), delivery.ParseChoice)
	if err != nil {
		return engine.Options{}, fmt.Errorf("delivery: %w", err)
	}
	encoding, err := parsed(o.GetEncoding(), delivery.ParseEncoding)
	if err != nil {
		return engine.Options{}, fmt.Errorf("encoding: %w", err)
	}
	return engine.Options{
		Delivery: choice, Encoding: encoding, Uncombined: o.GetUncombined(), Serial: o.GetSerial(), Deterministic: o.GetDeterministic(),
		MaxSupersteps: int(o.GetMaxSupersteps()), SuperstepTimeout: time.Duration(o.GetSuperstepTimeout()),
	}, nil
}

// parsed reads a word; none is the zero value.
func parsed[T any](word string, parse func(string) (T, error)) (value T, err error) {
	if word == "" {
		return value, nil
	}
	return parse(word)
}

// rehearse finds out before a job waits that its program cannot run, with the options, in the grid that is asked for, if
// one is.
func rehearse(program engine.Program, o engine.Options, rows, columns uint32) error {
	if _, err := program.Codec(); err != nil {
		return err
	}
	return engine.Rehearse(context.Background(), program, o, graph.Grid{Rows: int(rows), Columns: int(columns)})
}

// located is Find over what was located for a job.
func located(vertices []*control.Vertex) Find {
	return func(label uint64) (pregel.VertexID, bool) {
		for _, v := range vertices {
			if v.Label == label {
				return pregel.VertexID(v.Id), true
			}
		}
		return pregel.None, false
	}
}

var errEmpty = errors.New("the job says nothing")
