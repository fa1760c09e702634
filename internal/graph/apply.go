package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/pregel"
)

// Apply returns a graph with a delta applied. All partitions must be in this process. g does not
// change. If shares is true, the two graphs share memory, so the new one must be closed before g.
func (g *Graph) Apply(
	ctx context.Context, d pregel.Delta, team *parallel.Team,
) (next *Graph, shares bool, err error) {
	defer mem.Recover(&err)
	if g.Order == nil || slices.Contains(g.Parts, nil) {
		return nil, false, errors.New("a delta needs the whole graph in one process")
	}
	a := &applier{g: g, changes: make([]Change, len(g.Parts)), removed: make([]uint64,
		bitmap.Words(g.N))}
	if err := a.remove(d); err != nil {
		return nil, false, err
	}
	if err := a.add(d); err != nil {
		return nil, false, err
	}
	for i := range a.changes {
		a.changes[i].N = g.N + len(a.labels)
	}
	if total := uint64(g.N) + uint64(len(a.labels)); total > MaxVertices {
		return nil, false, TooManyVertices(total)
	}
	if len(g.Parts) == 1 {
		a.changes[0].Team = team
	}
	parts, err := g.changeAll(ctx, a.changes)
	if err != nil {
		return nil, false, err
	}
	shares = len(a.labels) == 0 // the maps belong to g
	for _, c := range parts {
		a.setAbsent(c.Partition)
		shares = shares ||
			c.Partition.along.Pull.ByReceiver == g.Parts[c.Partition.Index].along.Pull.ByReceiver
	}
	next = assemble(g, parts)
	next.added = nil
	next.label(a.labels)
	return next, shares, nil
}

// applier converts a delta to changes of partitions.
type applier struct {
	g       *Graph
	changes []Change
	removed []uint64 // removed vertices, by id
	back    []uint64 // absent vertices that are added again, by id
	labels  []uint64 // input ids of new vertices, ascending
}

func (a *applier) arc(l *[]Arc, u, v pregel.VertexID, w float64) { *l = append(*l, Arc{u, v, w}) }

// of returns the change of the partition that owns an arc's source. The source of an undirected
// edge is its end with the smaller id, which preserves the order of edges.
func (a *applier) of(u, v *pregel.VertexID) *Change {
	if !a.g.Directed && *v < *u {
		*u, *v = *v, *u
	}
	q, _ := a.g.Deal.Of(uint32(*u))
	return &a.changes[q]
}

// remove removes the delta's vertices and edges.
func (a *applier) remove(d pregel.Delta) error {
	for _, label := range d.RemoveVertices {
		id, ok := a.g.Find(label)
		if !ok {
			return fmt.Errorf("RemoveVertices: there is no vertex %d", label)
		}
		bitmap.Set(a.removed, uint32(id))
	}
	for _, e := range d.RemoveEdges {
		u, okU := a.g.Find(e.From)
		v, okV := a.g.Find(e.To)
		if !okU || !okV {
			missing := e.From
			if okU {
				missing = e.To
			}
			return fmt.Errorf("RemoveEdges: an edge from %d to %d: there is no vertex %d", e.From,
				e.To, missing)
		}
		c := a.of(&u, &v)
		a.arc(&c.Remove, u, v, 0)
	}
	if len(d.RemoveVertices) == 0 {
		return nil
	}
	for _, p := range a.g.Parts {
		l := p.along.Pull.ByReceiver
		bitmap.Each(l.Bits, func(slot uint32) {
			to := p.slots.ID(slot)
			gone := bitmap.Get(a.removed, uint32(to))
			lo, hi := l.Row(slot)
			for _, s := range l.Adj[lo:hi] {
				if from := p.slots.ID(s); (gone || bitmap.Get(a.removed, uint32(from))) &&
					(a.g.Directed || from <= to) {
					u, v := pregel.VertexID(from), pregel.VertexID(to)
					c := a.of(&u, &v)
					a.arc(&c.Remove, u, v, 0)
				}
			}
		})
	}
	return nil
}

// add adds the delta's vertices and edges.
func (a *applier) add(d pregel.Delta) error {
	unknown := func(label uint64) {
		if id, ok := a.g.find(label); !ok {
			a.labels = append(a.labels, label)
		} else if a.g.Absent(id) || bitmap.Get(a.removed, uint32(id)) {
			a.back = append(a.back, uint64(id))
		}
	}
	for _, label := range d.AddVertices {
		unknown(label)
	}
	for _, e := range d.AddEdges {
		if w := a.g.Weigh(e.Weight); w-w != 0 {
			return fmt.Errorf("AddEdges: the edge from %d to %d has weight %v, want a finite number", e.From, e.To, e.Weight)
		}
		unknown(e.From)
		unknown(e.To)
	}
	slices.Sort(a.labels)
	a.labels = slices.Compact(a.labels)
	find := func(label uint64) pregel.VertexID {
		if id, ok := a.g.find(label); ok {
			return id
		}
		i, _ := slices.BinarySearch(a.labels, label)
		return pregel.VertexID(a.g.N + i)
	}
	for _, e := range d.AddEdges {
		u, v := find(e.From), find(e.To)
		c := a.of(&u, &v)
		a.arc(&c.Add, u, v, e.Weight)
	}
	return nil
}

// setAbsent sets the absent vertices of a new partition.
func (a *applier) setAbsent(p *Partition) {
	absent := p.Absent
	if absent == nil {
		absent = make([]uint64, p.Words())
	}
	bitmap.Each(a.removed, func(id uint32) {
		if q, local := p.Deal.Of(id); q == p.Index {
			bitmap.Set(absent, local)
		}
	})
	for _, id := range a.back {
		if q, local := p.Deal.Of(uint32(id)); q == p.Index {
			absent[local>>6] &^= 1 << (local & 63)
		}
	}
	p.Absent = nil
	if bitmap.Count(absent) > 0 {
		p.Absent = absent
	}
}

// label sets the input ids of the new vertices, which have the last ids. labels is ascending.
func (g *Graph) label(labels []uint64) {
	if len(labels) == 0 {
		return
	}
	loaded := len(g.Order)
	order, ids, all := mem.Make[uint32](g.arena, g.N), mem.Make[uint32](g.arena, g.N),
		make([]uint64, 0, g.N)
	for i, k := 0, 0; i+k < g.N; {
		id := uint32(loaded + k)
		if k == len(labels) || i < loaded && g.Labels.Of(uint64(i)) < labels[k] {
			all = append(all, g.Labels.Of(uint64(i)))
			id = g.IDs[i]
			i++
		} else {
			all = append(all, labels[k])
			k++
		}
		order[id], ids[len(all)-1] = uint32(len(all)-1), id
	}
	g.Order, g.IDs, g.Labels = order, ids, edges.NewLabels(all)
	if all[g.N-1]-all[0] == uint64(g.N-1) {
		g.Labels = edges.Consecutive(all[0])
	}
}
