package validate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
	_ "github.com/superstep-go/superstep/internal/laxgc"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/testcluster/memlink"
)

// share is one rank's part of a list: some of its blocks, numbered from 0.
type share struct {
	edges.List
	tuples []tuple
}

func (s share) Len() int { return len(s.tuples) }

func (s share) Weighted() bool { return true }

func (s share) Read(i int, b *edges.Block) error {
	part := s.tuples[i*edges.BlockSize : min((i+1)*edges.BlockSize, len(s.tuples))]
	b.N = len(part)
	for j, t := range part {
		b.U[j], b.V[j], b.W[j] = t.u, t.v, float64(t.w)
	}
	return nil
}

// together runs each rank of a group in a goroutine. It fails unless all return the same result.
func together[T comparable](t testing.TB, ranks int, run func(ctx context.Context,
	g *collective.Group) (T, error),
) (T, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	memory := memlink.New(ranks, nil)
	results, errs := make([]T, ranks), make([]error, ranks)
	var all sync.WaitGroup
	for rank := range ranks {
		all.Go(func() {
			g, err := collective.NewGroup(memory.Link(rank), nil, nil)
			if err != nil {
				t.Error(err)
				return
			}
			results[rank], errs[rank] = run(ctx, g)
		})
	}
	all.Wait()
	for rank := range ranks {
		var mine, first *Violation
		if errors.As(errs[rank], &mine) != errors.As(errs[0], &first) || mine != nil &&
			*mine != *first ||
			(errs[rank] == nil) != (errs[0] == nil) || results[rank] != results[0] {
			t.Fatalf("rank %d of %d finds %v, %v; rank 0 %v, %v", rank, ranks, results[rank],
				errs[rank], results[0], errs[0])
		}
	}
	return results[0], errs[0]
}

// ranksJudge validates with several ranks. Each has a part of the tuples and of the result. dist is
// nil for BFS.
func ranksJudge(
	t testing.TB, ranks, threads, n int, tuples []tuple, root uint64, parent []uint32,
	dist []float32,
) (Result, error) {
	t.Helper()
	return together(t, ranks, func(ctx context.Context, g *collective.Group) (Result, error) {
		team := parallel.NewTeam(threads, false)
		defer team.Close()
		rank := g.Link().Rank()
		first := len(tuples) * rank / ranks
		s, err := New(ctx, g, 7, share{tuples: tuples[first : len(tuples)*(rank+1)/ranks]}, first,
			n, team)
		if err != nil {
			return Result{}, err
		}
		defer s.Close()
		var got Result
		for again := range 2 { // the second time it reuses buffers
			lo, hi := s.span(rank)
			own := parent[min(lo, len(parent)):min(hi, len(parent))]
			var result Result
			if dist == nil {
				result, err = s.BFS(ctx, root, own)
			} else {
				result, err = s.SSSP(ctx, root, own, dist[min(lo, len(dist)):min(hi, len(dist))])
			}
			if again > 0 && result != got {
				t.Errorf("the second time %v, the first %v", result, got)
			}
			if got = result; err != nil {
				break
			}
		}
		return got, err
	})
}

// manyRanks checks that any number of ranks finds the same result as one process, or the same
// broken rule. If exact is true, the errors must have the same text.
func manyRanks(
	t *testing.T, n int, tuples []tuple, root uint64, parent []uint32, dist []float32,
	want Result, wantErr error,
) {
	t.Helper()
	var broken *Violation
	errors.As(wantErr, &broken)
	for ranks := 2; ranks <= 5; ranks++ {
		got, err := ranksJudge(t, ranks, 1+ranks%3, n, tuples, root, parent, dist)
		if got != want || (err == nil) != (wantErr == nil) {
			t.Fatalf("%d ranks find %v, %v; one process %v, %v", ranks, got, err, want, wantErr)
		}
		if broken == nil {
			continue
		}
		var violated *Violation
		if !errors.As(err, &violated) || violated.Rule != broken.Rule ||
			violated.Name != broken.Name {
			t.Fatalf("%d ranks find %v; one process %v", ranks, err, wantErr)
		}
		if ends := strings.Contains(broken.Text, "parents for") ||
			strings.Contains(broken.Text, "on a cycle"); violated.Text != broken.Text && !ends {
			t.Errorf("%d ranks say %q; one process %q", ranks, err, wantErr)
		}
	}
}

func TestRanksOfficialGraphs(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, test := range []struct {
		scale int
		root  uint32
		want  Result
	}{
		{8, 53, Result{4011, 5, 241}},
		{10, 458, Result{16239, 5, 897}},
	} {
		n := 1 << test.scale
		_, tuples := kronecker(t, test.scale, edges.Float32)
		tree := breadthFirst(rng, n, tuples, test.root)
		parent, dist := shortest(rng, n, tuples, test.root)
		for ranks := 1; ranks <= 6; ranks++ {
			got, err := ranksJudge(t, ranks, 2, n, tuples, uint64(test.root), tree, nil)
			if err != nil || got != test.want {
				t.Errorf("SCALE %d, %d ranks: BFS finds %v, %v, want %v", test.scale, ranks, got,
					err, test.want)
			}
			got, err = ranksJudge(t, ranks, 2, n, tuples, uint64(test.root), parent, dist)
			if err != nil || got.Edges != test.want.Edges || got.Reached != test.want.Reached {
				t.Errorf("SCALE %d, %d ranks: SSSP finds %v, %v, want %v", test.scale, ranks, got,
					err, test.want)
			}
		}
	}
}

// TestRanksMutationsAgainstTwin is TestMutationsAgainstTwin with several ranks.
func TestRanksMutationsAgainstTwin(t *testing.T) {
	caught := map[int]int{}
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 11))
		n, tuples := random(rng)
		root := rng.Uint32N(uint32(n))
		ranks := 1 + rng.IntN(5)
		check := func(what string, parent []uint32, dist []float32) Result {
			t.Helper()
			want := broken(n, tuples, root, parent, dist)
			got, err := ranksJudge(t, ranks, 1, n, tuples, uint64(root), parent, dist)
			var violated *Violation
			if errors.As(err, &violated) {
				caught[violated.Rule]++
			}
			if (err != nil) != (len(want) > 0) || violated != nil && !want[violated.Rule] {
				t.Fatalf("seed %d, %d ranks, %s: got %v, want one of the rules %v\nroot %d, tuples %v\nparents %v\ndistances %v",
					seed, ranks, what, err, want, root, tuples, parent, dist)
			}
			return got
		}
		tree := breadthFirst(rng, n, tuples, root)
		if r := check("breadth-first tree", tree, nil); r.Edges != component(tuples, tree) {
			t.Fatalf("seed %d: %d edges, want %d", seed, r.Edges, component(tuples, tree))
		}
		parent, dist := shortest(rng, n, tuples, root)
		if r := check("shortest paths", parent, dist); r.Edges != component(tuples, parent) {
			t.Fatalf("seed %d: %d edges, want %d", seed, r.Edges, component(tuples, parent))
		}
		for range 4 {
			mutant := slices.Clone(tree)
			mutate(rng, mutant, nil)
			check("changed breadth-first tree", mutant, nil)
			mutant, mutantDist := slices.Clone(parent), slices.Clone(dist)
			mutate(rng, mutant, mutantDist)
			check("changed shortest paths", mutant, mutantDist)
		}
	}
	for rule := range 6 {
		if caught[rule] < 5 {
			t.Errorf("rule %d was violated %d times only", rule, caught[rule])
		}
	}
}

// TestRanksDeepTrees validates paths deeper than tags can store, and cycles longer than the count
// of steps.
func TestRanksDeepTrees(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	for _, n := range []int{maxTagDepth, maxTagDepth + 1, maxTagDepth + 2, 257, 100_000} {
		order := rng.Perm(n)
		parent, tuples := make([]uint32, n), make([]tuple, n-1)
		parent[order[0]] = uint32(order[0])
		for i := range tuples {
			tuples[i] = tuple{uint64(order[i+1]), uint64(order[i]), 1}
			parent[order[i+1]] = uint32(order[i])
		}
		root, last := uint64(order[0]), order[n-1]
		got, err := ranksJudge(t, 3, 2, n, tuples, root, parent, nil)
		if want := (Result{int64(n - 1), n, int64(n)}); err != nil || got != want {
			t.Errorf("path of %d: %v, %v", n, got, err)
		}
		_, err = ranksJudge(t, 3, 2, n, append(slices.Clone(tuples),
			tuple{uint64(last), uint64(order[n-3]), 1}), root, parent, nil)
		wantRule(t, err, 3, "levels ")
		spoiled := slices.Clone(parent)
		spoiled[last] = Unreached
		_, err = ranksJudge(t, 3, 2, n, tuples, root, spoiled, nil)
		wantRule(t, err, 4, fmt.Sprintf("edge %d-%d", order[n-2], last))
		spoiled[last] = uint32(order[n-3])
		_, err = ranksJudge(t, 3, 2, n, tuples, root, spoiled, nil)
		wantRule(t, err, 5, fmt.Sprintf("vertex %d and its parent %d", last, order[n-3]))
		spoiled[last] = uint32(order[n-2])
		spoiled[order[1]] = uint32(last)
		_, err = ranksJudge(t, 3, 2, n, tuples, root, spoiled, nil)
		wantRule(t, err, 1, "are on a cycle")
	}
}

func TestRanksTupleOutOfRange(t *testing.T) {
	for _, bad := range []tuple{{7, 1, 1}, {1, 7, 1}} {
		for ranks := 1; ranks <= 3; ranks++ {
			parent, _ := houseSSSP()
			_, err := ranksJudge(t, ranks, 1, 6, append(slices.Clone(house[:6]), bad), 0,
				parent[:6], nil)
			if err == nil || !strings.Contains(err.Error(), "tuple 6 of the edge list joins") {
				t.Errorf("got %v", err)
			}
		}
	}
}

// TestRanksReadError: one rank cannot read its part.
func TestRanksReadError(t *testing.T) {
	for bad := range 3 {
		_, err := together(t, 3, func(ctx context.Context, g *collective.Group) (int, error) {
			var list edges.List = share{tuples: house}
			if g.Link().Rank() == bad {
				list = failing{list}
			}
			_, err := New(ctx, g, 0, list, 0, 8, nil)
			return 0, err
		})
		var violated *Violation
		if err == nil || errors.As(err, &violated) ||
			!strings.Contains(err.Error(), "disk on fire") {
			t.Errorf("got %v", err)
		}
	}
}

func TestRanksOfTooManyVertices(t *testing.T) {
	for _, n := range []int{-1, int(pending), math.MaxInt64} {
		_, err := together(t, 2, func(ctx context.Context, g *collective.Group) (int, error) {
			_, err := New(ctx, g, 0, share{}, 0, n, nil)
			return 0, err
		})
		if err == nil || !strings.Contains(err.Error(), "at most") {
			t.Errorf("%d vertices: %v", n, err)
		}
	}
}

// TestRanksEnds: one rank fails, and the others end with their context.
func TestRanksEnds(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	why := errors.New("rank 2 is gone")
	memory := memlink.New(3, nil)
	errs := make([]error, 2)
	_, tuples := kronecker(t, 8, edges.Float32)
	parent := breadthFirst(rand.New(rand.NewPCG(1, 1)), 256, tuples, 53)
	var all, made sync.WaitGroup
	made.Add(3)
	for rank := range 3 {
		all.Go(func() {
			g, err := collective.NewGroup(memory.Link(rank), nil, nil)
			if err != nil {
				t.Error(err)
				return
			}
			s, err := New(ctx, g, 0, share{tuples: tuples}, 0, 256, nil)
			made.Done()
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			if rank == 2 {
				made.Wait()
				cancel(why)
				return
			}
			lo, hi := s.span(rank)
			_, errs[rank] = s.BFS(ctx, 53, parent[lo:hi])
		})
	}
	all.Wait()
	for rank, err := range errs {
		if !errors.Is(err, why) {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}
