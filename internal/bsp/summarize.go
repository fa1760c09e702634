package bsp

import (
	"context"
	"fmt"
	"time"

	"github.com/superstep-go/superstep/internal/trace"
)

// atEnd runs a command on the partitions after the last superstep. The command needs the next
// superstep's number, because partitions refuse frames of earlier supersteps.
func (d *Driver) atEnd(ctx context.Context, p Partitions, c *Command) ([]*Report, error) {
	c.Took = d.last
	c.Ended, c.Totals = true, d.c.totals
	reports, err := d.superstep(ctx, p, c)
	if err != nil {
		return nil, err
	}
	if err := d.balance(reports); err != nil {
		return nil, fmt.Errorf("%s: %w", d.name, err)
	}
	return reports, d.stored(reports)
}

// summarize gets the partitions' summaries.
func (d *Driver) summarize(ctx context.Context, p Partitions, next int) error {
	start := time.Now()
	reports, err := d.atEnd(ctx, p, &Command{Superstep: next})
	if err != nil {
		return err
	}
	d.summary = new(trace.Summary)
	for i, r := range reports {
		if r.Summary == nil {
			return fmt.Errorf("%s: partition %d sent no summary", d.name, i)
		}
		d.summary.Merge(r.Summary)
	}
	d.nameSummary()
	d.summaryTime = time.Since(start)
	return nil
}

// nameSummary sets the names of the vertices in the summary, if the input has names.
func (d *Driver) nameSummary() {
	if d.options.Name == nil {
		return
	}
	for i := range d.summary.Top {
		one := &d.summary.Top[i]
		one.Name, _ = d.options.Name(one.Vertex)
	}
	if d.summary.Groups != nil && d.vertexGroup {
		for i := range d.summary.Groups.Largest {
			one := &d.summary.Groups.Largest[i]
			one.Name, _ = d.options.Name(one.Group)
		}
	}
}

// SummaryTime returns the time that the summary at the end of the last run took.
func (d *Driver) SummaryTime() time.Duration { return d.summaryTime }
