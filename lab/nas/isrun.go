package nas

import (
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/superstep-go/superstep/internal/collective"
)

// ISResult is a run of IS.
type ISResult struct {
	Class    string  `json:"class"`
	Keys     int     `json:"keys"`
	MaxKey   int     `json:"max_key"`
	Ranks    int     `json:"ranks"`
	Alltoall string  `json:"alltoall"` // its algorithm
	Passed   int     `json:"tests_passed"`
	Tests    int     `json:"tests"`
	Sorted   bool    `json:"sorted"`
	Verified bool    `json:"verified"`
	Seconds  float64 `json:"seconds"`
	Mops     float64 `json:"mops"`
}

// RunIS runs IS between ranks. Wrong ranks of keys are not an error but in the result.
func RunIS(ctx context.Context, class Class, at Place) (*ISResult, error) {
	r, err := at.run(ctx, task{Class: class})
	if err != nil {
		return nil, err
	}
	return r.(*ISResult), nil
}

// sortKeys runs a rank's part of IS.
func sortKeys(
	ctx context.Context, class Class, link collective.Link, sites []int,
) (*ISResult, error) {
	model, err := collective.Calibrate(ctx, link, collective.Calibration{Tag: isTag, Sites: sites})
	if err != nil {
		return nil, err
	}
	group, err := collective.NewGroup(link, model, nil)
	if err != nil {
		return nil, err
	}
	s := NewSorter(class.IS, group)
	return s.benchmark(ctx, class)
}

// benchmark does the same as NPB: an iteration that does not count, ten that do, and the
// verification.
func (s *Sorter) benchmark(ctx context.Context, class Class) (*ISResult, error) {
	s.reset()
	if err := s.Rank(ctx, 1); err != nil {
		return nil, err
	}
	s.passed = 0
	seconds, err := slowest(ctx, s.group, isTag, func() error {
		for i := range rankings {
			if err := s.Rank(ctx, i+1); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	r := &ISResult{
		Class: class.Name, Keys: class.IS.Keys, MaxKey: class.IS.MaxKey,
		Ranks: s.group.Link().Size(), Tests: class.IS.Passes(),
		Seconds: seconds, Mops: class.IS.Operations() / seconds / 1e6,
	}
	if r.Passed, r.Sorted, err = s.Verify(ctx); err != nil {
		return nil, err
	}
	r.Verified = r.Sorted && r.Passed == r.Tests
	a, err := s.group.Choose(collective.Alltoall, s.call().Bytes, 0)
	r.Alltoall = string(a)
	return r, err
}

// slowest returns the time of the slowest rank for an action that all begin after a barrier.
func slowest(
	ctx context.Context, g *collective.Group, tag uint32, do func() error,
) (float64, error) {
	if err := g.Barrier(ctx, collective.Call{Tag: tag}); err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := do(); err != nil {
		return 0, err
	}
	took, err := collective.CombineOne(ctx, g, collective.Call{Tag: tag}, collective.MaxFloat64,
		math.Float64bits(time.Since(begin).Seconds()))
	return math.Float64frombits(took), err
}

// Text writes the result as text.
func (r *ISResult) Text(w io.Writer) error {
	_, err := fmt.Fprintf(w, `NAS IS, class %s: %d keys below %d, %d iterations
%d ranks, goroutines; alltoall: %s
%d of %d published ranks, in order: %v: %s
%.4g s, %.4g Mop/s
`, r.Class, r.Keys, r.MaxKey, rankings, r.Ranks, r.Alltoall, r.Passed, r.Tests, r.Sorted, verdict(r.Verified), r.Seconds, r.Mops)
	return err
}
