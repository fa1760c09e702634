package engine

import (
	"slices"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/bsp"
)

// reset sets everything except the values to its state before superstep 0.
func (r *runner) reset() {
	clear(r.active)
	r.awake.All = true
	r.few.kept = false
	clear(r.finished)
	for _, c := range r.columns {
		c.read.All, c.write.All = true, true
		c.read.Clear()
		c.write.Clear()
		c.kernel.Reset()
	}
	if r.inbox.Has != nil {
		r.inbox.Has.Clear()
	}
	r.instance.Forget()
	r.tiles.fulls, r.tiles.on = 0, false
	r.light.thin, r.light.few, r.light.at = nil, 0, -1
	r.light.emptyBins()
	clear(r.pull.announced)
	r.clearProperties()
	r.failure.Store(nil)
	r.report = bsp.Report{Counts: bsp.Counts{
		Unfinished: r.part.Owned, UnfinishedEdges: r.inEdges,
	}}
	r.report.Partition.Partition = r.part.Index
	if !r.job.methods.Has("Start") {
		bitmap.Fill(r.active, r.part.Owned)
		r.report.Active = r.part.Owned
	}
	if r.changing.absent = slices.Clone(r.part.Absent); r.changing.absent != nil {
		r.hideAbsent()
		r.recount()
	}
	for _, t := range r.threads {
		t.Reset()
		for _, c := range t.State().Cells {
			if c != nil {
				c.Reset()
			}
		}
	}
}

// clearProperties sets every property to its state at the beginning of a run: zero, or its initial
// values. Properties that phases of a plan share keep their values.
func (r *runner) clearProperties() {
	if !r.job.options.Shared.lasting {
		r.shared.columns = nil
		r.fillProperties()
	}
	for _, c := range r.job.methods.properties {
		r.properties[c.Number] = r.shared.columns.Get(c, r.job.direction, r.elements(c)).Column
	}
}

// fillProperties sets the properties that have initial values to these values.
func (r *runner) fillProperties() {
	for _, c := range r.job.methods.properties {
		if from, ok := r.prefilled[c.Number]; ok {
			to := r.shared.columns.Get(c, r.job.direction, 0)
			to.Column = c.New(nil)
			to.Append(from)
		}
	}
}
