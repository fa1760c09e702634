package superstep

import (
	"context"
	"fmt"
	"io"
	"reflect"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/transport/pack"
)

// addInputs says in a job's spec what its columns begin with: the results of earlier jobs, and what is sent for it now.
func (c *Connection) addInputs(ctx context.Context, spec *control.JobSpec, g *Graph, program engine.Program, all []Input) error {
	given := map[string]bool{}
	for _, in := range all { // before anything is sent
		if err := in.valid(given); err != nil {
			return err
		}
		switch column, err := program.Column(in.column.Name); {
		case err != nil:
			return err
		case column.Number != in.column.Number:
			return in.another()
		case in.result && in.changed:
			return fmt.Errorf("superstep: column %s: the result is of a program that has changed the graph on the cluster, where the graph of this run has other vertices: "+
				"give superstep.From a function that reads it by Result.At", in.column.Name)
		case in.result && (in.job == "" || in.conn != c):
			return fmt.Errorf("superstep: column %s: the result is not of a run on this connection's cluster", in.column.Name)
		}
	}
	spec.Inputs, spec.ColumnData = map[string]string{}, map[string]*control.ColumnData{}
	for _, in := range all {
		if in.result {
			spec.Inputs[in.column.Name] = in.job
			continue
		}
		data, err := in.send(ctx, g, program.Name())
		if err != nil {
			return err
		}
		spec.ColumnData[in.column.Name] = data
	}
	return nil
}

// sendBlock is how many values of a function are made and sent at a time.
const sendBlock = 16 << 10

// sendBy sends what a function returns for the vertices of a graph, by its input ids, to the cluster that has the graph.
func sendBy[T any](ctx context.Context, g *Graph, program, column string, value func(id uint64) T) (*control.ColumnData, error) {
	t := reflect.TypeFor[T]()
	encoding, err := pack.NewValues(t, mem.PointerFreeType(t))
	if err != nil {
		return nil, fmt.Errorf("superstep: column %s: %w", column, err)
	}
	id, err := g.conn.client.SendColumn(ctx, func(w io.Writer) error {
		values, block, partitions := make([]T, sendBlock), []byte(nil), len(g.g.Parts)
		for p := range min(partitions, g.g.N) {
			owned := (g.g.N - p + partitions - 1) / partitions
			for first := 0; first < owned; first += sendBlock {
				some := values[:min(sendBlock, owned-first)]
				if err := callFor(ctx, g, program, column, p, first, some, value); err != nil {
					return err
				}
				if block, err = encoding.AppendBlock(block[:0], p, first, len(some), rawOf(some), some); err != nil {
					return fmt.Errorf("superstep: column %s: %w", column, err)
				}
				if _, err := w.Write(block); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return &control.ColumnData{Id: id, Values: encoding.Type(), Load: g.load}, err
}

// rawOf views values as they lie in memory, if they hold no pointers.
func rawOf[T any](values []T) []byte {
	var p kernel.Packed
	(&kernel.Vec[T]{Data: values}).Pack(&p)
	return p.Raw
}

// sendFile sends the values that a file has to the cluster that has a graph.
func sendFile(ctx context.Context, g *Graph, column kernel.Property, path string) (*control.ColumnData, error) {
	var id string
	named := g.named && !column.OfEdges
	file, at, err := graphio.SplitColumn(path)
	if err == nil {
		id, err = g.conn.client.SendColumn(ctx, func(w io.Writer) error {
			var err error
			if named {
				_, err = engine.CopyNamedLines(ctx, w, &column, file, at, false)
			} else {
				_, err = engine.CopyLines(ctx, w, &column, file, at)
			}
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("superstep: column %s: %w", column.Name, err)
	}
	return &control.ColumnData{Id: id, File: file, Named: named}, nil
}
