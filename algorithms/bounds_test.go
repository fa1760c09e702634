package algorithms_test

import (
	"math"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/pregel/pregeltest"
)

// bounded runs a program until its last iteration. It expects the maximum number of supersteps that
// the program declares.
func bounded[V, M any](t *testing.T, words string, p pregel.Program[V, M], inner interface{ Traits() pregel.Traits },
) {
	t.Helper()
	res, err := superstep.Run(t.Context(), pregeltest.Graph(t, words), p)
	if err != nil {
		t.Fatalf("%+v: %v", inner, err)
	}
	if most := inner.Traits().MaxSupersteps; res.Supersteps != most {
		t.Errorf("%+v: %d supersteps, and MaxSupersteps is %d", inner, res.Supersteps, most)
	}
}

func TestProgramsSayHowManySuperstepsTheyRunAtMost(t *testing.T) {
	const cycles, pair = "0>1 1>2 2>0 2>1 3>0", "0-1"
	for _, n := range []int{1, 2, 3, 10} {
		rank, hits, eigenvector := algorithms.PageRank{Iterations: n},
			algorithms.HITS{Iterations: n}, algorithms.Eigenvector{Iterations: n}
		bounded(t, cycles, rank, rank)
		bounded(t, cycles, hits, hits)
		bounded(t, cycles, eigenvector, eigenvector)
		labels, walks := algorithms.CDLP{Iterations: n}, algorithms.Walks{Length: n, P: 1, Q: 1}
		bounded(t, pair, pregel.List(labels), labels) // each takes the other's label forever
		bounded(t, cycles, pregel.List(walks), walks)
	}
	swings := algorithms.PageRank{Damping: 1, Iterations: 100}
	bounded(t, "0-1 0-2", swings, swings)
	for _, p := range []interface{ Traits() pregel.Traits }{
		algorithms.Walks{P: 2},
		algorithms.PageRank{Iterations: math.MaxInt},
		algorithms.HITS{Iterations: math.MaxInt},
		algorithms.Eigenvector{Iterations: math.MaxInt},
		algorithms.CDLP{Iterations: math.MaxInt},
	} {
		if most := p.Traits().MaxSupersteps; most != 0 {
			t.Errorf("%+v: MaxSupersteps is %d, want 0", p, most)
		}
	}
}
