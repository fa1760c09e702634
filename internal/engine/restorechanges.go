package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine/state"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/wire"
	"github.com/superstep-go/superstep/pregel"
)

// changes reports whether the job's graph may differ from the loaded one.
func (j *Job) changes() bool { return j.methods.traits.Mutates || j.options.Shared.lasting }

// restoreGraph restores the graph as it was when the parts were saved. All changes since the graph
// was loaded are applied as one change, in which all partitions of all processes take part. The run
// then begins with that graph, as a phase of a plan begins with the graph after the earlier phases.
func (j *Job) restoreGraph(ctx context.Context, superstep int, parts []*checkpoint.Part) error {
	changed := 0
	for _, p := range parts {
		if _, ok := p.Section(sectionCounts); ok {
			changed++
		}
	}
	switch changed {
	case 0:
		return nil
	case len(parts):
	default:
		return fmt.Errorf("%w: only %d of %d parts have a changed graph", state.Err, changed,
			len(parts))
	}
	made := make([]graphRestoring, len(j.runners))
	for i, r := range j.runners {
		g := &made[i]
		if err := r.graphIn(g, parts); err != nil {
			return err
		}
		r.instead = func(ctx context.Context) (err error) {
			r.exchange.Begin(superstep)
			g.changed, err = r.part.Changed(ctx, g.Change, r.exchange.All)
			return err
		}
	}
	if err := j.together(ctx, superstep); err != nil {
		for _, g := range made {
			if g.changed != nil {
				g.changed.Close()
			}
		}
		return fmt.Errorf("changing the graph: %w", err)
	}
	for i, r := range j.runners {
		to, p := &made[i], r.shared
		to.changed.Partition.Absent = to.absent
		if p.changed != nil {
			p.changed.Close()
		}
		p.changed, p.counts, p.recount = to.changed, to.counts, false
	}
	j.options.Shared.generation++
	err := j.rebase()
	j.fresh = false
	return err
}

// together makes all partitions of this process run their function instead, in place of a
// superstep. The other processes do the same.
func (j *Job) together(ctx context.Context, superstep int) error {
	if ctx != j.running {
		defer afterFunc(ctx, j.halt)()
	}
	reports := j.step(&bsp.Command{Superstep: superstep})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return firstError(reports)
}

// graphRestoring describes the restored graph in one partition.
type graphRestoring struct {
	graph.Change
	counts  graphCounts
	absent  []uint64 // nil if all vertices exist
	changed *graph.Changed
}

// graphIn reads the partition's part of the restored graph from the parts.
func (r *runner) graphIn(to *graphRestoring, parts []*checkpoint.Part) error {
	first, _ := parts[0].Section(sectionCounts)
	loaded := uint64(r.job.graph.N)
	if len(first) != 24 {
		return fmt.Errorf("%w: %d bytes for the size of the graph", state.Err, len(first))
	}
	c, n := &to.counts, wire.Slice[uint64](first)
	c.ids, c.vertices, c.arcs = n[0], n[1], n[2]
	if c.ids < loaded || c.ids > graph.MaxVertices || c.vertices > c.ids {
		return fmt.Errorf("%w: %d vertices with ids up to %d, of a graph of %d", state.Err,
			c.vertices, c.ids, loaded)
	}
	to.Change = graph.Change{N: int(c.ids), AsStored: true, Team: r.team}
	absent := make([]uint64, bitmap.Words(r.part.Deal.Owned(int(c.ids), r.part.Index)))
	for _, p := range parts {
		if counts, _ := p.Section(sectionCounts); !slices.Equal(counts, first) {
			return fmt.Errorf("%w: parts of graphs of different sizes", state.Err)
		}
		if err := r.owner().Check(p, c.ids); err != nil {
			return err
		}
		removed, err := r.arcsOf(p, sectionRemoved, c.ids)
		if err != nil {
			return err
		}
		added, err := r.arcsOf(p, sectionAdded, c.ids)
		if err != nil {
			return err
		}
		to.Remove, to.Add = append(to.Remove, removed...), append(to.Add, added...)
		if err := r.owner().Bits(p, sectionAbsent, absent); err != nil {
			return err
		}
	}
	if bitmap.Count(absent) > 0 {
		to.absent = absent
	}
	return nil
}

// arcsOf returns the arcs of a section that lead out of the partition's vertices.
func (r *runner) arcsOf(
	p *checkpoint.Part, section string, ids uint64,
) (arcs []graph.Arc, err error) {
	data, _ := p.Section(section)
	var weights []float64
	if weighted := r.job.graph.Weights != edges.Unweighted; weighted && section == sectionAdded {
		section, _ := p.Section(sectionWeights)
		if len(section) != len(data) {
			return nil, fmt.Errorf(
				"%w: %d bytes of arcs and %d of weights", state.Err, len(data), len(section))
		}
		weights = wire.Slice[float64](section)
	}
	if len(data)%8 != 0 {
		return nil, fmt.Errorf("%w: %d bytes of arcs", state.Err, len(data))
	}
	for i, ends := range wire.Slice[[2]uint32](data) {
		a := graph.Arc{From: pregel.VertexID(ends[0]), To: pregel.VertexID(ends[1])}
		if uint64(a.From) >= ids || uint64(a.To) >= ids {
			return nil, fmt.Errorf("%w: an arc from %d to %d, of %d vertices", state.Err, a.From,
				a.To, ids)
		}
		if q, _ := r.part.Deal.Of(ends[0]); q != r.part.Index {
			continue
		}
		if weights != nil {
			a.Weight = weights[i]
		}
		arcs = append(arcs, a)
	}
	return arcs, nil
}

// takeRequests takes the requests of the partition's vertices. Requests of one vertex stay in
// order.
func (r *restoring) takeRequests(p *checkpoint.Part) error {
	data, ok := p.Section(sectionRequests)
	if !ok {
		return nil
	}
	to := r.threads[0].requests
	if to == nil {
		return fmt.Errorf("%w: requests to change the graph, but the program makes none", state.Err)
	}
	values := r.instance.Values().New(nil)
	list, _, err := r.changing.codec.Decode(data, nil, values,
		func(id uint64) bool { return id < to.Limit })
	if err != nil {
		return err
	}
	for _, q := range list {
		if by, _ := r.part.Deal.Of(uint32(q.By)); by != r.part.Index {
			continue
		}
		if q.To >= to.Limit {
			return fmt.Errorf("%w: a request about an edge to %d", state.Err, q.To)
		}
		if q.Kind == kernel.AddVertex {
			added := r.threads[0].AddedValues()
			added.AppendAt(values, []uint32{q.Value})
			q.Value = uint32(added.Len() - 1)
		}
		to.List = append(to.List, q)
	}
	return nil
}
