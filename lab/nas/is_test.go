package nas

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/testcluster/memlink"
)

func TestISFindsThePublishedRanks(t *testing.T) {
	class := classS(t)
	for ranks := 1; ranks <= 5; ranks++ {
		if testing.Short() && ranks != 3 {
			continue
		}
		r, err := RunIS(t.Context(), class, Place{Ranks: ranks})
		if err != nil {
			t.Fatal(err)
		}
		checkIS(t, r, ranks)
	}
}

func checkIS(t *testing.T, r *ISResult, ranks int) {
	t.Helper()
	if !r.Verified || !r.Sorted || r.Passed != 50 || r.Tests != 50 || r.Ranks != ranks ||
		r.Mops <= 0 || r.Seconds <= 0 {
		t.Errorf("%d ranks: %+v", ranks, r)
	}
}

// TestWrongRanksAreSeen has a wrong expected rank, and a lost key.
func TestWrongRanksAreSeen(t *testing.T) {
	class := classS(t)
	class.IS.Tests[2].Rank++
	sorters(t, class.IS, func(ctx context.Context, s *Sorter) error {
		r, err := s.benchmark(ctx, class)
		if err == nil && (r.Verified || r.Passed != 40 || !r.Sorted) {
			err = fmt.Errorf("a wrong rank is not seen: %+v", r)
		}
		return err
	})
	sorters(t, class.IS, func(ctx context.Context, s *Sorter) error {
		if err := s.Rank(ctx, 1); err != nil {
			return err
		}
		if s.first == 0 {
			s.keys[100]++
		}
		_, sorted, err := s.Verify(ctx)
		if err == nil && sorted {
			err = errors.New("a lost key is not seen")
		}
		return err
	})
}

// TestARankThatFailsEndsTheOthers: its error is returned.
func TestARankThatFailsEndsTheOthers(t *testing.T) {
	begin := time.Now()
	_, err := Place{Ranks: 3, Sites: []int{0, 1}}.run(t.Context(), task{Class: classS(t)})
	if err == nil || !strings.HasSuffix(err.Error(), ": model of 3 ranks with the sites of 2") ||
		time.Since(begin) > time.Minute {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := RunIS(ctx, classS(t), Place{Ranks: 2}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// sorters runs a function on three ranks that are connected by memory.
func sorters(t *testing.T, size ISSize, do func(ctx context.Context, s *Sorter) error) {
	t.Helper()
	links := memlink.New(3, nil)
	var all sync.WaitGroup
	for rank := range 3 {
		all.Go(func() {
			g, err := collective.NewGroup(links.Link(rank), nil, nil)
			if err == nil {
				err = do(t.Context(), NewSorter(size, g))
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
