package master

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/transport/pack"
)

// fill gives the program's vertex columns the results of earlier jobs that the spec names, which the master keeps: to each worker
// those of its vertices.
func (r *run) fill(ctx context.Context, p engine.Registered) error {
	if len(r.spec.Inputs) == 0 {
		return nil
	}
	program, err := p.New(r.spec.Parameters, nil)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(r.spec.Inputs)) {
		from := r.spec.Inputs[name]
		column, err := program.Column(name)
		if err == nil {
			err = r.server.fitting(from, r.job, pack.Describe(column.Type, column.Bytes != nil))
		}
		if err == nil {
			err = r.fillColumn(ctx, name, from)
		}
		if err != nil {
			return fmt.Errorf("column %s: the result of job %.150s: %w", name, from, err)
		}
	}
	return nil
}

// fitting refuses a result that is not of the vertices of a job's graph, as that is loaded, or of another type.
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
		return fmt.Errorf("its values are of type %.200s, and the column's of %.200s", j.spec.Values, want)
	}
	return nil
}

// fillColumn sends every worker what a result has of its vertices.
func (r *run) fillColumn(ctx context.Context, name, from string) error {
	done := r.server.results.retention.read(from)
	if done == nil {
		return fmt.Errorf("the master no longer keeps it")
	}
	defer done()
	waiting := map[string][]byte{} // by worker
	send := func(to *control.Placement, data []byte) error {
		_, err := r.server.gather(ctx, []*control.Placement{to}, order{what: "fill", command: func() *control.Command {
			return &control.Command{Job: r.id, Epoch: r.epoch, Body: &control.Command_Fill{Fill: &control.Fill{Column: name, Data: data}}}
		}})
		return err
	}
	flush := func(to *control.Placement, least int) error {
		data := waiting[to.Worker]
		for len(data) >= max(least, 1) {
			n := min(len(data), control.ChunkSize)
			if err := send(to, data[:n]); err != nil {
				return err
			}
			data = data[n:]
		}
		waiting[to.Worker] = append([]byte(nil), data...) // what was sent may still be read
		return nil
	}
	split := &pack.Splitter{Each: func(partition uint32, block []byte) error {
		if uint64(partition) >= uint64(len(r.job.placements)) {
			return fmt.Errorf("found values of partition %d of %d", partition, len(r.job.placements))
		}
		to := r.job.placements[partition]
		waiting[to.Worker] = append(waiting[to.Worker], block...)
		return flush(to, control.ChunkSize)
	}}
	err := r.server.results.read(from, false, 0, func(data []byte) error {
		_, err := split.Write(data)
		return err
	})
	if err != nil {
		return err
	}
	for _, to := range r.team {
		if err := flush(to, 1); err != nil {
			return err
		}
	}
	_, err = r.all(ctx, "fill", &control.Command{Body: &control.Command_Fill{Fill: &control.Fill{Column: name, Last: true}}},
		func(*control.Report) bool { return true })
	return err
}
