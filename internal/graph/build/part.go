package build

import (
	"context"
	"encoding"
	"errors"
	"hash/fnv"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/names"
	"github.com/superstep-go/superstep/pregel"
)

// Number computes the fingerprint of the graph's numbering and records it in the graph. It is that
// of the same graph in one process. All ranks call it at the same time, with the same tag, of which
// it uses Tags.
func (d *Directory) Number(ctx context.Context, group *collective.Group, tag uint32) error {
	return group.Together(ctx, tag, func(ctx context.Context) error {
		call := collective.Call{Tag: tag + 1, Bytes: 16}
		sum, err := collective.CombineOne(ctx, group, call, collective.SumUint64,
			d.graph.FingerprintHere())
		if err == nil && d.Names != nil {
			var ofNames uint64
			ofNames, err = d.Names.hash(ctx, group, call)
			sum += ofNames
		}
		if err == nil {
			d.graph.Numbered(max(sum, 1))
		}
		return err
	})
}

// hash returns a hash of all names: each rank continues the hash of the ranks before it.
func (x *Names) hash(
	ctx context.Context, group *collective.Group, call collective.Call,
) (uint64, error) {
	all := fnv.New64a()
	for rank := range group.Link().Size() {
		var state []byte
		if rank == x.rank {
			for c := x.own.Cursor(0, uint64(x.own.Len())); c.Next(); {
				_, _ = all.Write(append(c.Name(), 0))
			}
			state, _ = all.(encoding.BinaryMarshaler).MarshalBinary() // never fails
		}
		state, err := group.Broadcast(ctx, call, rank, state)
		if err == nil {
			err = all.(encoding.BinaryUnmarshaler).UnmarshalBinary(state)
		}
		if err != nil {
			return 0, err
		}
	}
	return all.Sum64(), nil
}

// Part makes the graph of the edges between the vertices of a set, as graph.Graph.Within does in
// one process, and its directory. The graph of d has recorded its numbering by Number, and stays
// open. All ranks call Part at the same time, with the same set and tag, and with options as for
// Graph: these can only drop edges.
func (d *Directory) Part(
	ctx context.Context, group *collective.Group, tag uint32, set graph.VertexSet, o graph.Options,
) (*graph.Graph, *Directory, error) {
	p := &parting{Directory: d, group: group, set: set}
	p.call = collective.Call{Tag: tag + 1, Bytes: askedAtOnce}
	err := group.Together(ctx, tag, func(ctx context.Context) (err error) {
		defer mem.Recover(&err)
		if err = d.graph.Has(set); err == nil {
			err = p.within(ctx)
		}
		return err
	})
	if err != nil {
		p.in.Close()
		return nil, nil, err
	}
	was := d.graph.Options
	o.Grid, o.Partitions, o.Weights = was.Grid, was.Partitions, d.graph.Weights
	g, own, err := Graph(ctx, group, tag, &p.in, d.ranks, o)
	if err != nil {
		return nil, nil, err
	}
	err = group.Together(ctx, tag, func(ctx context.Context) (err error) {
		defer mem.Recover(&err)
		return p.number(ctx, g, own)
	})
	if err != nil {
		g.Close()
		own.Close()
		return nil, nil, err
	}
	return g, own, nil
}

// parting makes the input of a part, and then finds the numbers of its vertices in the whole graph.
type parting struct {
	*Directory
	group *collective.Group
	call  collective.Call
	set   graph.VertexSet
	in    edges.RankInput
	last  uint64   // the largest input id of this rank's vertices
	kept  []uint64 // of a graph with names: the vertices of the set with names of this rank's range
}

var errOther = errors.New("the edges of a graph in memory have other vertices than the graph")

// within makes the rank's part of the input.
func (p *parting) within(ctx context.Context) error {
	list, ends, err := p.graph.EdgesWithin(ctx, p.set)
	if err != nil {
		return err
	}
	p.in.Input = edges.Input{Name: p.graph.Name, Directed: p.graph.Directed, Free: list.Close}
	labels, err := p.Labels(ctx, p.group, p.call, ends)
	if err != nil {
		return err
	}
	for _, part := range p.graph.Parts {
		for v := 0; part != nil && v < part.Owned; v++ {
			id := part.Global(uint32(v))
			label := p.graph.Label(id)
			if p.last = max(p.last, label); p.set.Contains(id) {
				p.in.IDs = append(p.in.IDs, label)
			}
		}
	}
	if p.Names != nil {
		for _, all := range [][]uint64{p.in.IDs, labels} {
			for _, label := range all {
				if label >= p.Names.Len() {
					return graph.Unnamed(label)
				}
			}
		}
		p.in.IDs = nil
		labels, err = p.rename(ctx, labels)
	} else {
		for _, all := range [][]uint64{p.in.IDs, labels} {
			for _, label := range all {
				p.in.Largest = max(p.in.Largest, label)
			}
		}
		p.in.Naming = edges.Listed
		p.in.Undeclared = func(context.Context, int, uint64) error { return errOther }
		p.in.Repeated = p.in.Undeclared
	}
	p.in.Edges = edges.Labelled(list, edges.NewLabels(labels))
	return err
}

// rename keeps the names of the set's vertices in this rank's range. It returns the positions, among
// the names that are left, of the names of vertices in the set: the input ids of the part.
func (p *parting) rename(ctx context.Context, labels []uint64) ([]uint64, error) {
	own, first := p.Names.Share()
	all, at := make([]uint64, own.Len()), make([]uint64, own.Len())
	for i := range all {
		all[i] = first + uint64(i)
	}
	ids, err := p.find(ctx, all)
	if err != nil {
		return nil, err
	}
	var left names.Builder
	for i, id := range ids {
		if at[i] = uint64(len(p.kept)); p.set.Contains(pregel.VertexID(id)) {
			if err := left.Add(own.Append(nil, uint64(i))); err != nil {
				return nil, err
			}
			p.kept = append(p.kept, id)
		}
	}
	p.in.Names = left.Dictionary()
	start, n := uint64(0), len(p.kept)
	counts, err := collective.Gather(ctx, p.group, p.call, &n)
	if err != nil {
		return nil, err
	}
	for rank, n := range counts {
		if p.in.Vertices += n; rank < p.rank {
			start += uint64(n)
		}
	}
	return askNumbers(ctx, p.group, p.call, labels, p.Names.Owner,
		func(label uint64) uint64 { return start + at[label-first] })
}

// find returns the vertices with input ids.
func (p *parting) find(ctx context.Context, labels []uint64) ([]uint64, error) {
	return askNumbers(ctx, p.group, p.call, labels, p.owner, func(label uint64) uint64 {
		id, _ := p.Local(label)
		return uint64(id)
	})
}

// number records the numbers in the whole graph of the vertices of a part.
func (p *parting) number(ctx context.Context, g *graph.Graph, part *Directory) error {
	last, err := collective.CombineOne(ctx, p.group, p.call, collective.MaxUint64, p.last)
	if err != nil {
		return err
	}
	var labels []uint64
	for _, q := range g.Parts {
		for v := 0; q != nil && v < q.Owned; v++ {
			labels = append(labels, g.Label(q.Global(uint32(v))))
		}
	}
	var numbers []uint64
	if p.Names == nil {
		numbers, err = p.find(ctx, labels)
	} else {
		numbers, err = askNumbers(ctx, p.group, p.call, labels, part.Names.Owner,
			func(position uint64) uint64 { return p.kept[position-part.Names.starts[p.rank]] })
	}
	if err != nil {
		return err
	}
	for _, number := range numbers {
		if number >= uint64(p.graph.N) {
			return errOther
		}
	}
	i := 0
	g.PartHere(p.graph, last, func(uint64) pregel.VertexID { // in the order of labels
		i++
		return pregel.VertexID(numbers[i-1])
	})
	return nil
}
