package superstep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"

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

// Input gives initial values to a column of a program. Make it with [From] or [FromFile].
type Input struct {
	column kernel.Property
	// result is set if the values are an earlier result. job and cluster are the job and the
	// cluster of that result; they are unset for a run in this process.
	result  bool
	job     string
	cluster any
	changed bool  // the job's program has changed the graph
	wrong   error // an error in the source
	fill    func(ctx context.Context, g *Graph, p *engine.Prefilled) error
	file    string
	// send sends the values to the graph's cluster. It is nil for a result, which is there already,
	// and for a file.
	send func(g *Graph, program string, to *backend.Input) error
}

// From gives initial values to a vertex column of a program, for [Options]. Init and Compute read
// them from superstep 0 on. The source is an earlier result,
//
//	superstep.From(rank, ranks)
//
// or a function of the vertex's input id. One goroutine calls it for each vertex when the run
// begins. If it panics, Run returns a *pregel.ProgramError:
//
//	superstep.From(population, func(id uint64) int64 { return inhabitants[id] })
//
// In one process the result may be of another graph: vertices are matched by their input ids, and
// vertices without a value begin with zero. If the values are VertexIDs, both graphs must have the
// same vertices. On a cluster the result must be of the same graph, and its values stay on the
// cluster. A function is always called in this process; its values are sent to the cluster.
func From[T any, S *Result[T] | func(id uint64) T](column pregel.VertexColumn[T], source S) Input {
	in := Input{column: kernel.Pregel.Property(column)}
	switch source := any(source).(type) {
	case *Result[T]:
		if source == nil || source.graph == nil {
			in.wrong = fmt.Errorf("superstep: column %s: found an empty Result, expected one from superstep.Run", in.column.Name)
			break
		}
		in.result, in.job, in.changed = true, source.job, source.changed
		if source.graph.elsewhere != nil {
			in.cluster = source.graph.elsewhere.Cluster()
		}
		in.fill = func(_ context.Context, g *Graph, p *engine.Prefilled) error {
			return prefill(g, p, source)
		}
	case func(id uint64) T:
		if source == nil {
			in.wrong = fmt.Errorf("superstep: column %s: the function is nil", in.column.Name)
		}
		in.fill = func(ctx context.Context, g *Graph, p *engine.Prefilled) error {
			return prefillBy(ctx, g, p, source)
		}
		in.send = func(g *Graph, program string, to *backend.Input) error {
			return sendBy(g, program, to, source)
		}
	}
	return in
}

// FromFile gives a column of a program initial values from a file, for [Options]. For a
// [pregel.VertexColumn] the file has lines "id value", as superstep run --output writes them. For a
// [pregel.EdgeColumn] it has lines "from to value". It may be compressed by gzip or zstd. The
// column's type must be a string, boolean, number, time.Duration or pregel.VertexID. If the file
// has more columns, FILE:N selects column N, where the ids are the first columns:
//
//	superstep.FromFile(capacity, "roads.txt:4") // of lines "from to weight capacity"
//
// In a file of LDBC Graphalytics, FILE.v or FILE.e, the column's name in FILE.properties may
// replace N. A vertex that is not in the file begins with zero. Every edge must be in the file, in
// an undirected graph in either direction. Lines for unknown vertices or edges, duplicate lines and
// invalid values are errors with file and line. If the graph's rule keeps the first of parallel
// edges, the value is that of the first line; under other rules parallel edges must have equal
// values. Columns of edges need a grid of Nx1 partitions. This process reads the file, and sends
// the values to a cluster.
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

// prefillBy sets the initial values of a column to the results of value.
func prefillBy[T any](
	ctx context.Context, g *Graph, p *engine.Prefilled, value func(id uint64) T,
) error {
	for partition, storage := range p.Storage {
		values := kernel.Elements[T](storage)
		if err := callFor(ctx, g, p.Program, p.Name, partition, 0, values, value); err != nil {
			return err
		}
	}
	return nil
}

// sendBlock is the number of a function's values that are computed and sent at a time.
const sendBlock = 16 << 10

// sendBy computes a function's values for the vertices of a graph, and sends them to the graph's
// cluster.
func sendBy[T any](g *Graph, program string, to *backend.Input, value func(id uint64) T) error {
	name, t := to.Column.Name, reflect.TypeFor[T]()
	encoding, err := pack.NewValues(t, mem.PointerFreeType(t))
	if err != nil {
		return fmt.Errorf("superstep: column %s: %w", name, err)
	}
	to.Type = encoding.Type()
	to.Write = func(ctx context.Context, w io.Writer) error {
		values, block := make([]T, sendBlock), []byte(nil)
		for p := range g.g.Parts {
			owned := g.g.Deal.Owned(g.g.N, p)
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

// callFor sets values to the function's results for a partition's vertices from first on.
func callFor[T any](
	ctx context.Context, g *Graph, program, column string, partition, first int, values []T,
	value func(id uint64) T,
) error {
	var label uint64 // the argument of the current call
	err := bsp.Contain(program, &bsp.NoSuperstep, func() error {
		for i := range values {
			if i%1024 == 0 && ctx.Err() != nil {
				return context.Cause(ctx)
			}
			label = g.g.Label(pregel.VertexID(g.g.Deal.ID(partition, uint32(first+i))))
			values[i] = value(label)
		}
		return nil
	})
	if failed := new(pregel.ProgramError); errors.As(err, &failed) {
		failed.Method, failed.Vertex, failed.Known = "the function of column "+column, label, true
	}
	return err
}

// prefill sets the initial values of a column, in a run in this process.
func prefill[T any](g *Graph, p *engine.Prefilled, result *Result[T]) error {
	from := result.graph
	if !from.refs.Acquire() {
		return fmt.Errorf("superstep: column %s: %w", p.Name, errClosed)
	}
	defer from.refs.Release()
	defer runtime.KeepAlive(result)
	same := sameVertices(g, from)
	if !same && engine.MayHaveVertices(p.Type()) {
		return fmt.Errorf("superstep: column %s: values of type %v may be vertices, and the result is of a graph with others", p.Name, p.Type())
	}
	for partition, storage := range p.Storage {
		values := kernel.Elements[T](storage)
		for i := range values {
			id := pregel.VertexID(g.g.Deal.ID(partition, uint32(i)))
			if same {
				values[i] = result.values[id]
			} else if other, ok := from.g.Find(g.g.Label(id)); ok {
				values[i] = result.values[other]
			}
		}
	}
	return nil
}

// sameVertices reports whether two graphs have the same vertices with the same VertexIDs.
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

// prefillAll sets the initial values of a job's columns, in this process.
func prefillAll(ctx context.Context, g *Graph, job *engine.Job, inputs []Input) error {
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

// valid returns an error if an input is invalid by itself, or if its column is already in given. It
// adds the column to given.
func (in *Input) valid(given map[string]bool) error {
	switch {
	case in.wrong != nil:
		return in.wrong
	case in.fill == nil:
		return errors.New("superstep: Options.Columns: From or FromFile did not make an Input")
	case given[in.column.Name]:
		return fmt.Errorf("superstep: Options.Columns: column %s is given twice", in.column.Name)
	}
	given[in.column.Name] = true
	return nil
}

func (in *Input) another() error {
	return fmt.Errorf("superstep: column %s: the program lists another column of that name",
		in.column.Name)
}
