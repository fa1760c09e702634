package worker

import (
	"fmt"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/transport/pack"
)

// fill takes a piece of what a vertex column begins with.
func (x *executor) fill(t task, f *control.Fill) error {
	j, err := x.job(t)
	if err != nil {
		return err
	}
	defer j.Release()
	if err := j.fill(f); err != nil {
		return fmt.Errorf("column %s: %w", f.Column, err)
	}
	return nil
}

// fill is called by one command at a time, before the first superstep.
func (j *job) fill(f *control.Fill) error {
	to := j.fills[f.Column]
	if to == nil {
		p, err := j.program.Prefill(f.Column)
		if err != nil {
			return err
		}
		if j.fills == nil {
			j.fills = map[string]*pack.Blocks{}
		}
		to = pack.NewBlocks(p.Storage, p.Bytes)
		j.fills[f.Column] = to
	}
	if _, err := to.Write(f.Data); err != nil {
		return err
	}
	if !f.Last {
		return nil
	}
	delete(j.fills, f.Column)
	return to.Whole()
}
