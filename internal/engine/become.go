package engine

import (
	"context"
	"fmt"
	"math/bits"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/engine/change"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
)

// moveTo moves the runner to the changed partition.
func (r *runner) moveTo(ctx context.Context, to changedState) error {
	c, owned, changed := &r.changing, r.part.Owned, to.changed
	active, finished, inbox := r.active, r.finished, r.inbox
	words, own := bitmap.Words(owned), r.instance.Values().Part(0, owned)
	if inbox.Has != nil {
		inbox.Messages = inbox.Messages.Part(0, words<<6)
	}
	outBefore := 0
	if r.part.Grid.Flat() {
		outBefore = len(r.part.Out.Adj)
	}
	c.retired = append(c.retired, r.arena.Close)
	if before := r.shared.changed; before != nil {
		c.retired = append(c.retired, before.Close)
	}
	r.arena, r.shared.changed = r.job.newArena(), changed
	c.ids = to.ids
	if err := r.place(ctx, changed.Partition); err != nil {
		return err
	}
	if !r.command.Ended {
		if err := r.checkWeights(); err != nil {
			return err
		}
	}
	r.exchange.SetPartition(r.part)
	r.instance.Values().Copy(0, own, 0, owned)
	copy(r.active, active)
	copy(r.finished, finished[:words])
	if inbox.Has != nil {
		r.makeInbox()
		r.inbox.Messages.Copy(0, inbox.Messages, 0, words<<6)
		copy(r.inbox.Has.Words, inbox.Has.Words[:words])
		r.inbox.Has.Tighten()
	}
	r.shared.columns.Move(changed, outBefore)
	for _, p := range r.job.methods.properties {
		r.properties[p.Number] = r.shared.columns.Get(p, r.job.direction, 0).Column
	}
	r.setVertices(to.vertices, to.values, owned)
	if err := r.countAll(ctx, changed); err != nil {
		return err
	}
	for _, t := range r.threads {
		r.equip(t)
	}
	r.recount()
	r.report.Changed = &bsp.Changed{IDs: c.ids, Vertices: c.vertices, Edges: c.arcs}
	r.report.Changed.Ways = r.addTo(&r.report.Changed.Load, nil)
	return nil
}

// setVertices sets the values and states of removed and added vertices. owned is the number of
// owned vertices before the change.
func (r *runner) setVertices(vertices []change.Vertex, values kernel.Column, owned int) {
	c := &r.changing
	before := c.absent
	c.absent = make([]uint64, len(r.active))
	copy(c.absent, before)
	own := r.instance.Values()
	for v := owned; v < r.part.Owned; v++ {
		bitmap.Set(c.absent, uint32(v))
		own.SetZero(v)
	}
	set := func(local uint32, value int) {
		if value == change.NoValue {
			own.SetZero(int(local))
		} else {
			own.Copy(int(local), values, value, 1)
		}
	}
	gone := map[uint32]bool{}
	for _, to := range vertices {
		_, local := r.part.Deal.Of(uint32(to.ID))
		w, bit := local>>6, uint64(1)<<(local&63)
		if !to.Anew {
			set(local, to.Value)
			continue
		}
		gone[local] = true
		if r.inbox.Has != nil {
			r.inbox.Has.Words[w] &^= bit
		}
		r.finished[w] &^= bit
		for _, c := range r.shared.columns {
			if !c.OfEdges {
				c.SetZero(int(local))
			}
		}
		if to.Exists {
			set(local, to.Value)
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

// hideAbsent prevents vertices that do not exist from running.
func (r *runner) hideAbsent() {
	for w, absent := range r.changing.absent {
		r.active[w] &^= absent
		if !r.changing.create {
			r.finished[w] |= absent
		}
	}
}

// countAll counts the vertices and arcs of the whole graph.
func (r *runner) countAll(ctx context.Context, changed *graph.Changed) error {
	c := &r.changing
	received, err := r.exchange.Numbers(ctx, uint64(r.part.Owned-bitmap.Count(c.absent)),
		uint64(changed.Arcs))
	if err != nil {
		return fmt.Errorf("counting vertices and edges: %w", err)
	}
	c.vertices, c.arcs = 0, 0
	for _, counts := range received {
		c.vertices, c.arcs = c.vertices+counts[0], c.arcs+counts[1]
	}
	return nil
}

// recount counts the active and unfinished vertices again from their states.
func (r *runner) recount() {
	p := &r.report
	p.Active, p.Unfinished, p.UnfinishedEdges = bitmap.Count(r.active), r.part.Owned, r.inEdges
	for w := range r.active {
		finished := r.finished[w]
		p.Unfinished -= bits.OnesCount64(finished)
		for _, c := range r.columns {
			p.UnfinishedEdges -= c.in.Sum(w, finished)
		}
	}
}
