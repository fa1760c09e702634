package superstep

import (
	"errors"
	"fmt"

	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// Input is an earlier result that a run begins with, in a vertex column of its program. Make it with [From].
type Input struct {
	column kernel.Property
	// job is the result's on the cluster of conn; both are empty of a run in this process.
	job  string
	conn *Connection
	fill func(g *Graph, p *engine.Prefilled) error
}

// From gives a vertex column of a program the values of an earlier result, for [Options]: Init and Compute read them from superstep 0
// on. In one process the two graphs may differ: vertices are the same by their input ids, and those that the result does not have
// begin with zero; but values that are vertices need the same vertices. On a cluster it is the same graph there, and the values do
// not pass through the client.
func From[T any](column pregel.VertexColumn[T], result *Result[T]) Input {
	return Input{
		column: new(pregel.Engine[T, struct{}]).Property(column), job: result.job, conn: result.graph.conn,
		fill: func(g *Graph, p *engine.Prefilled) error { return prefill(g, p, result) },
	}
}

// prefill sets what a column begins with in a run in this process.
func prefill[T any](g *Graph, p *engine.Prefilled, result *Result[T]) error {
	from := result.graph
	if !from.refs.Acquire() {
		return fmt.Errorf("superstep: column %s: %w", p.Name, errClosed)
	}
	defer from.refs.Release()
	same := sameVertices(g, from)
	if !same && engine.Refers(p.Type) {
		return fmt.Errorf("superstep: column %s: values of type %v may be vertices, and the result is of a graph with others", p.Name, p.Type)
	}
	for partition, storage := range p.Storage {
		values := storage.([]T)
		for i := range values {
			id := pregel.VertexID(partition + i*len(g.g.Parts))
			if same {
				values[i] = result.values[id]
			} else if other, ok := from.g.Find(g.g.Label(id)); ok {
				values[i] = result.values[other]
			}
		}
	}
	return nil
}

// sameVertices reports whether two graphs have the same vertices under the same handles.
func sameVertices(a, b *Graph) bool {
	if a.g.N != b.g.N {
		return false
	}
	for i := 0; a.g != b.g && i < a.g.N; i++ {
		if id := pregel.VertexID(i); a.g.Label(id) != b.g.Label(id) {
			return false
		}
	}
	return true
}

// prefilling is any *engine.Job.
type prefilling interface {
	Prefill(name string) (*engine.Prefilled, error)
}

// prefillAll sets what columns of a job in this process begin with.
func prefillAll(g *Graph, job prefilling, inputs []Input) error {
	for _, in := range inputs {
		if err := in.valid(); err != nil {
			return err
		}
		p, err := job.Prefill(in.column.Name)
		if err != nil {
			return err
		}
		if p.Number != in.column.Number {
			return in.another()
		}
		if err := in.fill(g, p); err != nil {
			return err
		}
	}
	return nil
}

func (in *Input) valid() error {
	if in.fill == nil {
		return errors.New("superstep: Options.Columns: found an Input that superstep.From did not make")
	}
	return nil
}

func (in *Input) another() error {
	return fmt.Errorf("superstep: column %s: the program lists another of that name", in.column.Name)
}

// inputs are the earlier jobs whose results a job begins with, by the names of columns.
func (c *Connection) inputs(program engine.Program, all []Input) (map[string]string, error) {
	jobs := map[string]string{}
	for _, in := range all {
		if err := in.valid(); err != nil {
			return nil, err
		}
		switch column, err := program.Column(in.column.Name); {
		case err != nil:
			return nil, err
		case column.Number != in.column.Number:
			return nil, in.another()
		case in.job == "" || in.conn != c:
			return nil, fmt.Errorf("superstep: column %s: the result is not of a run on this connection's cluster", in.column.Name)
		}
		jobs[in.column.Name] = in.job
	}
	return jobs, nil
}
