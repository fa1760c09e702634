package master

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/transport/pack"
)

// fill gives the program's columns what the spec names: the results of earlier jobs, which the
// master keeps, and what the client has sent. Each worker gets that of its vertices.
func (r *run) fill(ctx context.Context) error {
	p, err := r.server.options.Registry.Find(r.spec.Program)
	if err != nil {
		return err
	}
	program, err := p.New(resolve.AsNames(p.Parameters, r.spec.Parameters), nil)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(r.spec.Inputs)) {
		from := r.spec.Inputs[name]
		column, err := program.Column(name)
		if err == nil {
			err = r.server.fitting(from, r.job, pack.Describe(column.Type(), column.Raw()))
		}
		if err == nil {
			err = r.fillResult(ctx, name, from)
		}
		if err != nil {
			return fmt.Errorf("column %s: the result of job %.150s: %w", name, from, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.spec.ColumnData)) {
		column, err := program.Column(name)
		if err == nil {
			err = r.fillSent(ctx, column, r.spec.ColumnData[name])
		}
		if err != nil {
			return fmt.Errorf("column %s: %w", name, err)
		}
	}
	return nil
}

// fitting refuses a result that is not of the vertices of a job's graph, as that is loaded, or of
// another type.
func (s *Server) fitting(id string, of *job, want string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, err := s.find(id)
	switch {
	case err != nil:
		return err
	case j.state != control.JobState_JOB_STATE_DONE:
		return fmt.Errorf("it is %s", j.state.Word())
	case j.spec.Values == "" || !j.spec.KeepResult:
		return fmt.Errorf("it is no raw one, as a client in Go asks for")
	case j.spec.Graph != of.spec.Graph || j.load != of.load:
		return fmt.Errorf("it is of graph %.150s, or of another load of it", j.spec.Graph)
	case j.spec.Values != want:
		return fmt.Errorf("its values are of type %.200s, and the column's of %.200s",
			j.spec.Values, want)
	}
	return nil
}

// fillResult sends every worker what a result has of its vertices.
func (r *run) fillResult(ctx context.Context, name, from string) error {
	j, err := r.server.finished(from)
	if err != nil {
		return err
	}
	f, done, err := r.server.results.open(ctx, from)
	if err != nil {
		return err
	}
	if f == nil {
		return fmt.Errorf("the master no longer keeps it")
	}
	defer done()
	return r.fillBlocks(ctx, name, func(w io.Writer) error {
		return f.read(ctx, j.ResultParts, asTheyAre, 0, func(data []byte) error {
			_, err := w.Write(data)
			return err
		})
	})
}

// fillBlocks sends every worker the blocks of its vertices, of those that read writes.
func (r *run) fillBlocks(ctx context.Context, name string, read func(io.Writer) error) error {
	waiting := map[string][]byte{} // by worker
	flush := func(to *control.Placement, least int) error {
		data := waiting[to.Worker]
		for len(data) >= max(least, 1) {
			n := min(len(data), control.ChunkSize)
			if err := r.fillWorkers(ctx, []*control.Placement{to},
				&control.Fill{Column: name, Data: data[:n]}); err != nil {
				return err
			}
			data = data[n:]
		}
		waiting[to.Worker] = append([]byte(nil), data...) // what was sent may still be read
		return nil
	}
	split := &pack.Splitter{Each: func(partition uint32, block []byte) error {
		if uint64(partition) >= uint64(len(r.job.placements)) {
			return fmt.Errorf("values of partition %d of %d", partition, len(r.job.placements))
		}
		to := r.job.placements[partition]
		waiting[to.Worker] = append(waiting[to.Worker], block...)
		return flush(to, control.ChunkSize)
	}}
	if err := read(split); err != nil {
		return err
	}
	for _, to := range r.team {
		if err := flush(to, 1); err != nil {
			return err
		}
	}
	return r.filled(ctx, &control.Fill{Column: name})
}

// fillWorkers sends workers a piece of a column.
func (r *run) fillWorkers(ctx context.Context, to []*control.Placement, f *control.Fill) error {
	c := &control.Command{Job: r.id, Epoch: r.epoch, Body: &control.Command_Fill{Fill: f}}
	_, err := r.server.gather(ctx, to, order{what: "fill", command: c})
	return err
}

// filled tells all workers that there is no more of a column.
func (r *run) filled(ctx context.Context, f *control.Fill) error {
	f.Last = true
	return r.fillWorkers(ctx, r.team, f)
}

// find returns the vertices of the job's graph that have these input ids, by these.
func (r *run) find(ctx context.Context, labels []uint64) (map[uint64]uint64, error) {
	answers, err := r.server.locate(ctx, "locate", r.team,
		&control.Locate{Graph: r.job.graph(), Labels: labels})
	ids := make(map[uint64]uint64, len(labels))
	for _, a := range answers {
		for _, v := range a.Vertices {
			ids[v.Label] = v.Id
		}
	}
	return ids, err
}
