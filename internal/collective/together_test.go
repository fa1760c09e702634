package collective

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/superstep-go/superstep/internal/testcluster/memlink"
)

// ranks runs f on all ranks of a new memory link, and returns the errors.
func ranks(t *testing.T, size int, f func(rank int, g *Group) error) []error {
	m := memlink.New(size, nil)
	errs := make([]error, size)
	var group sync.WaitGroup
	for rank := range size {
		group.Go(func() {
			g, err := NewGroup(m.Link(rank), nil, nil)
			if err != nil {
				t.Error(err)
				return
			}
			errs[rank] = f(rank, g)
		})
	}
	group.Wait()
	return errs
}

// TestTogetherEnds: some ranks fail at different times, while the others wait for messages. All
// return the error of the same rank without delay. synctest checks that no goroutine remains.
func TestTogetherEnds(t *testing.T) {
	seeds := uint64(60)
	if soak {
		seeds = 200
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 3))
		size := 1 + rng.IntN(6)
		fails := make([]time.Duration, size)
		first := time.Duration(-1)
		for rank := range fails {
			if fails[rank] = -1; rng.IntN(3) == 0 {
				fails[rank] = time.Duration(rng.IntN(4)) * time.Second
				if first < 0 || fails[rank] < first {
					first = fails[rank]
				}
			}
		}
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			errs := ranks(t, size, func(rank int, g *Group) error {
				return g.Together(t.Context(), 7, func(ctx context.Context) error {
					if fails[rank] < 0 {
						if first < 0 || size == 1 {
							return nil
						}
						_, err := g.Link().Receive(ctx, (rank+1)%size, 9)
						return err
					}
					select {
					case <-time.After(fails[rank]):
						return fmt.Errorf("rank %d fails", rank)
					case <-ctx.Done():
						return context.Cause(ctx)
					}
				})
			})
			if took := time.Since(began); first >= 0 && took != first || first < 0 && took != 0 {
				t.Errorf("seed %d: took %v, the first failed after %v", seed, took, first)
			}
			for rank, err := range errs {
				if (err == nil) != (first < 0) || err != nil &&
					(err.Error() != errs[0].Error() || !strings.HasSuffix(err.Error(), "fails")) {
					t.Errorf("seed %d: rank %d: %v, rank 0: %v", seed, rank, err, errs[0])
				}
			}
		})
	}
}

// TestInOrder: a failure does not stop lower ranks, so all return the error of the lowest failed
// rank.
func TestInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopped := make([]bool, 5)
		errs := ranks(t, 5, func(rank int, g *Group) error {
			return g.InOrder(t.Context(), 1, func(ctx context.Context) error {
				wait := []time.Duration{3, 2, 1, 5, 4}[rank]
				select {
				case <-time.After(wait * time.Second):
				case <-ctx.Done():
					stopped[rank] = true
					return context.Cause(ctx)
				}
				if rank == 2 || rank == 1 {
					return fmt.Errorf("rank %d fails", rank)
				}
				return nil
			})
		})
		for rank, err := range errs {
			if err == nil || err.Error() != "rank 1 fails" || stopped[rank] != (rank > 2) {
				t.Errorf("rank %d: %v, stopped %t", rank, err, stopped[rank])
			}
		}
	})
}

// TestTogetherCancelled: one rank is cancelled and returns its cause. The others return an error
// with the same text.
func TestTogetherCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("the job was cancelled")
		errs := ranks(t, 3, func(rank int, g *Group) error {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if rank == 1 {
				time.AfterFunc(time.Second, func() { cancel(why) })
			}
			return g.Together(ctx, 1, func(ctx context.Context) error {
				<-ctx.Done()
				return context.Cause(ctx)
			})
		})
		for rank, err := range errs {
			if err == nil || err.Error() != why.Error() || errors.Is(err, why) != (rank == 1) {
				t.Errorf("rank %d: %v", rank, err)
			}
		}
	})
}

// TestTogetherPanic: a panic continues in its own rank and becomes an error in the others.
func TestTogetherPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		errs := ranks(t, 3, func(rank int, g *Group) (err error) {
			defer func() {
				if v := recover(); v != nil {
					err = fmt.Errorf("recovered %v", v)
				}
			}()
			return g.Together(t.Context(), 1, func(ctx context.Context) error {
				if rank == 2 {
					panic("a bug")
				}
				<-ctx.Done()
				return context.Cause(ctx)
			})
		})
		for rank, want := range []string{"rank 2 panicked", "rank 2 panicked", "recovered a bug"} {
			if errs[rank] == nil || errs[rank].Error() != want {
				t.Errorf("rank %d: %v", rank, errs[rank])
			}
		}
	})
}

// TestTogetherLost: one rank does not take part. After one of the others fails, they wait for the
// lost rank at most settleTime.
func TestTogetherLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		errs := ranks(t, 3, func(rank int, g *Group) error {
			if rank == 2 {
				return nil
			}
			return g.Together(t.Context(), 1, func(ctx context.Context) error {
				if rank == 0 {
					return errors.New("rank 0 fails")
				}
				<-ctx.Done()
				return context.Cause(ctx)
			})
		})
		if errs[0] == nil || errs[1] == nil || errs[0].Error() != "rank 0 fails" ||
			errs[1].Error() != "rank 0 fails" {
			t.Errorf("got %v", errs)
		}
		if took := time.Since(began); took != settleTime {
			t.Errorf("took %v", took)
		}
	})
}

// brokenLink returns damaged bytes, or an error as if the rank were lost.
type brokenLink struct {
	Link
	data []byte
	err  error
}

func (l brokenLink) Receive(context.Context, int, uint32) ([]byte, error) { return l.data, l.err }

func TestTogetherBroken(t *testing.T) {
	for _, link := range []brokenLink{{data: nil}, {data: []byte{0}}, {data: []byte{77}}, {err: errors.New("cut")}} {
		link.Link = memlink.New(2, nil).Link(0)
		g, err := NewGroup(link, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = g.Together(t.Context(), 1, func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		})
		var remote *RemoteError
		if !errors.As(err, &remote) || remote.Rank != 1 {
			t.Errorf("%v: error %v", link, err)
		}
	}
}
