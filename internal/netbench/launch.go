package netbench

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/transport/mesh"
)

// Stages of Measure.
const (
	Calibrating = "calibrating"
	Measuring   = "measuring"
)

const measureTag = 1

// Measure calibrates a link and measures on it. All ranks must call it with equal parameters, and
// get the same report. stage, if not nil, is called with the progress.
func Measure(ctx context.Context, link collective.Link, sites []int, o Options, stage func(name string, done, all int)) (*Report, error) {
	if stage == nil {
		stage = func(string, int, int) {}
	}
	stage(Calibrating, 0, 0)
	model, err := collective.Calibrate(ctx, link,
		collective.Calibration{Tag: measureTag, Sites: sites})
	if err != nil {
		return nil, err
	}
	o.Tag = measureTag
	o.Progress = func(done, all int) { stage(Measuring, done, all) }
	return Run(ctx, link, model, o)
}

// Local measures between ranks in this process, which are connected as workers of one machine are.
func Local(ctx context.Context, ranks int, o Options, stage func(name string, done, all int)) (*Report, error) {
	sessions, end, err := join(ctx, ranks)
	defer end()
	if err != nil {
		return nil, err
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	reports := make([]*Report, ranks)
	var all sync.WaitGroup
	for i, s := range sessions {
		told := stage
		if i > 0 {
			told = nil
		}
		all.Go(func() {
			var err error
			if reports[i], err = Measure(ctx, s.Link(), nil, o, told); err != nil {
				fail(fmt.Errorf("rank %d: %w", i, err))
			}
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for i := range ranks {
		reports[0].Workers = append(reports[0].Workers, fmt.Sprintf("w%d", i+1))
	}
	return reports[0], nil
}

// join connects a number of workers in this process, until end is called.
func join(ctx context.Context, workers int) (sessions []*mesh.Session, end func(), err error) {
	var meshes []*mesh.Mesh
	var open []*mesh.Session
	end = func() {
		for _, s := range open {
			s.Close()
		}
		for _, m := range meshes {
			m.Close()
		}
	}
	layout, token := mesh.Layout{}, rand.Text()
	for i := range workers {
		m, err := mesh.New(
			mesh.Options{Name: fmt.Sprintf("rank %d", i), Incarnation: 1, Token: token})
		if err != nil {
			return nil, end, err
		}
		meshes, layout.Workers = append(meshes, m), append(layout.Workers, m.Self())
	}
	for _, m := range meshes {
		s, err := m.Open(ctx, 1, 1, layout, nil)
		if err != nil {
			return nil, end, err
		}
		open = append(open, s)
	}
	return open, end, nil
}
