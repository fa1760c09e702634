package worker

import (
	"context"
	"fmt"
	"slices"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/fill"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/load"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/wire"
)

// receiveSet reads a vertex set of a graph that the client has sent. The first worker reads it from
// the master, and every worker keeps all of it. name is a column, or set:FILE.
func (a *attempt) receiveSet(
	ctx context.Context, g *localGraph, name string,
) (_ graph.VertexSet, err error) {
	defer mem.Recover(&err)
	to := graph.SetReceiver{Graph: g.Graph}
	if err := a.readColumn(ctx, name, "", to.Take); err != nil {
		return nil, err
	}
	return to.Set()
}

// within makes the part of the job's own graph within the vertex set in a file, and closes the
// whole graph.
func (a *attempt) within(
	ctx context.Context, all *localGraph, file string, o graph.Options,
) (part *localGraph, err error) {
	defer all.Close()
	var set graph.VertexSet
	err = a.reading(ctx, func(ctx context.Context) (err error) {
		if set, err = a.receiveSet(ctx, all, graph.SetPrefix+file); err != nil {
			err = fmt.Errorf("within: %s: %w", file, err)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	g, d, err := all.directory.Part(ctx, a.group, forBuilding, set, o)
	if err != nil {
		return nil, err
	}
	part = newLocalGraph(g, d)
	part.skipped, part.notes = all.skipped, all.notes
	call := collective.Call{Tag: forBuilding, Bytes: 8}
	edges, err := collective.CombineOne(ctx, a.group, call, collective.SumUint64,
		uint64(all.Input().Edges.Len()))
	if err != nil {
		part.Close()
		return nil, err
	}
	if a.leads() {
		part.notes = append(slices.Clone(part.notes),
			load.WithinNote(file, g.N, all.N, g.Tuples, int(edges)))
	}
	return part, nil
}

// fillSet sets a column to 1 for the vertices of a set.
func (a *attempt) fillSet(ctx context.Context, to *engine.Prefilled, file string) error {
	c, err := fill.New(to, a.graph.Graph)
	if err != nil {
		return err
	}
	set, err := a.receiveSet(ctx, a.graph, to.Name)
	if err == nil {
		err = c.Fill(set)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// Bounds of the vertex sets in a program's parameters.
const (
	maxSources    = 1 << 20 // vertices of all sets
	bytesOfSource = 128     // about, of a vertex on each worker: its input ids, and as text
)

// setsIn returns the input ids of the vertices of the sets in the program's parameters, by file, in
// ascending order. Every worker gets all of them.
func (a *attempt) setsIn(ctx context.Context, known engine.Registered) (map[string][]uint64, error) {
	files := resolve.Sets(known.Parameters, a.spec.Parameters)
	if len(files) == 0 {
		return nil, nil
	}
	labels, sources := map[string][]uint64{}, 0
	return labels, a.reading(ctx, func(ctx context.Context) (err error) {
		defer mem.Recover(&err)
		for _, file := range files {
			own, of := []uint64(nil), 0
			set, err := a.receiveSet(ctx, a.graph, graph.SetPrefix+file)
			if err == nil {
				of = set.Len()
				if sources += of; sources > maxSources {
					return fmt.Errorf("%s: found %d vertices in sets of parameters, expected at most "+
						"%d on a cluster", file, sources, maxSources)
				}
				mem.Ask("vertex sets", bytesOfSource*int64(of))
				own, err = a.graph.Members(set)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			call := collective.Call{Tag: tagFacts, Bytes: 1 << 10}
			all, err := a.group.Allgather(ctx, call, wire.Bytes(own))
			if err != nil {
				return err
			}
			for _, some := range all {
				labels[file] = append(labels[file], wire.Slice[uint64](some)...)
			}
			slices.Sort(labels[file])
			if n := len(labels[file]); n < of && a.leads() {
				a.log(graph.Fewer(file, n, of))
			}
		}
		return nil
	})
}
