package bsp

import (
	"fmt"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/pregel"
)

// Totals returns the aggregators' values after the last superstep, as Coordinate would see them
// next, indexed by the aggregators' numbers. The next run changes them.
func (d *Driver) Totals() []kernel.Cell { return d.c.totals }

// Final returns the final values of the aggregators, and the summary of the vertices' values if the
// program wants one. It leaves out values that cannot be encoded, and logs this. It may be called
// only after a successful run.
func (d *Driver) Final() trace.Aggregates {
	if d.final != nil || len(d.c.aggregates.All) == 0 && d.summary == nil {
		return d.final
	}
	d.final = trace.Aggregates{}
	if d.summary != nil {
		for name, value := range d.summary.Values() {
			if err := d.final.Add(name, value); err != nil && d.options.Log != nil {
				d.options.Log(fmt.Sprintf("%s is left out of reports: %v", name, err))
			}
		}
	}
	for _, a := range d.c.aggregates.All {
		if a.Unreported {
			continue
		}
		var err error
		// A method of the value is the user's code, and may panic.
		ended := parallel.Contain(
			func() { err = d.final.Add(a.Name, d.labelled(d.c.totals[a.Number].Any())) })
		if ended != nil {
			err = fmt.Errorf("its value panicked when it was written: %v", ended.Value)
		}
		if err != nil && d.options.Log != nil {
			d.options.Log(fmt.Sprintf("aggregator %s is left out of reports: %v", a.Name, err))
		}
	}
	return d.final
}

// labelled returns the reported form of a value. A vertex becomes its input id, or -1 for None.
func (d *Driver) labelled(value any) any {
	v, ok := value.(pregel.VertexID)
	if !ok || d.options.Label == nil {
		return value
	}
	if label, ok := d.options.Label(v); ok {
		return label
	}
	return -1
}
