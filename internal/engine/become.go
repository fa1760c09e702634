package engine

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// become moves the runner to the changed partition.
func (r *runner) become(ctx context.Context, changed *graph.Changed, ids uint64, vertices []vertexChange, values kernel.Column) error {
	c, owned := &r.changing, r.part.Owned
	active, finished, inbox := r.active, r.finished, r.inbox
	words, own := bitmap.Words(owned), r.instance.Values().Part(0, owned)
	if inbox.Has != nil {
		inbox.Messages = inbox.Messages.Part(0, words<<6)
	}
	outBefore := 0
	if r.part.Grid.Flat() {
		outBefore = len(r.part.Out.Adj)
	}
	r.leave()
	r.arena, c.changed = r.job.newArena(), changed
	c.ids = ids
	if err := r.place(ctx, changed.Partition); err != nil {
		return err
	}
	r.exchange.Become(r.part)
	r.instance.Values().Copy(0, own, 0, owned)
	copy(r.active, active)
	copy(r.finished, finished[:words])
	if inbox.Has != nil {
		r.makeInbox()
		r.inbox.Messages.Copy(0, inbox.Messages, 0, words<<6)
		copy(r.inbox.Has.Words, inbox.Has.Words[:words])
		r.inbox.Has.Tighten()
	}
	r.moveProperties(changed, outBefore)
	r.setVertices(vertices, values, owned)
	if err := r.countAll(ctx, changed); err != nil {
		return err
	}
	for _, t := range r.threads {
		r.equip(t)
	}
	r.recount()
	l, ways := r.changedLoads()
	r.report.Changed = &bsp.Changed{IDs: c.ids, Vertices: c.vertices, Edges: c.arcs, Load: l, Ways: ways}
	return nil
}

// setVertices makes the vertices of which some did not exist before, owned being how many did, what they are from now on.
func (r *runner) setVertices(vertices []vertexChange, values kernel.Column, owned int) {
	c := &r.changing
	before := c.absent
	c.absent = make([]uint64, len(r.active))
	copy(c.absent, before)
	for v := owned; v < r.part.Owned; v++ {
		bitmap.Set(c.absent, uint32(v))
	}
	own := r.instance.Values()
	set := func(local uint32, value int) {
		if value == noValue {
			own.SetZero(int(local))
		} else {
			own.Copy(int(local), values, value, 1)
		}
	}
	gone := map[uint32]bool{}
	for _, to := range vertices {
		local := uint32(uint64(to.id) / uint64(r.part.Of))
		w, bit := local>>6, uint64(1)<<(local&63)
		if !to.anew {
			set(local, to.value)
			continue
		}
		gone[local] = true
		if r.inbox.Has != nil {
			r.inbox.Has.Words[w] &^= bit
		}
		r.finished[w] &^= bit
		r.shared.clearVertex(local)
		if to.exists {
			set(local, to.value)
			c.absent[w] &^= bit
			r.active[w] |= bit
			continue
		}
		own.SetZero(int(local))
		c.absent[w] |= bit
		r.active[w] &^= bit
	}
	if len(gone) > 0 {
		r.instance.Drop(func(to uint32) bool { return gone[to] })
	}
	if bitmap.Count(c.absent) == 0 {
		c.absent = nil
	}
	r.hideAbsent()
}

// beginAbsent has vertices that the graph does not have any more take no part in a run.
func (r *runner) beginAbsent() {
	if r.changing.absent = slices.Clone(r.part.Absent); r.changing.absent != nil {
		r.hideAbsent()
		r.recount()
	}
}

// hideAbsent keeps vertices that do not exist from running.
func (r *runner) hideAbsent() {
	for w, absent := range r.changing.absent {
		r.active[w] &^= absent
		if !r.changing.create {
			r.finished[w] |= absent
		}
	}
}

// created notes that vertices of word w run, and returns how many of them did not exist: they do now.
func (r *runner) created(w int, run uint64) int {
	a := r.changing.absent
	if a == nil {
		return 0
	}
	n := bits.OnesCount64(a[w] & run)
	a[w] &^= run
	return n
}

// moveProperties carries the property columns over to the changed lists, those of other phases too; so many arcs in the out-lists were
// there before.
func (r *runner) moveProperties(changed *graph.Changed, outBefore int) {
	for _, c := range r.shared.columns {
		if places := places(c.direction, changed, outBefore); c.OfEdges && places != nil {
			c.Column = c.Move(places)
		} else if !c.OfEdges {
			c.AppendZero(r.part.Owned - c.Len())
		}
	}
	for _, p := range r.job.methods.properties {
		r.properties[p.Number] = r.shared.column(p, r.job.direction, 0).Column
	}
}

// places returns, for each arc that edge columns of a direction hold properties of, where it was before the change; nil if no arc has moved.
func places(d pregel.Direction, changed *graph.Changed, outBefore int) []uint32 {
	out, in := changed.OutFrom, changed.InFrom
	switch {
	case d == pregel.In:
		return in
	case d == pregel.Out:
		return out
	case out == nil && in == nil:
		return nil
	}
	// Of both directions, one after the other: see edgeLists.
	places := make([]uint32, 0, len(changed.Partition.Out.Adj)+len(changed.Partition.In.Adj))
	list := func(from []uint32, n, offset int) {
		for i := range n {
			at := uint32(i)
			if from != nil {
				at = from[i]
			}
			if at != graph.NewPlace {
				at += uint32(offset)
			}
			places = append(places, at)
		}
	}
	list(out, len(changed.Partition.Out.Adj), 0)
	list(in, len(changed.Partition.In.Adj), outBefore)
	return places
}

// countAll adds up how many vertices and arcs the whole graph has.
func (r *runner) countAll(ctx context.Context, changed *graph.Changed) error {
	c := &r.changing
	vertices, arcs := uint64(r.part.Owned-bitmap.Count(c.absent)), uint64(changed.Arcs)
	data := make([][]byte, r.part.Of)
	for q := range data {
		data[q] = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, vertices), arcs)
	}
	came, err := r.exchange.All(ctx, data)
	if err != nil {
		return err
	}
	for q, b := range came {
		if q == r.part.Index {
			continue
		}
		if len(b) != 16 {
			return fmt.Errorf("%w: counts of %d bytes from partition %d", errRequests, len(b), q)
		}
		vertices += binary.LittleEndian.Uint64(b)
		arcs += binary.LittleEndian.Uint64(b[8:])
	}
	c.vertices, c.arcs = vertices, arcs
	return nil
}

// recount counts the vertices anew, by their states.
func (r *runner) recount() {
	p := &r.report
	p.Active, p.Unfinished, p.UnfinishedEdges = bitmap.Count(r.active), r.part.Owned, r.inEdges
	for w := range r.active {
		finished := r.finished[w]
		p.Unfinished -= bits.OnesCount64(finished)
		p.UnfinishedEdges -= r.in.Sum(w, finished)
		if r.back != nil {
			p.UnfinishedEdges -= r.out.Sum(w, finished)
		}
	}
}
