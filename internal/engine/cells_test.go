package engine_test

import (
	"strings"
	"testing"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/pregel"
)

// hiding has an aggregator whose values cannot be encoded.
type hiding struct{}

type hidden struct{ sum, n float64 }

var average = pregel.NewAggregator("average", nil,
	func(a, b hidden) hidden { return hidden{a.sum + b.sum, a.n + b.n} })

func (hiding) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }
func (hiding) Traits() pregel.Traits {
	return pregel.Traits{Aggregators: []pregel.Aggregate{average}}
}
func (hiding) Compute(*pregel.Vertex[int64, int64], int64) {}

func TestAggregatesThatCannotTravelAreRefused(t *testing.T) {
	p, err := engine.NewProgram(pregel.Erase[int64, int64](hiding{}))
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Codec()
	if err == nil || !strings.Contains(err.Error(),
		"aggregator average: values of type engine_test.hidden cannot be encoded: field sum") {
		t.Error(err)
	}
}
