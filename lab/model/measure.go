package model

import "context"

// measuredScale is the scale of the graph for timing kernels. Its columns exceed the caches of a
// core.
const measuredScale = 18

// Measure measures a search's kernels on this machine with one thread.
func Measure(ctx context.Context) (Rates, error) {
	g, err := buildFor(ctx, measuredScale, 16, Grid{1, 1}, func(string, int64, int64) {})
	if err != nil {
		return Rates{}, err
	}
	defer g.Close()
	return kernelRates(ctx, g)
}

// Faster returns the rates of threads that are this many times as fast.
func (r Rates) Faster(times float64) Rates {
	return Rates{r.Push / times, r.Probe / times, r.Row / times, r.Word / times, r.Value / times}
}
