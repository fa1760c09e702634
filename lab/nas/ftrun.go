package nas

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/superstep-go/superstep/internal/collective"
)

// FTResult is a run of FT.
type FTResult struct {
	Class    string  `json:"class"`
	Grid     [3]int  `json:"grid"`
	Ranks    int     `json:"ranks"`
	Alltoall string  `json:"alltoall"` // its algorithm
	Passed   int     `json:"checksums_passed"`
	Sums     int     `json:"checksums"`
	Error    float64 `json:"error"` // greatest relative error of a checksum
	Verified bool    `json:"verified"`
	Seconds  float64 `json:"seconds"`
	Mops     float64 `json:"mops"`
}

// sumTolerance is the greatest relative error of both parts of a checksum, as in NPB.
const sumTolerance = 1e-12

// RunFT runs FT between ranks. Wrong checksums are not an error but in the result.
func RunFT(ctx context.Context, class Class, at Place) (*FTResult, error) {
	r, err := at.run(ctx, task{Class: class, FT: true})
	if err != nil {
		return nil, err
	}
	return r.(*FTResult), nil
}

// transform runs a rank's part of FT.
func transform(
	ctx context.Context, class Class, link collective.Link, sites []int,
) (*FTResult, error) {
	model, err := collective.Calibrate(ctx, link, collective.Calibration{Tag: ftTag, Sites: sites})
	if err != nil {
		return nil, err
	}
	group, err := collective.NewGroup(link, model, nil)
	if err != nil {
		return nil, err
	}
	return NewTransformer(class.FT, group).benchmark(ctx, class)
}

// benchmark does the same as NPB: the first transform, then the iterations.
func (t *Transformer) benchmark(ctx context.Context, class Class) (*FTResult, error) {
	r := &FTResult{
		Class: class.Name, Grid: [3]int{t.size.X, t.size.Y, t.size.Z},
		Ranks: t.group.Link().Size(), Sums: len(t.size.Sums),
	}
	var err error
	r.Seconds, err = slowest(ctx, t.group, ftTag, func() error {
		if err := t.Start(ctx); err != nil {
			return err
		}
		for _, want := range t.size.Sums {
			got, err := t.Step(ctx)
			if err != nil {
				return err
			}
			e := max(math.Abs(real(got)/real(want)-1), math.Abs(imag(got)/imag(want)-1))
			if r.Error = max(r.Error, e); e <= sumTolerance {
				r.Passed++
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	r.Verified, r.Mops = r.Passed == r.Sums, t.size.Operations()/r.Seconds/1e6
	a, err := t.group.Choose(collective.Alltoall, t.call().Bytes, 0)
	r.Alltoall = string(a)
	return r, err
}

// trial returns the trial of FT with a model.
func (t *Transformer) trial(
	class Class, link collective.Link, model *collective.Model,
) (*trial, error) {
	g, err := collective.NewGroup(link, model, nil)
	if err != nil {
		return nil, err
	}
	all, err := g.Choose(collective.Alltoall, t.call().Bytes, 0)
	return &trial{
		Benchmark: "FT", Algorithms: fmt.Sprintf("alltoall %s", all),
		run: func(ctx context.Context) (float64, bool, error) {
			t.group = g
			r, err := t.benchmark(ctx, class)
			if err != nil {
				return 0, false, err
			}
			return r.Seconds, r.Verified, nil
		},
	}, err
}

// Text writes the result as text.
func (r *FTResult) Text(w io.Writer) error {
	_, err := fmt.Fprintf(w, `NAS FT, class %s: %dx%dx%d points, %d iterations
%d ranks, goroutines; alltoall: %s
%d of %d published checksums, relative error %.2g: %s
%.4g s, %.4g Mop/s
`, r.Class, r.Grid[0], r.Grid[1], r.Grid[2], r.Sums, r.Ranks, r.Alltoall, r.Passed, r.Sums,
		r.Error, verdict(r.Verified), r.Seconds, r.Mops)
	return err
}
