package worker

import (
	"context"

	"github.com/superstep-go/superstep/internal/control"
)

// does executes the worker's part of a job, as a command does.
func (x *executor) does(
	ctx context.Context, t task, c *control.Run, tell func(*control.Report) error,
) (*control.DriveReport, error) {
	a, err := x.together(ctx, t, "")
	if err != nil {
		return nil, err
	}
	defer a.Release()
	a.Acquire()
	go a.do(func() (*control.DriveReport, error) {
		defer a.Release()
		return a.work(c)
	})
	return a.follow(ctx, context.Background(), 0, tell)
}

// job acquires an attempt and returns its current job.
func (x *executor) job(t task) (*attempt, *job, error) {
	a, err := x.find(t)
	if err != nil {
		return nil, nil, err
	}
	return a, a.job, nil
}
