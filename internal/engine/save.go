package engine

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/engine/state"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/transport/pack"
	"github.com/superstep-go/superstep/internal/wire"
)

// The sections of a part of a checkpoint (docs/design/checkpoints.md). Bits are words of 64
// vertices. Values are in ascending order of vertices, as in memory if they contain no pointers,
// else in the format of state.Pack. Package state has the sections of property columns.
const (
	sectionValues   = "values"
	sectionActive   = "active"   // bits
	sectionFinished = "finished" // bits
	sectionSent     = "sent"     // bits: which vertices sent to all neighbours; see suffixes
	// their messages, in the order of vertices; omitted if the program has Resend
	sectionMessages = "messages"
	sectionBest     = "best"  // in a monotone program, the best message so far of each vertex
	sectionTo       = "to"    // receivers of messages to single vertices
	sectionFrom     = "from"  // senders of these messages, if the order matters
	sectionSends    = "sends" // these messages

	// Of a program that changes the graph:
	// requests of the last superstep, encoded as between partitions
	sectionRequests = "requests"
	// graphCounts; this section and the following exist if the graph has changed
	sectionCounts = "counts"
	sectionAbsent = "absent" // bits: ids without a vertex
	// pairs of vertices, 4 bytes each: all loaded arcs between them are removed
	sectionRemoved = "removed"
	sectionAdded   = "added"   // pairs of vertices with added arcs
	sectionWeights = "weights" // weights of the added arcs, 8 bytes each
)

// suffixes distinguish the sections of the two columns of messages to all neighbours.
var suffixes = []string{"", " back"}

// Keeping is implemented by a program with its own state, for example one that Coordinate changes.
// For other programs only the parameters are saved.
type Keeping interface {
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// Checkpointable returns the reason why runs of the program cannot have checkpoints, or nil.
func (m *Program) Checkpointable() error {
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
			errs = append(errs, p.Checkpointable())
			own = own || p.HasState()
		}
		// The state of an ended phase that may run again would have to be saved together with that
		// of the current phase.
		if own {
			errs = append(errs,
				errors.New("it has a plan, and one of the plan's programs has its own state"))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%s: its runs cannot have checkpoints: %w", m.Name(), err)
	}
	return nil
}

// HasState reports whether the program has its own state besides that of its vertices.
func (m *Program) HasState() bool {
	_, ok := m.program.Program.(Keeping)
	return ok
}

// savedTypes describes the program's types. A run that continues from a checkpoint must have the
// same.
func (m *Program) savedTypes(deterministic bool) []string {
	received, kind := "combiner "+m.Combiner, "a run that is not deterministic"
	if m.List {
		received = "all messages"
	}
	if deterministic {
		kind = "a deterministic run"
	}
	all := []string{
		"values of type " + pack.Describe(m.program.Value, mem.PointerFreeType(m.program.Value)),
		"messages of type " + pack.Describe(m.program.Message,
			mem.PointerFreeType(m.program.Message)),
		"direction " + m.traits.Direction.String(), received, kind,
	}
	if m.HasState() {
		all = append(all, "a state of its own")
	}
	for _, a := range m.aggregates {
		all = append(all, fmt.Sprintf("aggregator %s of type %s", a.Name,
			pack.Describe(a.Type, false)))
	}
	for _, c := range m.properties {
		of := "vertices"
		if c.OfEdges {
			of = "edges"
		}
		all = append(all, fmt.Sprintf("column %s of %s, of type %s", c.Name, of,
			pack.Describe(c.Type(), c.Raw())))
	}
	return all
}

// saver copies the state of a partition for checkpoints.
type saver struct {
	*partition
	printed uint64 // result of print; 0 before the first call
	resends bool   // checkResend runs in every superstep
}

// save copies the state of the partition before a superstep. The copy is stored while the run
// continues.
func (r *saver) save(c *bsp.Command) {
	began := time.Now()
	p := &checkpoint.Part{
		Partition: r.part.Index, Of: r.part.Of, Deal: r.part.Deal.String(),
		Superstep: c.Save, Vertices: r.part.Owned, Print: r.print(),
	}
	err := r.saveShared(p)
	if err == nil && c.Superstep > 0 { // before superstep 0 there is only shared state
		err = r.saveInto(p)
	}
	p.Copied = time.Since(began)
	if err != nil {
		r.job.options.Parts.Fail(p, err)
		return
	}
	r.job.options.Parts.Write(p)
}

// stored is a column of a partition's state, or bits of its vertices, with its section in a part of
// a checkpoint.
type stored struct {
	section string
	kernel.Column
	bits []uint64
	sent *column // the column whose senders have one of these messages, or nil
}

// state returns the state that a superstep changes: of vertices, and of messages to all neighbours.
func (r *saver) state() []stored {
	all := []stored{
		{section: sectionActive, bits: r.active},
		{section: sectionFinished, bits: r.finished},
		{section: sectionValues, Column: r.instance.Values()},
	}
	for i, c := range r.columns {
		all = append(all, stored{section: sectionSent + suffixes[i], bits: c.write.Words})
		if k, ok := c.kernel.(kernel.Remembering); ok {
			if best := k.Best(); best != nil {
				all = append(all, stored{section: sectionBest + suffixes[i], Column: best})
			}
		}
		if c.kernel.Traits().Bytes > 0 {
			all = append(all,
				stored{section: sectionMessages + suffixes[i], Column: c.kernel.Column(true), sent: c})
		}
	}
	return all
}

func (r *saver) saveInto(p *checkpoint.Part) error {
	owned, words := r.part.Owned, bitmap.Words(r.part.Owned)
	for _, s := range r.state() {
		copied, n := s.Column, owned
		switch {
		case s.Column == nil:
			p.Add(s.section, slices.Clone(wire.Bytes(s.bits[:words])))
			continue
		case s.sent == nil:
		case r.job.methods.Has("Resend"): // they are sent again when a run continues
			continue
		default:
			copied = s.sent.messages(owned)
			n = copied.Len()
		}
		if err := state.Save(p, s.section, copied, n); err != nil {
			return err
		}
	}
	if err := r.saveSends(p); err != nil {
		return fmt.Errorf("messages to single vertices: %w", err)
	}
	return nil
}

// messages copies the messages to all neighbours that the next superstep delivers.
func (c *column) messages(owned int) kernel.Column {
	from, senders := c.kernel.Column(true), c.write.Words[:bitmap.Words(owned)]
	to := from.New(nil)
	to.Room(bitmap.Count(senders))
	to.AppendBits(from, 0, senders)
	return to
}

// saveShared adds the state that phases of a plan share: the graph and the columns.
func (r *saver) saveShared(p *checkpoint.Part) error {
	if err := r.saveChanges(p); err != nil {
		return fmt.Errorf("changes of the graph: %w", err)
	}
	return r.shared.columns.Save(p, r.edgesOf)
}

// saveSends adds the messages to single vertices that the next superstep delivers.
func (r *saver) saveSends(p *checkpoint.Part) error {
	var to, from []uint64
	messages := r.instance.Messages()
	for _, o := range r.outboxes {
		for q := range r.part.Of {
			for _, local := range o.Receivers(q) {
				to = append(to, r.part.Deal.ID(q, local))
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
	return state.Save(p, sectionSends, messages, messages.Len())
}

// print returns the fingerprint of the loaded partition.
func (r *saver) print() uint64 {
	if r.printed == 0 {
		r.printed = r.loaded.Fingerprint(r.label)
	}
	return r.printed
}
