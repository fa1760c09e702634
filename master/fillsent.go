package master

import (
	"context"
	"fmt"
	"io"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/fill"
	"github.com/superstep-go/superstep/internal/graphio"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/transport/pack"
)

// fillSent gives a column what a client has sent: blocks, or lines of a file.
func (r *run) fillSent(ctx context.Context, to kernel.Property, data *jobspec.ColumnData) error {
	if data.File != "" {
		return r.fillLines(ctx, to, data)
	}
	if want := pack.Describe(to.Type(), to.Raw()); data.Values != want {
		return fmt.Errorf("its values are of type %.200s on the cluster, and %.200s at the client",
			want, data.Values)
	}
	if data.Load != r.job.load.String() {
		return fmt.Errorf("graph %s was loaded since the client listed its vertices", r.spec.Graph)
	}
	return r.fillBlocks(ctx, to.Name, func(w io.Writer) error { return r.server.columns.copy(ctx, w, data) })
}

// fillLines gives a column the values in lines of a file: a batch of lines at a time, whose
// vertices the workers find and whose values those take that have the vertices, of edges at either
// end.
func (r *run) fillLines(ctx context.Context, to kernel.Property, data *jobspec.ColumnData) error {
	err := r.server.columns.lines(ctx, data, func(batch [][]byte) error {
		lines := make([]graphio.Value, len(batch))
		var labels []uint64
		seen := map[uint64]bool{}
		want := func(label uint64) {
			if !seen[label] {
				seen[label], labels = true, append(labels, label)
			}
		}
		for i, text := range batch {
			var err error
			if lines[i], err = fill.ParseLine(text, to.OfEdges); err != nil {
				return err
			}
		}
		if data.Named {
			if err := r.unnamed(ctx, to, lines, data.File); err != nil {
				return err
			}
		}
		for i := range lines {
			for _, label := range named(to, lines[i]) {
				want(label)
			}
		}
		ids, err := r.find(ctx, labels)
		if err != nil {
			return err
		}
		return r.sendLines(ctx, to, data.File, lines, ids)
	})
	if err != nil {
		return err
	}
	return r.filled(ctx, &control.Fill{Column: to.Name, File: data.File})
}

// sendLines sends each worker those lines of a file that are of its vertices, with the vertices
// that they name.
func (r *run) sendLines(ctx context.Context, column kernel.Property, file string, lines []graphio.Value, ids map[uint64]uint64) error {
	fills, told := map[string]*control.Fill{}, map[string]map[uint64]bool{}
	send := func(owner uint64, i int) {
		to := r.workerOf(owner)
		f := fills[to]
		if f == nil {
			f = &control.Fill{Column: column.Name, File: file}
			fills[to], told[to] = f, map[uint64]bool{}
		}
		f.Data = append(fill.AppendLine(f.Data, &lines[i], column.OfEdges), '\n')
		for _, label := range named(column, lines[i]) {
			if id, ok := ids[label]; ok && !told[to][label] {
				told[to][label] = true
				f.Vertices = append(f.Vertices, &control.Vertex{Label: label, Id: id})
			}
		}
	}
	for i, l := range lines {
		ends := []uint64{l.ID}
		if column.OfEdges {
			ends = append(ends, l.To)
		}
		for _, label := range ends {
			if _, ok := ids[label]; !ok {
				l.OfID = true
				return l.Fault(file, fmt.Sprintf("vertex %d", label), "one of "+r.graphName())
			}
		}
		send(ids[l.ID], i)
		if column.OfEdges && r.workerOf(ids[l.To]) != r.workerOf(ids[l.ID]) {
			send(ids[l.To], i)
		}
	}
	for _, to := range r.team {
		if f := fills[to.Worker]; f != nil {
			if err := r.fillWorkers(ctx, []*control.Placement{to}, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// named are the vertices that a line names: its own, and one that is the value.
func named(column kernel.Property, v graphio.Value) []uint64 {
	all := []uint64{v.ID}
	if column.OfEdges {
		all = append(all, v.To)
	}
	if label, ok := fill.RefersTo(column, v.Text); ok {
		all = append(all, label)
	}
	return all
}

// workerOf is the worker that has a vertex.
func (r *run) workerOf(vertex uint64) string {
	return r.job.placements[vertex%uint64(len(r.job.placements))].Worker
}

// graphName is what the job's graph was loaded from.
func (r *run) graphName() string {
	if r.spec.Graph == "" {
		return r.spec.Source.Origin()
	}
	s := r.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.cluster.graphs[r.spec.Graph]; g != nil {
		return g.source.Origin()
	}
	return control.CatalogPrefix + r.spec.Graph
}
