package nas

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/superstep-go/superstep"
	link "github.com/superstep-go/superstep/cluster"
	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/record"
)

// steps is the number of supersteps of a measurement. Only the middle half counts, in which all
// processes are busy.
const steps = 800

func counted(k int) bool { return k >= steps/4 && k < steps*3/4 }

func odd(k int) bool  { return counted(k) && k%2 == 1 }
func even(k int) bool { return counted(k) && k%2 == 0 }

// work has the times of a worker's part of the operations of an iteration.
type work struct{ spmv, vectors float64 }

// workAtOnce measures the operations on a matrix in several processes at once, which share caches
// and memory, but do not wait for each other. As in CG, supersteps with and without a product
// alternate, since a product displaces the vectors from the caches.
func (b *timer) workAtOnce(ctx context.Context, processes int, name string) (work, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all, ready sync.WaitGroup
	var mu sync.Mutex
	var products, updates []float64
	run := func(g *superstep.Graph) error {
		for range b.rounds {
			trace, err := kernelTrace(ctx, g, Kernel{Axpy: true, Dot: true, Multiply: true})
			if err != nil {
				return err
			}
			mu.Lock()
			products = append(products, partsOfSteps(trace, odd).Work)
			updates = append(updates, partsOfSteps(trace, even).Work)
			mu.Unlock()
		}
		return nil
	}
	ready.Add(processes)
	for range processes {
		all.Go(func() {
			begin := sync.OnceFunc(ready.Done)
			defer begin() // also if this process fails
			err := b.on(ctx, 1, func(ctx context.Context, conn *link.Connection) error {
				return b.with(ctx, conn, name, func(g *superstep.Graph) error {
					begin()
					ready.Wait()
					return run(g)
				})
			})
			if err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return work{}, context.Cause(ctx)
	}
	update := collective.Median(updates)
	return work{max(collective.Median(products)-update, 0), 2 * update}, nil
}

// kernelTrace runs a kernel in alternating supersteps.
func kernelTrace(
	ctx context.Context, g *superstep.Graph, k Kernel,
) ([]record.Superstep, error) {
	k.Supersteps, k.Alternate = steps, true
	r, err := superstep.Run(ctx, g, k, superstep.Options{KeepTrace: true})
	if err != nil {
		return nil, err
	}
	return r.Trace, nil
}

// spin is the number of multiplications of each vertex that stand for the work of a run, so that
// workers wait in the same state as there.
const spin = 64

// stepTimes are the times of a superstep with messages, and of one without.
type stepTimes struct{ messages, none stepParts }

// waits measures supersteps with hardly any entries.
func (b *timer) waits(
	ctx context.Context, conn *link.Connection,
) (all [len(lengths)]stepTimes, err error) {
	for i := range lengths {
		err := b.with(ctx, conn, bandFile(i), func(g *superstep.Graph) error {
			var rounds []stepTimes
			for range b.rounds {
				trace, err := kernelTrace(ctx, g, Kernel{Multiply: true, Spin: spin})
				if err != nil {
					return err
				}
				rounds = append(rounds, stepTimes{partsOfSteps(trace, odd), partsOfSteps(trace, even)})
			}
			all[i] = medianTimes(rounds)
			return nil
		})
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// medianTimes returns the round whose superstep without messages took the median time.
func medianTimes(rounds []stepTimes) stepTimes {
	slices.SortFunc(rounds,
		func(a, b stepTimes) int { return cmp.Compare(a.none.Seconds, b.none.Seconds) })
	return rounds[len(rounds)/2]
}

// communication returns the times of messages and of two barriers: those of the supersteps without
// their work. If workers share processors, the time of their work is not known, and that of one
// worker counts. The time of messages is a line.
func (b *timer) communication(p int, found [len(lengths)]stepTimes) (messages, barriers float64) {
	if p == 1 {
		return 0, 2 * (found[0].none.Seconds - found[0].none.Work)
	}
	rest := func(x, alone stepParts) float64 {
		if p <= b.CPUs {
			return max(x.Seconds-x.Work, 0)
		}
		return max(x.Seconds-alone.Work/float64(b.CPUs), 0)
	}
	var times [len(lengths)]float64
	for i, x := range found {
		barrier := rest(x.none, b.alone[i].none)
		times[i] = max(rest(x.messages, b.alone[i].messages)-barrier, 0)
		barriers += 2 * barrier / float64(len(lengths))
	}
	slope := (times[1] - times[0]) / (lengths[1] - lengths[0])
	return max(times[0]+slope*(1-lengths[0]), 0), barriers
}

// band returns a matrix with some ones to the right of the diagonal in each row. If rows are dealt
// to at most width partitions, each partition needs all entries of the vector.
func band(rows, width int) *Matrix {
	m := &Matrix{Starts: []int{0}}
	for i := range rows {
		for k := range width {
			m.Columns, m.Values = append(m.Columns, uint32((i+k)%rows)), append(m.Values, 1)
		}
		m.Starts = append(m.Starts, len(m.Columns))
	}
	return m
}
