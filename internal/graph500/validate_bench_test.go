package graph500

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/parallel"
)

const benchScale = 18

func benchmark(b *testing.B, list edges.List, run func(v *Validator) (Result, error)) {
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			team := parallel.NewTeam(threads, false)
			defer team.Close()
			v := NewValidator(list, 1<<benchScale, team)
			defer v.Close()
			for b.Loop() {
				if _, err := run(v); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())*float64(threads)/float64(b.N)/float64(list.Len()), "ns/tuple/thread")
		})
	}
}

func BenchmarkValidateBFS(b *testing.B) {
	in, tuples := kronecker(b, benchScale, edges.Unweighted)
	root := uint32(tuples[0].u)
	parent := breadthFirst(rand.New(rand.NewPCG(3, 4)), 1<<benchScale, tuples, root)
	benchmark(b, in.Edges, func(v *Validator) (Result, error) { return v.BFS(uint64(root), parent) })
}

func BenchmarkValidateSSSP(b *testing.B) {
	in, tuples := kronecker(b, benchScale, edges.Float32)
	root := uint32(tuples[0].u)
	parent, dist := shortest(rand.New(rand.NewPCG(3, 4)), 1<<benchScale, tuples, root)
	benchmark(b, in.Edges, func(v *Validator) (Result, error) { return v.SSSP(uint64(root), parent, dist) })
}
