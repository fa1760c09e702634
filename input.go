package superstep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/superstep-go/superstep/internal/backend"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/fill"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/transport/pack"
	"github.com/superstep-go/superstep/pregel"
)

// Input is what a run begins with in a column of its program. Make it with [From] or [FromFile].
type Input struct {
	column kernel.Property
	// result reports that the values are an earlier result's, of a job on a cluster; both are empty
	// of a run in this process.
	result  bool
	job     string
	cluster any
	changed bool  // the job's program has changed the graph
	wrong   error // with the source
	fill    func(ctx context.Context, g *Graph, p *engine.Prefilled) error
	file    string
	// send says how values are sent to where a graph is; nil of a result, which is there, and of a
	// file.
	send func(g *Graph, program string, to *backend.Input) error
}

// From gives a vertex column of a program values, for [Options]: Init and Compute read them from
// superstep 0 on. They are those of an earlier result,
//
//	superstep.From(rank, ranks)
//
// or what a function returns for each vertex by its input id, which one goroutine calls when the
// run begins; if it panics, Run returns a *pregel.ProgramError:
//
//	superstep.From(population, func(id uint64) int64 { return inhabitants[id] })
//
// In one process the graph of the result may be another: vertices are the same by their input ids,
// and those that the result does not have begin with zero; but values that are vertices need the
// same vertices. On a cluster it is the same graph there, and the values do not pass through the
// client. A function is always called in this process; its values are sent to the cluster.
func From[T any, S *Result[T] | func(id uint64) T](column pregel.VertexColumn[T], source S) Input {
	in := Input{column: kernel.Pregel.Property(column)}
	switch source := any(source).(type) {
	case *Result[T]:
		if source == nil || source.graph == nil {
			in.wrong = fmt.Errorf("superstep: column %s: found a Result that is nil or empty, expected one that superstep.Run has returned", in.column.Name)
			break
		}
		in.result, in.job, in.changed = true, source.job, source.changed
		if source.graph.elsewhere != nil {
			in.cluster = source.graph.elsewhere.Cluster()
		}
		in.fill = func(_ context.Context, g *Graph, p *engine.Prefilled) error { return prefill(g, p, source) }
	case func(id uint64) T:
		if source == nil {
			in.wrong = fmt.Errorf("superstep: column %s: the function is nil", in.column.Name)
		}
		in.fill = func(ctx context.Context, g *Graph, p *engine.Prefilled) error { return prefillBy(ctx, g, p, source) }
		in.send = func(g *Graph, program string, to *backend.Input) error { return sendBy(g, program, to, source) }
	}
	return in
}

// FromFile gives a column of a program the values in a file, for [Options]: a [pregel.VertexColumn]
// those of lines "id value" as superstep run --output writes them, a [pregel.EdgeColumn] those of
// lines "from to value"; plain or compressed by gzip or zstd. The column's type is a string,
// boolean, number, time.Duration or pregel.VertexID. A file of more columns is given with the
// number of one, FILE:N, where the ids are the first:
//
//	superstep.FromFile(capacity, "roads.txt:4") // of lines "from to weight capacity"
//
// and a file of LDBC Graphalytics, FILE.v or FILE.e, also with the name that FILE.properties has
// for it. A vertex that the file does not have begins with zero; but every edge must be there, of
// an undirected graph either way. What is not in the graph or is there twice, and a value that is
// none, are errors with file and line. Of parallel edges that the graph has stored as the first of
// them, that is the first line's value; under other rules all must be the same. Edges need a grid
// of Nx1 partitions. The file is read in this process, and what it has is sent to a cluster.
func FromFile(column pregel.Column, path string) Input {
	property := kernel.Pregel.Property(column)
	return Input{
		column: property,
		file:   path,
		fill: func(ctx context.Context, g *Graph, p *engine.Prefilled) error {
			file, at, err := graphio.SplitColumn(path)
			if err == nil {
				_, err = fill.File(ctx, p, g.g, file, at)
			}
			if err != nil {
				return fmt.Errorf("superstep: column %s: %w", p.Name, err)
			}
			return nil
		},
	}
}

// prefillBy sets what a column begins with to what a function returns.
func prefillBy[T any](ctx context.Context, g *Graph, p *engine.Prefilled, value func(id uint64) T) error {
	for partition, storage := range p.Storage {
		values := kernel.Elements[T](storage)
		if err := callFor(ctx, g, p.Program, p.Name, partition, 0, values, value); err != nil {
			return err
		}
	}
	return nil
}

// sendBlock is how many values of a function are made and sent at a time.
const sendBlock = 16 << 10

// sendBy has what a function returns for the vertices of a graph sent to where that is.
func sendBy[T any](g *Graph, program string, to *backend.Input, value func(id uint64) T) error {
	name := to.Column.Name
	t := reflect.TypeFor[T]()
	encoding, err := pack.NewValues(t, mem.PointerFreeType(t))
	if err != nil {
		return fmt.Errorf("superstep: column %s: %w", name, err)
	}
	to.Type = encoding.Type()
	to.Write = func(ctx context.Context, w io.Writer) error {
		values, block, partitions := make([]T, sendBlock), []byte(nil), len(g.g.Parts)
		for p := range min(partitions, g.g.N) {
			owned := (g.g.N - p + partitions - 1) / partitions
			for first := 0; first < owned; first += sendBlock {
				some := values[:min(sendBlock, owned-first)]
				if err := callFor(ctx, g, program, name, p, first, some, value); err != nil {
					return err
				}
				column := &kernel.Vec[T]{Data: some}
				if block, err = encoding.AppendBlock(block[:0], p, first, column); err != nil {
					return fmt.Errorf("superstep: column %s: %w", name, err)
				}
				if _, err := w.Write(block); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return nil
}

// callFor sets values, those of a partition's vertices from one on, to what a function returns for
// them.
func callFor[T any](ctx context.Context, g *Graph, program, column string, partition, first int, values []T, value func(id uint64) T) error {
	var label uint64 // that the function is called for
	err := bsp.Contain(program, &bsp.NoSuperstep, func() error {
		for i := range values {
			if i%1024 == 0 && ctx.Err() != nil {
				return context.Cause(ctx)
			}
			label = g.g.Label(pregel.VertexID(partition + (first+i)*len(g.g.Parts)))
			values[i] = value(label)
		}
		return nil
	})
	if failed := new(pregel.ProgramError); errors.As(err, &failed) {
		failed.Method, failed.Vertex, failed.Known = "the function of column "+column, label, true
	}
	return err
}

// prefill sets what a column begins with in a run in this process.
func prefill[T any](g *Graph, p *engine.Prefilled, result *Result[T]) error {
	from := result.graph
	if !from.refs.Acquire() {
		return fmt.Errorf("superstep: column %s: %w", p.Name, errClosed)
	}
	defer from.refs.Release()
	same := sameVertices(g, from)
	if !same && engine.Refers(p.Type()) {
		return fmt.Errorf("superstep: column %s: values of type %v may be vertices, and the result is of a graph with others", p.Name, p.Type())
	}
	for partition, storage := range p.Storage {
		values := kernel.Elements[T](storage)
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
func prefillAll(ctx context.Context, g *Graph, job prefilling, inputs []Input) error {
	given := map[string]bool{}
	for _, in := range inputs {
		if err := in.valid(given); err != nil {
			return err
		}
		p, err := job.Prefill(in.column.Name)
		if err != nil {
			return err
		}
		if p.Number != in.column.Number {
			return in.another()
		}
		if err := in.fill(ctx, g, p); err != nil {
			return err
		}
	}
	return nil
}

// valid reports what is wrong with an input by itself, or that its column is among those given, to
// which it is added.
func (in *Input) valid(given map[string]bool) error {
	switch {
	case in.wrong != nil:
		return in.wrong
	case in.fill == nil:
		return errors.New("superstep: Options.Columns: found an Input that neither superstep.From nor superstep.FromFile has made")
	case given[in.column.Name]:
		return fmt.Errorf("superstep: Options.Columns: column %s is given twice", in.column.Name)
	}
	given[in.column.Name] = true
	return nil
}

func (in *Input) another() error {
	return fmt.Errorf("superstep: column %s: the program lists another of that name",
		in.column.Name)
}
