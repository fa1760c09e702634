package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/fill"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/transport/pack"
)

// fills reports whether columns start with values that the job names. They do not if the run
// resumes from a checkpoint.
func (a *attempt) fills() bool {
	return a.from == nil && len(a.spec.Inputs)+len(a.spec.ColumnData) > 0
}

// errToldByFirst is the error of a step whose cause the first worker reports.
var errToldByFirst = errors.New("the first worker reports the cause")

// fill sets the initial values of columns. The first worker reads them from the master and sends
// them to all workers, which use the values of their own vertices.
func (a *attempt) fill(ctx context.Context) error {
	a.enter("fill")
	return a.reading(ctx, func(ctx context.Context) error {
		for _, name := range slices.Concat(slices.Sorted(maps.Keys(a.spec.Inputs)),
			slices.Sorted(maps.Keys(a.spec.ColumnData))) {
			if err := a.fillColumn(ctx, name); err != nil {
				return fmt.Errorf("column %s: %w", name, err)
			}
		}
		return nil
	})
}

// reading runs a step of all workers that reads data from the master. An error is that of the run,
// unless a worker or the master was lost.
func (a *attempt) reading(ctx context.Context, do func(context.Context) error) error {
	err := a.group.Together(ctx, tagFilling, do)
	var other *collective.RemoteError
	switch {
	case err == nil, ctx.Err() != nil, errors.Is(err, errMasterAway),
		lostPeer(a.options.Name, err) != "",
		lostPeer(a.options.Name, a.session.Err()) != "":
		return err
	case errors.As(err, &other) && other.Rank == 0: // it knows whether the job restarts
		return errToldByFirst
	}
	return ofRun(err)
}

func (a *attempt) fillColumn(ctx context.Context, name string) error {
	to, err := a.job.program.Prefill(name)
	if err != nil {
		return err
	}
	switch data := a.spec.ColumnData[name]; {
	case data == nil || data.File == "":
	case graph.IsSet(data.File):
		return a.fillSet(ctx, to, data.File)
	default:
		return a.fillLines(ctx, to, data.File, data.Named)
	}
	own, vertices := pack.NewBlocks(to.Storage), 0
	for _, column := range to.Storage {
		vertices += column.Len()
	}
	split := &pack.Splitter{Most: maxBlock, Each: func(partition uint32, block []byte) error {
		if int64(partition) >= int64(len(a.graph.Parts)) {
			return fmt.Errorf("values of partition %d of %d", partition, len(a.graph.Parts))
		}
		if a.graph.Parts[partition] == nil {
			return nil
		}
		_, err := own.Write(block)
		return err
	}}
	err = a.readColumn(ctx, name, typeOf(to.Property), func(data []byte) error {
		_, err := split.Write(data)
		return err
	})
	if err != nil {
		return err
	}
	return own.Whole(vertices)
}

// typeOf returns the type of a column's values, for ReadColumn.
func typeOf(c kernel.Property) string { return pack.Describe(c.Type(), c.Raw()) }

// readColumn passes the master's data of a column, or of a vertex set, to each, in non-empty pieces.
// The first worker reads the data and broadcasts it.
func (a *attempt) readColumn(
	ctx context.Context, name, values string, each func(data []byte) error,
) error {
	next := func() ([]byte, error) { return nil, nil }
	if a.leads() {
		master := a.options.master()
		if master == nil {
			return errMasterAway
		}
		stream, err := master.Workers.ReadColumn(ctx, &control.ReadColumnRequest{
			Job: a.task.job, Epoch: a.task.epoch, Column: name, Values: values,
		})
		if err != nil {
			return unread(err)
		}
		defer stream.Close()
		next = func() ([]byte, error) {
			for stream.Receive() {
				if data := stream.Msg().Data; len(data) > 0 {
					return data, nil
				}
			}
			return nil, unread(stream.Err())
		}
	}
	for {
		data, err := next()
		if err == nil {
			call := collective.Call{Tag: tagFill, Bytes: control.ChunkSize}
			data, err = a.group.Broadcast(ctx, call, 0, data)
		}
		if err != nil || len(data) == 0 {
			return err
		}
		if err := each(data); err != nil {
			return err
		}
	}
}

// unread converts an error of reading a column from the master. If the master cannot be reached, or
// cannot read the data now, the error is errMasterAway.
func unread(err error) error {
	var said *connect.Error
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &said) || !connect.IsWireError(err) ||
		said.Code() == connect.CodeCanceled:
		return fmt.Errorf("%w: %w", errMasterAway, err)
	case said.Code() == connect.CodeUnavailable:
		return awayError{fmt.Errorf("the master cannot read it now: %s", said.Message())}
	}
	return errors.New(said.Message())
}

// awayError counts as errMasterAway with another text: the master answers, but its store does not.
type awayError struct{ error }

func (awayError) Is(target error) bool { return target == errMasterAway }

// fillLines sets a column from the lines of a file. Each worker sets the values of its own
// vertices, and of edges with an end here. The error is that of the first faulty line, whichever
// worker finds it.
func (a *attempt) fillLines(
	ctx context.Context, of *engine.Prefilled, file string, named bool,
) error {
	to, err := fill.New(of, a.graph.Graph)
	if err != nil {
		return err
	}
	origin := a.spec.Source.Origin()
	if o := a.graph.offer; o != nil {
		origin = o.Load.Source().Origin()
	}
	err = a.readColumn(ctx, of.Name, typeOf(of.Property), func(text []byte) error {
		var lines []graphio.Value
		var wrong error // the fault of the line after these
		for line := range bytes.Lines(text) {
			v, err := fill.ParseLine(bytes.TrimSuffix(line, []byte{'\n'}), of.OfEdges)
			if err != nil {
				return err
			}
			if named && a.graph.directory.Names == nil {
				if v.ID, err = strconv.ParseUint(string(v.Names[0]), 10, 64); err != nil {
					wrong = v.Fault(file, fmt.Sprintf("vertex %.80q", v.Names[0]),
						"a whole number: "+origin+" has no names")
					break
				}
			}
			lines = append(lines, v)
		}
		in, err := a.verticesOf(ctx, to, lines, named && a.graph.directory.Names != nil)
		if err != nil {
			return err
		}
		good := 0
		for ; good < len(lines); good++ {
			v := &lines[good]
			if found, expected := to.Line(v, in, origin); found != "" {
				wrong = v.Fault(file, found, expected)
				break
			}
		}
		return a.firstFault(ctx, good, wrong)
	})
	if err != nil {
		return err
	}
	var missing error
	if found, expected := to.Missing(); found != "" {
		missing = graphio.LineError(file, 0, found, expected)
	}
	return a.firstFault(ctx, 0, missing)
}

// firstFault compares the workers' first faulty lines. It returns wrong on the worker with the
// lowest line, and with the lowest rank among equals. The other workers wait for ctx to end. wrong
// is nil on a worker without a faulty line.
func (a *attempt) firstFault(ctx context.Context, line int, wrong error) error {
	own := uint64(math.MaxUint64)
	if size := a.group.Link().Size(); wrong != nil {
		own = uint64(line*size + a.group.Link().Rank())
	}
	call := collective.Call{Tag: tagFacts, Bytes: 8}
	first, err := collective.CombineOne(ctx, a.group, call, collective.MinUint64, own)
	switch {
	case err != nil || first == math.MaxUint64:
		return err
	case first == own:
		return wrong
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

// verticesOf finds the vertices in lines of a column.
func (a *attempt) verticesOf(
	ctx context.Context, of *fill.Column, lines []graphio.Value, named bool,
) (in fill.Vertices, err error) {
	if named {
		var names []string
		for i := range lines {
			names = of.Names(names, &lines[i])
		}
		if in.Name, err = a.findNames(ctx, names); err != nil {
			return in, err
		}
	}
	var labels []uint64
	for i := range lines {
		labels = of.Labels(labels, &lines[i], in)
	}
	in.Find, err = a.findVertices(ctx, labels)
	return in, err
}
