package engine

import (
	"encoding"
	"errors"
	"fmt"
	"math/bits"
	"reflect"
	"slices"
	"time"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/transport/pack"
	"github.com/superstep-go/superstep/internal/wire"
	"github.com/superstep-go/superstep/pregel"
)

// The sections of a part of a checkpoint (docs/design/checkpoints.md). Bits are words of 64 vertices; values lie by rising vertex, as in memory if
// they hold no pointers, else as packColumn has them.
const (
	sectionValues   = "values"
	sectionActive   = "active"   // bits
	sectionFinished = "finished" // bits
	sectionSent     = "sent"     // bits: who sent to all neighbours; see suffixes
	sectionMessages = "messages" // theirs, as the kernel's column has them; not those that Resend sends again
	sectionBest     = "best"     // of a monotone program: the best message that each vertex has had
	sectionTo       = "to"       // receivers of messages to single vertices
	sectionFrom     = "from"     // their senders, where the order counts
	sectionSends    = "sends"    // these messages
	sectionRows     = "rows "    // how many edges with properties each vertex has, 4 bytes each; with a direction and which lists of it
	sectionColumn   = "column "  // and its name: of vertices
	sectionEdges    = "edges "   // and the direction and its name: of edges

	// Of a program that changes the graph.
	sectionRequests = "requests" // what the last superstep asked for, as partitions send it to each other
	sectionCounts   = "counts"   // graphCounts; it and those below are there once the graph has changed
	sectionAbsent   = "absent"   // bits: vertices that are no more, or not yet
	sectionRemoved  = "removed"  // pairs of vertices, 4 bytes each, between which all arcs that were loaded are gone
	sectionAdded    = "added"    // those between which there are arcs
	sectionWeights  = "weights"  // of these, 8 bytes each
)

// suffixes tell the sections of the two columns of messages to all neighbours apart.
var suffixes = []string{"", " back"}

// Keeping is a program's own state, which changes while it runs: of Coordinate, say. Of a program without these methods nothing is
// kept but its parameters.
type Keeping interface {
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// Keepable returns why runs of a program have no checkpoints, or nil.
func (m *methods) Keepable() error {
	var errs []error
	for _, t := range []reflect.Type{m.program.Value, m.program.Message} {
		if !mem.PointerFreeType(t) {
			errs = append(errs, pack.Carried(t))
		}
	}
	for _, a := range m.aggregates {
		errs = append(errs, pack.Carried(a.Type))
	}
	for _, c := range m.properties {
		if !c.Raw() {
			errs = append(errs, pack.Carried(c.Type()))
		}
	}
	if m.plan != nil {
		phases, _ := m.plan.Phases()
		own := m.HasState()
		for _, p := range phases {
			errs = append(errs, p.Keepable())
			own = own || p.HasState()
		}
		if own { // that of a phase which has ended, and may come again, would have to be kept with that of the one under way
			errs = append(errs, errors.New("it has a plan of phases, and a program of it has a state of its own"))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%s: there are no checkpoints of it: %w", m.Name(), err)
	}
	return nil
}

func (m *methods) HasState() bool {
	_, ok := m.program.Program.(Keeping)
	return ok
}

// keptTypes are the program's types in words: what goes on from a checkpoint has the same.
func (m *methods) keptTypes(deterministic bool) []string {
	describe := func(t reflect.Type, raw bool) string { return pack.Describe(t, raw) }
	all := []string{
		"values of type " + describe(m.program.Value, mem.PointerFreeType(m.program.Value)),
		"messages of type " + describe(m.program.Message, mem.PointerFreeType(m.program.Message)),
		"direction " + m.traits.Direction.String(),
	}
	if !m.List {
		all = append(all, "combiner "+m.Combiner)
	} else {
		all = append(all, "all messages")
	}
	if deterministic {
		all = append(all, "a deterministic run")
	} else {
		all = append(all, "a run that is not deterministic")
	}
	if m.HasState() {
		all = append(all, "a state of its own")
	}
	var named []string
	for _, a := range m.aggregates {
		named = append(named, fmt.Sprintf("aggregator %s of type %s", a.Name, describe(a.Type, false)))
	}
	for _, c := range m.properties {
		of := "vertices"
		if c.OfEdges {
			of = "edges"
		}
		named = append(named, fmt.Sprintf("column %s of %s, of type %s", c.Name, of, describe(c.Type(), c.Raw())))
	}
	return append(all, named...)
}

// save copies the state of the partition as it is before a superstep, to be stored beside the run.
func (r *runner) save(c *bsp.Command) {
	began := time.Now()
	p := &checkpoint.Part{
		Partition: r.part.Index, Of: r.part.Of, Superstep: c.Save, Vertices: r.part.Owned, Print: r.print(),
	}
	err := r.saveShared(p)
	if err == nil && c.Superstep > 0 { // else a phase is to begin, by itself
		err = r.saveInto(p)
	}
	p.Copied = time.Since(began)
	if err != nil {
		r.job.options.Parts.Fail(p, err)
		return
	}
	r.job.options.Parts.Write(p)
}

// stored is a column of a partition's state, and the section that a part of a checkpoint has it in.
type stored struct {
	section string
	kernel.Column
	sent *column // of messages to all neighbours: whose senders have one
}

// state returns the columns that a superstep changes: of vertices, and of messages to all
// neighbours.
func (r *runner) state() []stored {
	all := []stored{{sectionValues, r.instance.Values(), nil}}
	for i, c := range r.columns {
		if k, ok := c.kernel.(kernel.Remembering); ok {
			if best := k.Best(); best != nil {
				all = append(all, stored{sectionBest + suffixes[i], best, nil})
			}
		}
		if c.kernel.Traits().Bytes > 0 {
			all = append(all, stored{sectionMessages + suffixes[i], c.kernel.Next(), c})
		}
	}
	return all
}

// bits returns the sections of a part that have a bit for each vertex, and where these are here.
func (r *runner) bits() []storedBits {
	all := []storedBits{{sectionActive, r.active}, {sectionFinished, r.finished}}
	for i, c := range r.columns {
		all = append(all, storedBits{sectionSent + suffixes[i], c.write.Words})
	}
	return all
}

type storedBits struct {
	section string
	words   []uint64
}

func (r *runner) saveInto(p *checkpoint.Part) error {
	owned, words := r.part.Owned, bitmap.Words(r.part.Owned)
	for _, b := range r.bits() {
		p.Add(b.section, slices.Clone(wire.Bytes(b.words[:words])))
	}
	for _, s := range r.state() {
		copied := s.New(nil)
		switch {
		case s.sent == nil:
			copied.Append(s.Part(0, owned))
		case r.job.methods.Has("Resend"): // they are sent again when a run goes on
			continue
		default:
			copied = s.sent.messages(owned)
		}
		if err := saveColumn(p, s.section, copied); err != nil {
			return err
		}
	}
	if err := r.saveSends(p); err != nil {
		return fmt.Errorf("messages to single vertices: %w", err)
	}
	return nil
}

// saveColumn adds a column, which nobody changes any more.
func saveColumn(p *checkpoint.Part, section string, c kernel.Column) error {
	data, err := packColumn(c)
	if err != nil {
		return fmt.Errorf("%s: %w", section, err)
	}
	p.Add(section, data)
	return nil
}

// messages copies the messages to all neighbours that are to be delivered.
func (c *column) messages(owned int) kernel.Column {
	from, senders := c.kernel.Next(), c.write.Words[:bitmap.Words(owned)]
	to := from.New(nil)
	to.Room(bitmap.Count(senders))
	to.AppendBits(from, 0, senders)
	return to
}

// saveShared adds what outlives a phase of a plan: the graph and the columns.
func (r *runner) saveShared(p *checkpoint.Part) error {
	if err := r.saveChanges(p); err != nil {
		return fmt.Errorf("changes of the graph: %w", err)
	}
	rows := map[pregel.Direction]bool{}
	for _, c := range r.shared.columns {
		section := sectionColumn + c.Name
		if c.OfEdges {
			section = fmt.Sprintf("%s%d %s", sectionEdges, c.direction, c.Name)
			if !rows[c.direction] {
				rows[c.direction] = true
				r.saveRows(p, c.direction)
			}
		}
		copied := c.New(nil)
		copied.Append(c.Column)
		if err := saveColumn(p, section, copied); err != nil {
			return err
		}
	}
	return nil
}

func rowsSection(d pregel.Direction, i int) string { return fmt.Sprintf("%s%d %d", sectionRows, d, i) }

// saveSends adds the messages to single vertices that are to be delivered.
func (r *runner) saveSends(p *checkpoint.Part) error {
	var to, from []uint64
	messages := r.instance.Messages()
	of := uint64(r.part.Of)
	for _, o := range r.outboxes {
		for q := range r.part.Of {
			for _, local := range o.Receivers(q) {
				to = append(to, uint64(local)*of+uint64(q))
			}
			from = append(from, o.Senders(q)...)
			messages.Append(o.Messages(q))
		}
	}
	if messages.Len() == 0 {
		return nil
	}
	p.Add(sectionTo, wire.Bytes(to))
	p.Add(sectionFrom, wire.Bytes(from))
	return saveColumn(p, sectionSends, messages)
}

// edgeRows are lists of edges with properties, whose values lie from offset on.
type edgeRows struct {
	*kernel.EdgeLists
	offset int
}

// rows are the lists of edges that have properties in phases of a direction, one after the other, as pregel.EdgeColumn counts their edges.
func (r *runner) rows(d pregel.Direction) []edgeRows {
	s := r.threads[0].State()
	out, in := s.Out[0], s.In[0]
	switch d {
	case pregel.Out:
		return []edgeRows{{out, 0}}
	case pregel.In:
		return []edgeRows{{in, 0}}
	}
	return []edgeRows{{out, 0}, {in, len(out.Adj)}}
}

func (r *runner) saveRows(p *checkpoint.Part, d pregel.Direction) {
	for i, l := range r.rows(d) {
		degrees := make([]uint32, r.part.Owned)
		for v := range degrees {
			lo, hi := l.Row(uint32(v))
			degrees[v] = hi - lo
		}
		p.Add(rowsSection(d, i), wire.Bytes(degrees))
	}
}

// print returns a sum over the owned vertices by which loaded graphs are told apart: of numbers, input ids and degrees.
func (r *runner) print() uint64 {
	if p := r.loaded; r.printed == 0 {
		for v := range uint32(p.Owned) {
			id := p.Global(v)
			x := uint64(id)*0x9e3779b97f4a7c15 ^ bits.RotateLeft64(r.label(id)*0xc2b2ae3d27d4eb4f, 31)
			x ^= (uint64(p.OutDegrees[v])<<32 | uint64(p.InDegrees[v])) * 0x165667b19e3779f9
			x = (x ^ x>>29) * 0xbf58476d1ce4e5b9
			r.printed += x ^ x>>32
		}
	}
	return r.printed
}
