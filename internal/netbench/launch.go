package netbench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/ranks"
)

// What a rank does before and while it measures.
const (
	Calibrating = "calibrating"
	Measuring   = "measuring"
)

const measureTag = 1

// Measure calibrates a link and measures on it. All ranks call it alike and get the same report.
// stage, if not nil, is told how far it is.
func Measure(ctx context.Context, link collective.Link, sites []int, o Options, stage func(name string, done, all int)) (*Report, error) {
	if stage == nil {
		stage = func(string, int, int) {}
	}
	stage(Calibrating, 0, 0)
	model, err := collective.Calibrate(ctx, link, collective.Calibration{Tag: measureTag, Sites: sites})
	if err != nil {
		return nil, err
	}
	o.Tag = measureTag
	o.Progress = func(done, all int) { stage(Measuring, done, all) }
	return Run(ctx, link, model, o)
}

// Launch measures between processes of this machine, which call Serve, and returns the report.
func Launch(ctx context.Context, l ranks.Options, o Options) (*Report, error) {
	var err error
	if l.Task.Work, err = json.Marshal(o); err != nil {
		return nil, err
	}
	data, err := ranks.Launch(ctx, l)
	if err != nil {
		return nil, err
	}
	r := &Report{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("the report of rank 0: %w", err)
	}
	for i := range l.Ranks {
		r.Workers = append(r.Workers, fmt.Sprintf("w%d", i+1))
	}
	return r, nil
}

// Serve is one of the processes of Launch, with these as its standard input and output.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	return ranks.Rank{Do: func(ctx context.Context, link collective.Link, task ranks.Task, stage func(name string, done, all int)) (any, error) {
		var o Options
		if err := json.Unmarshal(task.Work, &o); err != nil {
			return nil, err
		}
		return Measure(ctx, link, task.Sites, o, stage)
	}}.Serve(ctx, in, out)
}
