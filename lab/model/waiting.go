package model

import (
	"context"
	"math"
	"sync"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/collective"
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
	Skew       Skew    `json:"skew"`
}

// Skew is the law of the standard deviation of the edges that processes walk in a level, divided by
// their mean: At * processes^Processes * mean^Edges. A few vertices have a large part of all edges,
// so it falls more slowly than that of independent edges, whose Edges is -1/2.
type Skew struct {
	At        float64 `json:"at"`
	Processes float64 `json:"processes"`
	Edges     float64 `json:"edges"`
}

// threads returns how many threads without contention would do the work of a process's.
func (w Waiting) threads(threads, perNode int) float64 {
	return float64(threads) / (1 + w.Contention*float64(threads*max(perNode, 1)-1))
}

// excess returns the expected work of the busiest of n processes beyond the mean, as a share of the
// mean, if they walk this mean number of edges: the maximum of n normal numbers is about sqrt(2 ln
// n) standard deviations above their mean.
func (s Skew) excess(edges, n float64) float64 {
	if n < 2 || s.At == 0 {
		return 0
	}
	return math.Sqrt(2*math.Log(n)) * s.At * math.Pow(n, s.Processes) * math.Pow(max(edges, 1), s.Edges)
}

// deviation is a measured deviation of the edges of a number of processes.
type deviation struct{ processes, edges, relative float64 }

// skewOf returns the law through three points. The first two have a different number of processes,
// the first and the last have the same.
func skewOf(a, b, c deviation) (s Skew) {
	s.Edges = math.Log(c.relative/a.relative) / math.Log(c.edges/a.edges)
	s.Processes = (math.Log(b.relative/a.relative) - s.Edges*math.Log(b.edges/a.edges)) /
		math.Log(b.processes/a.processes)
	s.At = a.relative / math.Pow(a.processes, s.Processes) / math.Pow(a.edges, s.Edges)
	return s
}

// skewSearches is the number of searches of a graph for the skew.
const skewSearches = 8

// MeasureWaiting measures both parts of Waiting on this machine.
func MeasureWaiting(ctx context.Context) (w Waiting, err error) {
	if w.Contention, err = contention(ctx); err != nil {
		return w, err
	}
	w.Skew, err = measureSkew(ctx, 14, 8)
	return w, err
}

// measureSkew measures searches on a grid of side x side, on one with four times the processes and
// the same graph for each, and with 16 times the graph.
func measureSkew(ctx context.Context, scale, side int) (Skew, error) {
	var points []deviation
	for _, p := range []struct{ scale, side int }{{scale, side}, {scale + 2, 2 * side}, {scale + 4, side}} {
		d, err := deviationOf(ctx, p.scale, Grid{p.side, p.side}, skewSearches)
		if err != nil {
			return Skew{}, err
		}
		points = append(points, d)
	}
	return skewOf(points[0], points[1], points[2]), nil
}

// deviations is a journal of the edges that partitions walk in the largest superstep.
type deviations struct{ deviation }

func (d *deviations) Record(e trace.Event) error {
	r, ok := e.(*record.Superstep)
	if !ok {
		return nil
	}
	n, sum, squares := float64(len(r.Partitions)), 0.0, 0.0
	for i := range r.Partitions {
		x := float64(r.Partitions[i].Walked)
		sum += x
		squares += x * x
	}
	if mean := sum / n; mean > d.edges {
		d.deviation = deviation{n, mean, math.Sqrt(max(squares/n-mean*mean, 0)) / mean}
	}
	return nil
}

// deviationOf measures pushes on a grid, and returns the mean over searches from vertices of
// different degrees.
func deviationOf(ctx context.Context, scale int, grid Grid, roots int) (deviation, error) {
	g, err := buildFor(ctx, scale, 16, grid, func(string, int64, int64) {})
	if err != nil {
		return deviation{}, err
	}
	defer g.Close()
	all := deviation{processes: grid.Partitions()}
	for i := range roots {
		root := pregel.VertexID((2*i + 1) * g.Connected / (2 * roots))
		var d deviations
		if err := search(ctx, g, root, Push, &d); err != nil {
			return deviation{}, err
		}
		all.edges += d.edges / float64(roots)
		all.relative += d.relative / float64(roots)
	}
	return all, nil
}

// contentionTurns is the number of measurements of which the median counts.
const contentionTurns = 9

// contention measures by how much the kernels of a search are slower while another thread runs
// them, too.
func contention(ctx context.Context) (float64, error) {
	var sides [2]*graph.Graph
	for i := range sides {
		g, err := buildFor(ctx, measuredScale, 16, Grid{1, 1}, func(string, int64, int64) {})
		if err != nil {
			return 0, err
		}
		defer g.Close()
		sides[i] = g
	}
	var ratios []float64
	for range contentionTurns {
		alone, err := kernelTime(ctx, sides[0])
		if err != nil {
			return 0, err
		}
		var times [2]float64
		var errs [2]error
		var both sync.WaitGroup
		for i, g := range sides {
			both.Go(func() { times[i], errs[i] = kernelTime(ctx, g) })
		}
		both.Wait()
		for _, err := range errs {
			if err != nil {
				return 0, err
			}
		}
		ratios = append(ratios, (times[0]+times[1])/2/alone)
	}
	return max(collective.Median(ratios)-1, 0), nil
}

// kernelTime returns the time of a push and of a look at an edge, with one thread.
func kernelTime(ctx context.Context, g *graph.Graph) (float64, error) {
	r, err := kernelRates(ctx, g)
	return r.Push + r.Probe, err
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
