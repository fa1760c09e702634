package bsp

import (
	"context"
	"fmt"

	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
)

// Own is a program's own state, which Coordinate changes.
type Own interface {
	// Begin sets the state to that of the beginning of a run, or, if resumed is set, to that of a
	// checkpoint.
	Begin(kept []byte, resumed bool) error
	// State encodes the state for a checkpoint.
	State() ([]byte, error)
}

// GoOn prepares the next run to continue from a checkpoint. The partitions have restored its state
// already; facts are those of all processes.
func (d *Driver) GoOn(m *checkpoint.Manifest, facts []*Facts) error {
	all := &Standing{forked: m.Forked}
	if differs := m.Differs(d.options.Decides); differs != "" {
		all.forked = fmt.Sprintf("from the checkpoint before superstep %d of another run: %s",
			m.Superstep, differs)
		if !d.options.Fork {
			return fmt.Errorf("%s: the checkpoint before superstep %d is of another run: %s; to continue all the same, use --fork, in Go CheckpointOptions.Fork",
				d.name, m.Superstep, differs)
		}
		if d.options.Log != nil {
			d.options.Log("the run is forked " + all.forked)
		}
	}
	for _, f := range facts {
		if f.Standing == nil || f.Standing.Superstep != m.Superstep {
			return fmt.Errorf("%s: a process has not restored the checkpoint before superstep %d",
				d.name, m.Superstep)
		}
		all.Add(f.Standing)
		all.Vertices = f.Standing.Vertices
	}
	if vertices, arcs := d.loadedVertices, d.loadedArcs; all.Print != m.Graph.Print ||
		vertices != m.Graph.Vertices || arcs != m.Graph.Arcs {
		return fmt.Errorf("%s: the checkpoint was made on another graph: found %d vertices and %d arcs, checksum %x, expected %d and %d, %x",
			d.name, vertices, arcs, all.Print, m.Graph.Vertices, m.Graph.Arcs, m.Graph.Print)
	}
	d.from, d.standing = m, all
	return nil
}

// first returns the first command of the program's run.
func (d *Driver) first() (*Command, *Outcome, error) {
	k, m := d.options.Checkpoints, d.from
	switch {
	case k == nil:
	case m != nil:
		k.Begin(m.Superstep)
	case d.c.first == 0: // otherwise it is a later phase of a run
		k.Begin(0)
	}
	begins := m == nil || m.Own() == 0
	if d.own != nil {
		var kept []byte
		if !begins {
			kept = m.Program.Internal
		}
		if err := d.own.Begin(kept, !begins); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", d.name, err)
		}
	}
	if begins {
		d.from, d.standing = nil, nil
		command, outcome := d.c.begin()
		return command, outcome, nil
	}
	at := d.standing
	d.from, d.standing = nil, nil // a later run of the program begins anew
	d.times = append(d.times, make([]float64, m.Own()-len(m.State.Seconds))...)
	d.times = append(d.times, m.State.Seconds...)
	return d.c.resume(m, at)
}

// save makes the superstep of a command save the state before it, if a checkpoint is due.
func (d *Driver) save(c *Command) error {
	k, superstep := d.options.Checkpoints, d.c.first+c.Superstep
	c.Save, c.Flush = 0, false
	if k == nil {
		return nil
	}
	defer func() { c.Flush = k.Awaited(superstep + 1) }()
	if !k.Due(superstep) {
		return nil
	}
	m, err := d.manifest(c)
	if err != nil {
		return err
	}
	c.Save = superstep
	kept := *m
	kept.State.Seconds = append([]float64(nil), m.State.Seconds...)
	k.Expect(&kept, d.c.load.Partitions)
	return nil
}

// manifest returns the manifest, without parts, of the state before the superstep of a command. Its
// slice of times belongs to the driver.
func (d *Driver) manifest(c *Command) (*checkpoint.Manifest, error) {
	o := &d.c.outcome
	m := &checkpoint.Manifest{
		Format: checkpoint.Format, Superstep: d.c.first + c.Superstep, Program: d.program,
		Graph: checkpoint.Graph{
			Name: d.options.Graph, Vertices: d.loadedVertices, Arcs: d.loadedArcs,
			Grid: d.c.load.Grid.String(),
		},
		State: checkpoint.State{
			Phase: c.Phase, Messages: o.Messages, Sent: o.Sent, Bytes: o.Bytes,
			Seconds: d.times[max(len(d.times)-c.Superstep, len(d.times)-checkpoint.MaxSeconds):],
		},
		Decides: d.options.Decides, Forked: d.Outcome().Forked, Job: d.options.Spec,
	}
	if account := d.options.Account; account != nil && d.recorder != nil {
		d.recorder.sync()
		m.Account = account()
	}
	if p := d.options.Plan; p != nil {
		m.Plan = &checkpoint.Plan{Program: p.Program, Ran: p.Ran} // Add only appends
	}
	var err error
	if m.State.Aggregates, err = d.c.aggregates.Encode(nil, d.c.totals); err != nil {
		return nil, fmt.Errorf("%s: a checkpoint: %w", d.name, err)
	}
	if d.own != nil {
		if m.Program.Internal, err = d.own.State(); err != nil {
			return nil, fmt.Errorf("%s: a checkpoint: the program's own state: %w", d.name, err)
		}
	}
	return m, nil
}

// stored passes the results of storing parts to the Keeper.
func (d *Driver) stored(reports []*Report) error {
	k := d.options.Checkpoints
	if k == nil {
		return nil
	}
	var all []checkpoint.Stored
	for _, r := range reports {
		all = append(all, r.Stored...)
	}
	return k.Stored(all)
}

// flushed waits for the checkpoint whose parts a command has stored. It returns the reason for the
// run's end, if this was the run's last checkpoint.
func (d *Driver) flushed(ctx context.Context, c *Command) error {
	if !c.Flush {
		return nil
	}
	k := d.options.Checkpoints
	if err := k.Await(ctx); err != nil || c.Save == 0 {
		return err
	}
	return k.Left()
}

// RanOf returns the record of an ended phase for a checkpoint.
func RanOf(program string, o Outcome, totals []byte, seconds []float64) checkpoint.Ran {
	r := checkpoint.Ran{
		Program: program, Supersteps: o.Supersteps, Messages: o.Messages, Sent: o.Sent,
		Bytes: o.Bytes, Ended: string(o.Ended), IDs: o.IDs, Totals: totals,
		Seconds: seconds,
	}
	if o.Left != nil {
		r.Vertices, r.Arcs = o.Left.Vertices, o.Left.Arcs
	}
	return r
}

// OutcomeOf is the inverse of RanOf.
func OutcomeOf(r *checkpoint.Ran) Outcome {
	o := Outcome{
		Ended: trace.Ended(r.Ended), Supersteps: r.Supersteps, Messages: r.Messages, Sent: r.Sent,
		Bytes: r.Bytes, IDs: r.IDs,
	}
	if r.IDs > 0 {
		o.Left = &record.GraphSize{Vertices: r.Vertices, Arcs: r.Arcs}
	}
	return o
}
