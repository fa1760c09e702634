package model

import (
	"context"
	"errors"
	"time"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/record"
)

// Waiting is the time that is lost because threads and processes are not alone. Both parts are
// measured on this machine and scaled. The zero value means that nobody waits.
type Waiting struct {
	// Contention is the share by which a thread is slower beside another one of its node, which uses
	// the same caches and memory. T threads do the work of T / (1 + Contention (T-1)).
	Contention float64 `json:"contention"`
	// Skew is the work of the busiest process beyond the mean, as a share of what Search.Skew expects.
	Skew float64 `json:"skew"`
}

// threads returns how many threads without contention would do the work of a process's.
func (w Waiting) threads(threads, perNode int) float64 {
	return float64(threads) / (1 + w.Contention*float64(threads*max(perNode, 1)-1))
}

// blocksOfSkew is the number of turns in which vertices are dealt to processes, from the one with
// most edges on, after which all get equal numbers of edges.
const blocksOfSkew = 4096

// Skew returns the expected edges of the busiest process beyond the mean, as a share of the mean, if
// all vertices send. Vertices are dealt by falling degree (docs/design/grid.md): the process at row 0
// and column 0 has the edges from the first R of each P vertices to the first of each R. The
// numbers of edges are those of the classes.
func (s *Search) Skew(g Grid) float64 {
	p, r := g.Partitions(), float64(g.Rows)
	// above returns the edges of the first vertices.
	above := func(vertices float64) (sum float64) {
		for _, k := range s.Levels[0].classes {
			n := min(vertices, k.vertices-k.isolated)
			sum += n * k.edges
			if vertices -= n; vertices <= 0 {
				break
			}
		}
		return sum
	}
	// part returns the edges of the first of each cycle of vertices over those of a mean share.
	part := func(first, cycle float64) float64 {
		sum, dealt := 0.0, 0.0
		for ; dealt < blocksOfSkew*cycle && dealt < s.Connected; dealt += cycle {
			sum += above(dealt+first) - above(dealt)
		}
		return (sum + (s.Edges-above(dealt))*first/cycle) / (s.Edges * first / cycle)
	}
	return part(r, p)*part(1, r) - 1
}

// skewSearches is the number of searches of a graph for the skew.
const skewSearches = 8

// MeasureWaiting measures both parts of Waiting on this machine.
func MeasureWaiting(ctx context.Context) (w Waiting, err error) {
	if w.Contention, err = contention(ctx); err != nil {
		return w, err
	}
	const scale, side = 16, 8
	found, err := busiest(ctx, scale, Grid{side, side}, Push)
	w.Skew = found / NewSearch(scale, 16, 0).Skew(Grid{side, side})
	return w, err
}

// excesses is a journal of the edges that the busiest partition walks in the largest superstep.
type excesses struct{ mean, excess float64 }

func (x *excesses) Record(e trace.Event) error {
	r, ok := e.(*record.Superstep)
	if !ok {
		return nil
	}
	sum, most := 0.0, 0.0
	for i := range r.Partitions {
		n := float64(r.Partitions[i].Walked)
		sum, most = sum+n, max(most, n)
	}
	if mean := sum / float64(len(r.Partitions)); mean > x.mean {
		*x = excesses{mean, most/mean - 1}
	}
	return nil
}

// busiest searches a graph on a grid from vertices of different degrees, and returns the edges of
// the busiest process beyond the mean, as a share of the mean, in the largest level.
func busiest(ctx context.Context, scale int, grid Grid, scheme Scheme) (mean float64, err error) {
	g, err := buildFor(ctx, scale, 16, grid, func(string, int64, int64) {})
	if err != nil {
		return 0, err
	}
	defer g.Close()
	for i := range skewSearches {
		root := pregel.VertexID((2*i + 1) * g.Connected / (2 * skewSearches))
		var x excesses
		if err := search(ctx, g, root, scheme, &x); err != nil {
			return 0, err
		}
		mean += x.excess / skewSearches
	}
	return mean, nil
}

// contentionTurns is the number of measurements, of which the median counts.
const contentionTurns = 21

// contention measures by how much a search with one thread is slower while another thread searches
// another graph.
func contention(ctx context.Context) (float64, error) {
	var sides [2]*engine.Job
	for i := range sides {
		g, err := buildFor(ctx, measuredScale, 16, Grid{1, 1}, func(string, int64, int64) {})
		if err != nil {
			return 0, err
		}
		defer g.Close()
		sides[i], err = engine.NewJob(ctx, g, pregel.Erase(algorithms.BFS{}),
			engine.Options{Delivery: delivery.ChoosePush})
		if err != nil {
			return 0, err
		}
		defer sides[i].Close()
	}
	var ratios []float64
	for turn := range contentionTurns + 1 {
		alone, err := searchTime(ctx, sides[0])
		if err != nil {
			return 0, err
		}
		other, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() {
			for other.Err() == nil {
				if _, err := searchTime(ctx, sides[1]); err != nil {
					ended <- err
					return
				}
			}
			ended <- nil
		}()
		beside, err := searchTime(ctx, sides[0])
		stop()
		if err := errors.Join(err, <-ended); err != nil {
			return 0, err
		}
		if turn > 0 {
			ratios = append(ratios, beside/alone)
		}
	}
	return max(collective.Median(ratios)-1, 0), nil
}

// searchTime returns the time of a search from the vertex with most edges.
func searchTime(ctx context.Context, j *engine.Job) (float64, error) {
	if err := j.Restart(pregel.Erase(algorithms.BFS{Source: 0})); err != nil {
		return 0, err
	}
	j.Prepare()
	start := time.Now()
	_, err := j.Run(ctx)
	return time.Since(start).Seconds(), err
}

// kernelRates measures the kernels on a graph with one thread.
func kernelRates(ctx context.Context, g *graph.Graph) (Rates, error) {
	p, err := engine.NewProgram(pregel.Erase(algorithms.BFS{}))
	if err != nil {
		return Rates{}, err
	}
	share, err := p.Bind(ctx, g, engine.Options{})
	if err != nil {
		return Rates{}, err
	}
	defer share.Close()
	r := share.Facts().Rates
	return Rates{Push: r.Push, Probe: r.Probe, Row: r.Row, Word: r.Word, Value: r.Value}, nil
}
