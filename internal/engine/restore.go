package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/engine/state"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// Restore sets the state from a checkpoint, between Begin and the first superstep. The first
// superstep is then the one after the checkpoint. The run that made the checkpoint may have had
// another number of partitions.
func (j *Job) Restore(ctx context.Context, from *checkpoint.Reader) error {
	now := checkpoint.Program{Name: j.name, Types: j.methods.savedTypes(j.options.Deterministic)}
	if differs := from.Program.Differs(&now); differs != "" {
		return fmt.Errorf("the checkpoint before superstep %d: %s", from.Superstep, differs)
	}
	if from.Graph.Vertices != uint64(j.graph.N) || from.Graph.Arcs != j.graph.Arcs {
		return fmt.Errorf("the checkpoint before superstep %d is of a graph of %d vertices and %d arcs: this one has %d and %d",
			from.Superstep, from.Graph.Vertices, from.Graph.Arcs, j.graph.N, j.graph.Arcs)
	}
	j.measured() // a later measurement would change the state
	held, err := j.readGraph(ctx, from)
	if err != nil {
		return err
	}
	restored := make([]*restoring, len(j.runners))
	for i, r := range j.runners {
		r.reset()
		r.watchMessages(ctx)
		clear(r.active)
		clear(r.finished)
		restored[i] = &restoring{runner: r, begins: from.Own() == 0}
	}
	take := func(p *checkpoint.Part) error {
		for _, r := range restored {
			if !r.owner().Wants(len(from.Parts), p.Partition) {
				continue
			}
			if err := r.take(p); err != nil {
				return fmt.Errorf("%s: part %s: %w", from.Store, from.Parts[p.Partition].Name, err)
			}
		}
		return nil
	}
	for _, p := range held {
		if err := take(p); err != nil {
			return err
		}
	}
	if held == nil {
		if err := from.Each(ctx, j.wanted(from), take); err != nil {
			return err
		}
	}
	j.standing = &bsp.Standing{Superstep: from.Superstep}
	for _, r := range restored {
		if !r.begins {
			if err := r.end(from.Superstep); err != nil {
				return fmt.Errorf("the checkpoint before superstep %d: %w", from.Superstep, err)
			}
		}
		r.stands(j.standing)
	}
	return nil
}

// readGraph restores the graph, if the run may change it, and returns the parts. Otherwise it
// returns nil.
func (j *Job) readGraph(
	ctx context.Context, from *checkpoint.Reader,
) (held []*checkpoint.Part, err error) {
	if !j.changes() {
		return nil, nil
	}
	err = from.Each(ctx, j.wanted(from), func(p *checkpoint.Part) error {
		held = append(held, p)
		return nil
	})
	if err == nil {
		err = j.restoreGraph(ctx, from.Own(), held)
	}
	if err != nil {
		return nil, fmt.Errorf("the checkpoint before superstep %d: %w", from.Superstep, err)
	}
	return held, nil
}

// wanted returns the parts that have data of this process's partitions. In a 2D grid, every part
// may have arcs of a changed graph.
func (j *Job) wanted(from *checkpoint.Reader) (parts []int) {
	for i := range from.Parts {
		if j.changes() && !j.runners[0].part.Grid.Flat() || slices.ContainsFunc(j.runners,
			func(r *runner) bool { return r.owner().Wants(len(from.Parts), i) }) {
			parts = append(parts, i)
		}
	}
	return parts
}

// resume prepares the current run, after Begin, to continue from a checkpoint.
func (j *Job) resume(ctx context.Context, from *checkpoint.Reader) error {
	if err := j.Restore(ctx, from); err != nil {
		return err
	}
	return j.driver.GoOn(from.Manifest, []*bsp.Facts{j.facts()})
}

// restoring restores the state of one partition from the parts of a checkpoint.
type restoring struct {
	*runner
	// begins means that the checkpoint is before the first superstep of a phase: values and
	// messages are in their initial state.
	begins bool
	lacks  bool // the checkpoint lacks messages of some senders, which must send again
}

// take takes the partition's data from a part.
func (r *restoring) take(p *checkpoint.Part) error {
	if err := r.owner().Check(p, r.changing.ids); err != nil {
		return err
	}
	if err := r.owner().Properties(p, r.edgesOf, r.column); err != nil || r.begins {
		return err
	}
	for _, s := range r.saving.state() {
		var err error
		data, _ := p.Section(s.section)
		switch {
		case s.Column == nil:
			err = r.owner().Bits(p, s.section, s.bits)
		case s.sent != nil:
			var missing bool
			missing, err = r.owner().Some(p, sectionSent+suffixes[s.sent.way], s.section, s.Column)
			r.lacks = r.lacks || missing
		default:
			err = r.owner().Vertices(p, data, s.Column)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.section, err)
		}
	}
	if err := r.takeSends(p); err != nil {
		return fmt.Errorf("messages to single vertices: %w", err)
	}
	if err := r.takeRequests(p); err != nil {
		return fmt.Errorf("changes of the graph: %w", err)
	}
	return nil
}

// owner selects the partition's data in the parts of a checkpoint.
func (r *partition) owner() state.Owner {
	return state.Owner{Index: r.part.Index, Deal: r.part.Deal}
}

// column returns a column of the program or, in a plan, of any phase. edges is its length if it is
// an edge column.
func (r *restoring) column(
	name string, ofEdges bool, d pregel.Direction, edges int,
) (kernel.Column, error) {
	for _, c := range r.job.methods.properties {
		if c.Name == name && c.OfEdges == ofEdges && (!ofEdges || d == r.job.direction) {
			return r.properties[c.Number], nil
		}
	}
	for _, c := range r.job.options.Shared.known {
		if c.Name == name && c.OfEdges == ofEdges {
			if !ofEdges {
				edges = r.part.Owned
			}
			return r.shared.columns.Get(c, d, edges).Column, nil
		}
	}
	return nil, fmt.Errorf("%w: the program has no such column", state.Err)
}

// end sends the messages again that the checkpoint lacks, and computes the counts.
func (r *restoring) end(superstep int) error {
	for _, c := range r.columns {
		c.write.Tighten()
	}
	if r.lacks {
		if err := r.sendAgain(superstep); err != nil {
			return fmt.Errorf("messages: %w", err)
		}
	}
	for w := range r.active {
		if r.active[w]&r.finished[w] != 0 {
			return fmt.Errorf("%w: a vertex that is finished and awake", state.Err)
		}
	}
	r.recount()
	p := &r.report
	p.Senders, p.SenderEdges, p.BackSenders, p.BackEdges = 0, 0, 0, 0
	for i, c := range r.columns {
		senders, edges := 0, 0
		for w, word := range c.write.Words[:len(r.active)] {
			senders += bitmap.Count([]uint64{word})
			edges += c.out.Sum(w, word)
		}
		p.Senders, p.SenderEdges = p.Senders+senders, p.SenderEdges+edges
		if i > 0 {
			p.BackSenders, p.BackEdges = senders, edges
		}
	}
	p.Sends = r.threads[0].Settle()
	r.check()
	return nil
}

// stands adds the partition's counts to s.
func (r *restoring) stands(s *bsp.Standing) {
	p, requests := &r.report, 0
	if q := r.threads[0].requests; q != nil {
		requests = len(q.List)
	}
	s.Vertices = r.changing.vertices
	s.Add(&bsp.Standing{Counts: p.Counts, Requests: requests, Print: r.saving.print()})
}
