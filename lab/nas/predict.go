package nas

import (
	"context"
	"fmt"
	"math"
	"math/bits"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/graph"
)

// Matsumoto15 distributes the matrix by rows. Each iteration has an allgather by recursive doubling
// and three allreduces of a number by dissemination (sections 6 and 4.2). For a power of two of
// ranks, Bruck's allgather has the cost of recursive doubling.
const paperReductions = 3

var paperAlgorithms = forced{collective.Allgather: collective.Bruck, collective.Allreduce: collective.Dissemination}

// Parts of an iteration that are predicted and measured.
const (
	partIteration = "iteration" // all communication, with one column of ranks
	partGrid      = "grid"      // all communication, in a grid
	partAllgather = "allgather" // of the direction, between all ranks
	partAllreduce = "allreduce" // of one number
)

// prediction is a prediction and measurement of a part.
type prediction struct {
	Part      string
	How       string
	Bytes     int     // per rank
	Predicted float64 // in seconds
	Measured  float64
}

// predicted has the results of a number of ranks.
type predicted struct {
	Parts []prediction
	Mean  collective.Pair // mean cost of a message over all pairs
	// seconds of an iteration of CG in collectives, at the rank that waits least
	InCG  float64
	Right bool // CG found the published zeta
}

// predict is a task: it predicts and measures the communication of an iteration, and runs CG.
type predict struct{ Repeat int }

// burst is the number of repetitions of a part in one measurement.
const burst = 20

func (p *predict) do(
	ctx context.Context, class Class, link collective.Link, sites []int, stage stager,
) (any, error) {
	stage("measuring the network", 0, 1)
	model, err := collective.Calibrate(ctx, link, collective.Calibration{Tag: allTag, Sites: sites})
	if err != nil {
		return nil, err
	}
	all, err := collective.NewGroup(link, model, nil)
	if err != nil {
		return nil, err
	}
	matrix := MakeA(class.CG)
	r := &predicted{Mean: meanPair(model)}
	var runs []func() error
	add := func(x prediction, run func() error) {
		r.Parts, runs = append(r.Parts, x), append(runs, run)
	}
	if err := p.iterations(ctx, class.CG, matrix, link, model, add); err != nil {
		return nil, err
	}
	if link.Size() > 1 {
		if err := p.algorithms(ctx, class.CG, all, add); err != nil {
			return nil, err
		}
	}
	times := make([][]float64, len(runs))
	for turn := range p.Repeat + 1 {
		for i, run := range runs {
			stage("measuring collectives", turn*len(runs)+i, (p.Repeat+1)*len(runs))
			seconds, err := slowest(ctx, all, allTag, func() error {
				for range burst {
					if err := run(); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", r.Parts[i].Part, r.Parts[i].How, err)
			}
			if turn > 0 {
				times[i] = append(times[i], seconds/burst)
			}
		}
	}
	for i := range r.Parts {
		r.Parts[i].Measured = collective.Median(times[i])
	}
	stage("running CG", 0, 1)
	return r, r.inCG(ctx, class, matrix, link, model, all)
}

// iterations adds the communication of an iteration: as in the paper, with the predicted best
// algorithms, and in other grids.
func (p *predict) iterations(
	ctx context.Context, size CGSize, m *Matrix, link collective.Link, model *collective.Model,
	add func(prediction, func() error),
) error {
	layouts := []struct {
		part string
		grid graph.Grid
		by   forced
	}{{partIteration, graph.Of(link.Size()), paperAlgorithms}, {partIteration, graph.Of(link.Size()), nil}}
	if link.Size() == 1 {
		layouts = layouts[1:]
	}
	for _, grid := range grids(link.Size()) {
		layouts = append(layouts, struct {
			part string
			grid graph.Grid
			by   forced
		}{partGrid, grid, nil})
	}
	for _, l := range layouts {
		s, err := NewSolver(size, m, l.grid, link, model, l.by)
		if err != nil {
			return err
		}
		seconds, how, err := size.communication(model, l.grid, l.by)
		if err != nil {
			return err
		}
		add(prediction{Part: l.part, How: fmt.Sprintf("%v: %s", l.grid, how), Bytes: s.pieceBytes(), Predicted: seconds}, func() error { return s.communicate(ctx) })
	}
	return nil
}

// algorithms adds the two collectives of the paper's layout with each algorithm.
func (p *predict) algorithms(
	ctx context.Context, size CGSize, g *collective.Group, add func(prediction, func() error),
) error {
	for _, part := range []struct {
		name  string
		c     collective.Collective
		bytes int
	}{{partAllgather, collective.Allgather, size.pieceBytes(g.Link().Size())}, {partAllreduce, collective.Allreduce, 8}} {
		data := collective.Noise(part.bytes)
		for _, a := range algorithmsOf(g.Model(), part.c) {
			seconds, err := g.Model().Predict(part.c, a, part.bytes, 0)
			if err != nil {
				return err
			}
			call := collective.Call{Tag: allTag, Algorithm: a, Bytes: part.bytes}
			add(prediction{Part: part.name, How: string(a), Bytes: part.bytes, Predicted: seconds},
				func() error {
					if part.c == collective.Allgather {
						_, err := g.Allgather(ctx, call, data)
						return err
					}
					return g.Allreduce(ctx, call, make([]byte, part.bytes), collective.SumFloat64)
				})
		}
	}
	return nil
}

// algorithmsOf returns a collective's distinct algorithms. With one site, Sites equals another
// algorithm.
func algorithmsOf(m *collective.Model, c collective.Collective) (list []collective.Algorithm) {
	for _, a := range collective.Algorithms(c) {
		if a != collective.Sites || m.Sites != nil {
			list = append(list, a)
		}
	}
	return list
}

// inCG runs the paper's CG and measures the ranks' times in collectives. The last rank to enter a
// collective does not wait, so the shortest time is closest to that of the communication.
func (r *predicted) inCG(
	ctx context.Context, class Class, m *Matrix, link collective.Link, model *collective.Model,
	all *collective.Group,
) error {
	s, err := NewSolver(class.CG, m, graph.Of(link.Size()), link, model, nil)
	if err != nil {
		return err
	}
	s.extra = paperReductions - 2
	found := CGResult{Published: class.CG.Zeta}
	if err := all.Barrier(ctx, collective.Call{Tag: allTag}); err != nil {
		return err
	}
	zeta, norm, err := s.Power(ctx, class.CG.Iterations)
	if err != nil {
		return err
	}
	found.judge(zeta, norm)
	each := s.waiting.Seconds() / float64(class.CG.Iterations*innerIterations)
	least, err := collective.CombineOne(ctx, all, collective.Call{Tag: allTag},
		collective.MinFloat64, math.Float64bits(each))
	r.InCG, r.Right = math.Float64frombits(least), found.Verified
	return err
}

// communicate sends the messages of a CG iteration without computing.
func (s *Solver) communicate(ctx context.Context) error {
	if err := s.gather(ctx, s.p); err != nil {
		return err
	}
	if err := s.scatter(ctx, s.ap); err != nil {
		return err
	}
	for range paperReductions {
		if _, err := s.dotOne(ctx, nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// communication predicts the time of communicate: the sum over collectives, each beginning when the
// previous has ended. It uses the slowest column and row of ranks.
func (c CGSize) communication(
	m *collective.Model, grid graph.Grid, by forced,
) (seconds float64, how string, err error) {
	bytes := c.pieceBytes(grid.Partitions())
	add := func(name collective.Collective, bytes, times int, groups [][]int) error {
		if len(groups[0]) == 1 {
			return nil
		}
		worst, chosen := -1.0, collective.Auto
		for _, ranks := range groups {
			t, a, err := choose(submodel(m, ranks), name, bytes, by)
			if err != nil {
				return err
			}
			if t > worst {
				worst, chosen = t, a
			}
		}
		seconds += float64(times) * worst
		if how != "" {
			how += ", "
		}
		how += fmt.Sprintf("%s %s", name, chosen)
		return nil
	}
	var columns, rows [][]int
	for j := range grid.Columns {
		columns = append(columns, membersOf(grid, j).column)
	}
	for i := range grid.Rows {
		rows = append(rows, membersOf(grid, i*grid.Columns).row)
	}
	everybody := membersOf(graph.Of(grid.Partitions()), 0).column
	if err := add(collective.Allgather, bytes, 1, columns); err != nil {
		return 0, "", err
	}
	if err := add(collective.Alltoall, bytes, 1, rows); err != nil {
		return 0, "", err
	}
	if err := add(collective.Allreduce, 8, paperReductions, [][]int{everybody}); err != nil {
		return 0, "", err
	}
	if how == "" {
		how = "nothing"
	}
	return seconds, how, nil
}

// choose predicts a collective with the algorithm that a Group would use: the forced one, or the
// best for the power of two below its size.
func choose(
	m *collective.Model, c collective.Collective, n int, by forced,
) (float64, collective.Algorithm, error) {
	a := by[c]
	if a == collective.Auto {
		var err error
		if a, _, err = m.Choose(c, 1<<(bits.Len(uint(n))-1), 0); err != nil {
			return 0, a, err
		}
	}
	seconds, err := m.Predict(c, a, n, 0)
	return seconds, a, err
}

// grids returns the grids of this number of ranks with several columns.
func grids(ranks int) (list []graph.Grid) {
	for columns := 2; columns <= ranks; columns++ {
		if ranks%columns == 0 {
			list = append(list, graph.Grid{Rows: ranks / columns, Columns: columns})
		}
	}
	return list
}

// meanPair returns the mean cost of a message between two ranks.
func meanPair(m *collective.Model) (mean collective.Pair) {
	n := float64(max(m.Ranks*(m.Ranks-1), 1))
	for _, p := range m.Pairs { // the costs of a rank to itself are zero
		mean.Alpha += p.Alpha / n
		mean.Beta += p.Beta / n
		mean.Gap += p.Gap / n
	}
	return mean
}
