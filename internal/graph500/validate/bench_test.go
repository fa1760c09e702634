package validate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/parallel"
)

// benchScale returns the scale of the graphs: a small one in short runs.
func benchScale() int {
	if testing.Short() {
		return 14
	}
	return 18
}

func benchmark(b *testing.B, list edges.List, run func(v *Validator) (Result, error)) {
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			team := parallel.NewTeam(threads, false)
			defer team.Close()
			v := alone(b, list, 1<<benchScale(), team)
			defer v.Close()
			for b.Loop() {
				if _, err := run(v); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())*float64(threads)/float64(b.N)/float64(
				list.Len()), "ns/tuple/thread")
		})
	}
}

func BenchmarkValidateBFS(b *testing.B) {
	in, tuples := kronecker(b, benchScale(), edges.Unweighted)
	root := uint32(tuples[0].u)
	parent := breadthFirst(rand.New(rand.NewPCG(3, 4)), 1<<benchScale(), tuples, root)
	benchmark(b, in.Edges,
		func(v *Validator) (Result, error) { return v.BFS(b.Context(), uint64(root), parent) })
}

func BenchmarkValidateSSSP(b *testing.B) {
	in, tuples := kronecker(b, benchScale(), edges.Float32)
	root := uint32(tuples[0].u)
	parent, dist := shortest(rand.New(rand.NewPCG(3, 4)), 1<<benchScale(), tuples, root)
	benchmark(b, in.Edges, func(v *Validator) (Result, error) { return v.SSSP(b.Context(), uint64(root), parent, dist) })
}

// benchmarkRanks validates with two ranks of one thread each.
func benchmarkRanks(b *testing.B, tuples []tuple, run func(ctx context.Context,
	s *Validator) (Result, error),
) {
	const ranks = 2
	_, err := together(b, ranks, func(ctx context.Context, g *collective.Group) (int, error) {
		rank := g.Link().Rank()
		first := len(tuples) * rank / ranks
		s, err := New(ctx, g, 0, share{tuples: tuples[first : len(tuples)*(rank+1)/ranks]}, first,
			1<<benchScale(), nil)
		if err != nil {
			return 0, err
		}
		defer s.Close()
		// rank 1 runs until rank 0 ends the loop by a BFS with an invalid root
		if rank > 0 {
			for err == nil {
				_, err = run(ctx, s)
			}
			return 0, nil
		}
		for b.Loop() {
			if _, err := run(ctx, s); err != nil {
				b.Fatal(err)
			}
		}
		_, _ = s.BFS(ctx, 1<<benchScale(), nil)
		return 0, nil
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())*ranks/float64(b.N)/float64(len(tuples)),
		"ns/tuple/thread")
}

func BenchmarkRanksBFS(b *testing.B) {
	_, tuples := kronecker(b, benchScale(), edges.Unweighted)
	root := uint32(tuples[0].u)
	parent := breadthFirst(rand.New(rand.NewPCG(3, 4)), 1<<benchScale(), tuples, root)
	benchmarkRanks(b, tuples, func(ctx context.Context, s *Validator) (Result, error) {
		lo, hi := s.span(s.ranks.rank())
		return s.BFS(ctx, uint64(root), parent[lo:hi])
	})
}

func BenchmarkRanksSSSP(b *testing.B) {
	_, tuples := kronecker(b, benchScale(), edges.Float32)
	root := uint32(tuples[0].u)
	parent, dist := shortest(rand.New(rand.NewPCG(3, 4)), 1<<benchScale(), tuples, root)
	benchmarkRanks(b, tuples, func(ctx context.Context, s *Validator) (Result, error) {
		lo, hi := s.span(s.ranks.rank())
		return s.SSSP(ctx, uint64(root), parent[lo:hi], dist[lo:hi])
	})
}
