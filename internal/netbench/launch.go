package netbench

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/transport/mesh"
)

// Measure calibrates a link and measures on it. All ranks must call it with equal parameters, and
// get the same report. sites has the site of each rank; nil means that there is only one.
func Measure(ctx context.Context, link collective.Link, sites []int, o Options) (*Report, error) {
	o = o.withDefaults()
	o.Progress(Calibrating, 0, 0)
	model, err := collective.Calibrate(ctx, link, collective.Calibration{Tag: tag, Sites: sites})
	if err != nil {
		return nil, err
	}
	return Run(ctx, link, model, o)
}

// Local measures between ranks in this process, which are connected as workers of one machine are.
func Local(ctx context.Context, ranks int, o Options) (*Report, error) {
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
		o := o
		if i > 0 {
			o.Progress = nil
		}
		all.Go(func() {
			var err error
			if reports[i], err = Measure(ctx, s.Link(), nil, o); err != nil {
				fail(fmt.Errorf("rank %d: %w", i, err))
			}
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	reports[0].Loopback = true
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
