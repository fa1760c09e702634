package bsp

import (
	"context"
	"fmt"
	"time"

	"github.com/superstep-go/superstep/internal/trace"
)

// summarize asks the partitions for their summaries, as if that was superstep next: what they send each other of one that was before is refused.
func (d *Driver) summarize(ctx context.Context, p Partitions, next int) error {
	start := time.Now()
	reports, err := d.superstep(ctx, p, &Command{Superstep: next, Summarize: true, Totals: d.c.totals})
	if err != nil {
		return err
	}
	if err := d.balance(reports); err != nil {
		return fmt.Errorf("%s: %w", d.name, err)
	}
	if err := d.stored(reports); err != nil {
		return err
	}
	d.summary = new(trace.Summary)
	for i, r := range reports {
		if r.Summary == nil {
			return fmt.Errorf("%s: partition %d said nothing of its values", d.name, i)
		}
		d.summary.Merge(r.Summary)
	}
	d.nameSummary()
	d.summaryTime = time.Since(start)
	return nil
}

// nameSummary gives the vertices of the summary the names that the input has for them.
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

// SummaryTime is how long it took at the end of the last run to say more of the values than aggregators do.
func (d *Driver) SummaryTime() time.Duration { return d.summaryTime }
