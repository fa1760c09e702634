package worker

import (
	"context"

	"github.com/superstep-go/superstep/internal/control"
)

// drive takes part in a run to its end, as a command does.
func (x *executor) drive(ctx context.Context, t task, d *control.Drive, tell func(*control.Report) error) (*control.DriveReport, error) {
	j, err := x.job(t)
	if err != nil {
		return nil, err
	}
	defer j.Release()
	r, err := j.attempt.begin(t)
	if err != nil {
		return nil, err
	}
	go r.do(func() (*control.DriveReport, error) { return j.drive(r, d) })
	return r.follow(ctx, context.Background(), tell)
}
