package bsp

import (
	"fmt"

	"github.com/superstep-go/superstep/internal/checkpoint"
)

// GoOn readies the next run to go on from a checkpoint, whose state the partitions have taken up, as the facts of all processes say.
func (d *Driver) GoOn(m *checkpoint.Manifest, facts []*Facts) error {
	all := &Standing{}
	for _, f := range facts {
		if f.Standing == nil || f.Standing.Superstep != m.Superstep {
			return fmt.Errorf("%s: a process has not taken up the checkpoint before superstep %d", d.name, m.Superstep)
		}
		all.Add(f.Standing)
		all.Vertices = f.Standing.Vertices
	}
	if vertices, arcs := d.loadedVertices, d.loadedArcs; all.Print != m.Graph.Print || vertices != m.Graph.Vertices || arcs != m.Graph.Arcs {
		return fmt.Errorf("%s: the graph is another than the checkpoint was made on: found %d vertices and %d arcs, checksum %x, expected %d and %d, %x",
			d.name, vertices, arcs, all.Print, m.Graph.Vertices, m.Graph.Arcs, m.Graph.Print)
	}
	d.from, d.standing = m, all
	return nil
}

// first returns the first command of the program's run.
func (d *Driver) first() (*Command, *Outcome, error) {
	if k := d.options.Checkpoints; k != nil {
		k.Begin(0)
	}
	if d.from == nil {
		command, outcome := d.c.begin()
		return command, outcome, nil
	}
	m, at := d.from, d.standing
	d.from, d.standing = nil, nil // a later run of the program begins anew
	if k := d.options.Checkpoints; k != nil {
		k.Begin(m.Superstep)
	}
	d.times = append(d.times, make([]float64, m.Superstep-len(m.State.Seconds))...)
	d.times = append(d.times, m.State.Seconds...)
	return d.c.resume(m, at)
}

// save has the superstep that a command is for save the state that it begins with, if a checkpoint is due.
func (d *Driver) save(c *Command) error {
	k := d.options.Checkpoints
	if c.Save = k != nil && k.Due(c.Superstep); !c.Save {
		return nil
	}
	o := &d.c.outcome
	m := &checkpoint.Manifest{
		Superstep: c.Superstep, Program: d.program,
		Graph: checkpoint.Graph{Name: d.options.Graph, Vertices: d.loadedVertices, Arcs: d.loadedArcs, Grid: d.c.load.Grid.String()},
		State: checkpoint.State{
			Phase: c.Phase, Messages: o.Messages, Sent: o.Sent, Bytes: o.Bytes,
			Seconds: append([]float64(nil), d.times[max(0, len(d.times)-checkpoint.MaxSeconds):]...),
		},
		Job: d.options.Spec,
	}
	var err error
	if m.State.Aggregates, err = d.c.aggregates.Encode(nil, d.c.totals); err != nil {
		return fmt.Errorf("%s: a checkpoint: %w", d.name, err)
	}
	if d.internal != nil {
		if m.Program.Internal, err = d.internal(); err != nil {
			return fmt.Errorf("%s: a checkpoint: the program's own state: %w", d.name, err)
		}
	}
	k.Expect(m, d.c.load.Partitions)
	return nil
}

// stored tells the keeper of checkpoints what has become of the partitions' parts.
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
