package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/wire"
)

// Restore takes up the state of a checkpoint, between Begin and the first superstep, which is then the one that the checkpoint comes before. The
// run that made it may have had another number of partitions.
func (j *Job) Restore(ctx context.Context, from *checkpoint.Reader) error {
	now := checkpoint.Program{Name: j.name, Types: j.methods.keptTypes(j.options.Deterministic)}
	if differs := from.Program.Differs(&now); differs != "" {
		return fmt.Errorf("the checkpoint before superstep %d: %s", from.Superstep, differs)
	}
	if from.Graph.Vertices != uint64(j.graph.N) || from.Graph.Arcs != j.graph.Arcs {
		return fmt.Errorf("the checkpoint before superstep %d is of a graph of %d vertices and %d arcs: this one has %d and %d",
			from.Superstep, from.Graph.Vertices, from.Graph.Arcs, j.graph.N, j.graph.Arcs)
	}
	j.measured() // not later
	held, err := j.readGraph(ctx, from)
	if err != nil {
		return err
	}
	restored := make([]*restoring, len(j.runners))
	for i, r := range j.runners {
		r.reset()
		r.watchMessages(ctx)
		r.exchange.Forget()
		clear(r.active)
		clear(r.finished)
		restored[i] = &restoring{runner: r, begins: from.Own() == 0}
	}
	take := func(p *checkpoint.Part) error {
		for _, r := range restored {
			if !r.wants(len(from.Parts), p.Partition) {
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

// readGraph makes the graph what it was, if the run may change it, and returns the parts, else nil.
func (j *Job) readGraph(ctx context.Context, from *checkpoint.Reader) (held []*checkpoint.Part, err error) {
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

// wanted returns the parts that have something of the partitions here. In a grid that is not flat arcs of a changed graph lie anywhere.
func (j *Job) wanted(from *checkpoint.Reader) (parts []int) {
	for i := range from.Parts {
		if j.changes() && !j.runners[0].part.Grid.Flat() || slices.ContainsFunc(j.runners, func(r *runner) bool { return r.wants(len(from.Parts), i) }) {
			parts = append(parts, i)
		}
	}
	return parts
}

// goOn readies the run that Begin has begun to go on from a checkpoint.
func (j *Job) goOn(ctx context.Context, from *checkpoint.Reader) error {
	if err := j.Restore(ctx, from); err != nil {
		return err
	}
	return j.driver.GoOn(from.Manifest, []*bsp.Facts{j.facts()})
}

// restoring takes the state of one partition from the parts of a checkpoint.
type restoring struct {
	*runner
	// begins says that the checkpoint is before the first superstep of a phase: values and messages
	// are those of the beginning.
	begins bool
	lacks  bool // the messages of some senders, who are to send them again
}

// wants reports whether vertices of one of so many parts may be the partition's.
func (r *runner) wants(parts, part int) bool { return parts != r.part.Of || part == r.part.Index }

// eachOf calls f for every vertex of a part that is the partition's: there the k-th, here local.
func (r *runner) eachOf(p *checkpoint.Part, f func(k int, local uint32)) {
	if p.Of == r.part.Of && p.Partition == r.part.Index {
		for k := range p.Vertices {
			f(k, uint32(k))
		}
		return
	}
	of := uint64(r.part.Of)
	for k := range p.Vertices {
		id := uint64(k)*uint64(p.Of) + uint64(p.Partition)
		if id%of == uint64(r.part.Index) {
			f(k, uint32(id/of))
		}
	}
}

// take takes what a part has of the partition.
func (r *restoring) take(p *checkpoint.Part) error {
	if err := ownedBy(p, r.changing.ids); err != nil {
		return err
	}
	if err := r.takeProperties(p); err != nil {
		return err
	}
	if r.begins {
		return nil
	}
	for _, b := range r.bits() {
		if err := r.takeBits(p, b.section, b.words); err != nil {
			return err
		}
	}
	for _, s := range r.state() {
		if err := r.takeState(p, s); err != nil {
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

// takeState takes what a part has of a column of the state.
func (r *restoring) takeState(p *checkpoint.Part, to stored) error {
	data, ok := p.Section(to.section)
	if to.sent == nil {
		return r.takeVertices(p, data, to.Column)
	}
	sent, err := bitsOf(p, sectionSent+suffixes[to.sent.way])
	if err != nil {
		return err
	}
	ranks := bitmap.Rank(sent, nil)
	if !ok && ranks.Count() > 0 {
		r.lacks = true
		return nil
	}
	from, err := unpackColumn(to.Column, data, ranks.Count())
	if err != nil {
		return err
	}
	r.eachOf(p, func(k int, local uint32) {
		if bitmap.Get(sent, uint32(k)) {
			to.Copy(int(local), from, int(ranks.Of(uint32(k))), 1)
		}
	})
	return nil
}

// takeVertices copies values of a part's vertices, from a section, to the vertices that the
// partition owns.
func (r *restoring) takeVertices(p *checkpoint.Part, data []byte, to kernel.Column) error {
	from, err := unpackColumn(to, data, p.Vertices)
	if err != nil {
		return err
	}
	if p.Of == r.part.Of {
		to.Copy(0, from, 0, p.Vertices)
		return nil
	}
	r.eachOf(p, func(k int, local uint32) { to.Copy(int(local), from, k, 1) })
	return nil
}

// takeBits sets the bits of a part's vertices, from a section, for the vertices that the partition
// owns.
func (r *runner) takeBits(p *checkpoint.Part, section string, to []uint64) error {
	set, err := bitsOf(p, section)
	if err != nil {
		return err
	}
	r.eachOf(p, func(k int, local uint32) {
		if bitmap.Get(set, uint32(k)) {
			bitmap.Set(to, local)
		}
	})
	return nil
}

func bitsOf(p *checkpoint.Part, section string) ([]uint64, error) {
	data, ok := p.Section(section)
	if words := bitmap.Words(p.Vertices); !ok || len(data) != 8*words {
		return nil, fmt.Errorf("%w: section %s of %d bytes, expected %d", errState, section, len(data), 8*words)
	}
	set := wire.Slice[uint64](data)
	if last := p.Vertices & 63; last != 0 && set[len(set)-1]&^bitmap.Low(last) != 0 {
		return nil, fmt.Errorf("%w: section %s has bits beyond %d vertices", errState, section, p.Vertices)
	}
	return set, nil
}

// end has messages sent again that the checkpoint has not, and counts.
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
			return fmt.Errorf("%w: a vertex that is finished and awake", errState)
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

// stands adds where the partition stands.
func (r *restoring) stands(s *bsp.Standing) {
	p, requests := &r.report, 0
	if q := r.threads[0].requests; q != nil {
		requests = len(q.List)
	}
	s.Vertices = r.changing.vertices
	s.Add(&bsp.Standing{
		Active: p.Active, Unfinished: p.Unfinished, UnfinishedEdges: p.UnfinishedEdges, Senders: p.Senders, SenderEdges: p.SenderEdges,
		BackSenders: p.BackSenders, BackEdges: p.BackEdges, Sends: p.Sends, Requests: requests, Print: r.print(),
	})
}
