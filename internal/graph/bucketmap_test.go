package graph

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// dealt makes lists of random arcs, one by one or in blocks.
func dealt(
	t *testing.T, seed uint64, parts, n int, kind edges.Weights, blocks bool,
) ([]*Partition, int) {
	t.Helper()
	g := &Graph{N: n, Connected: n, Directed: true}
	a, err := NewBuilder(g, Options{Partitions: parts, Weights: kind})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.End)
	var own []int
	for p := range parts {
		own = append(own, p)
	}
	a.Own(own, false)
	rng := rand.New(rand.NewPCG(seed, 1))
	var arcs []uint64
	degrees := make([]uint32, n)
	for range 4 * n {
		row, neighbor := rng.IntN(1+rng.IntN(n)), rng.IntN(n)
		degrees[row]++
		arcs = append(arcs, uint64(row)<<32|uint64(neighbor))
	}
	for v, d := range degrees {
		a.Vertex(pregel.VertexID(v), Facts{In: d})
	}
	s, err := a.Scatter(true, func(p *Partition, row uint32) int { return int(p.InDegrees[row]) })
	if err != nil {
		t.Fatal(err)
	}
	weight := func(arc uint64) float64 { return float64(arc%1000) / 8 }
	high := 0
	if blocks {
		high = dealBlocks(t, s, n, parts, arcs, weight)
	} else {
		s.putArcs(arcs, weights(kind, arcs, weight))
	}
	if err := s.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	return g.Parts, high
}

func weights(kind edges.Weights, arcs []uint64, weight func(arc uint64) float64) (c WeightColumn) {
	for _, arc := range arcs {
		c.Append(kind, weight(arc))
	}
	return c
}

// dealBlocks puts arcs into their buckets in blocks of random sizes.
func dealBlocks(
	t *testing.T, s *Scatter, n, parts int, arcs []uint64, weight func(arc uint64) float64,
) int {
	t.Helper()
	d, err := NewBucketMap(n, s.a.g.Deal, s.Plan())
	if err != nil {
		t.Fatal(err)
	}
	rows, neighbors := make([]uint32, len(arcs)), make([]uint32, len(arcs))
	for i, arc := range arcs {
		rows[i], neighbors[i] = uint32(arc>>32), uint32(arc)
	}
	buckets, codes := make([]uint32, len(arcs)), make([]uint64, len(arcs))
	d.Locate(rows, neighbors, buckets, codes)
	of := make([][]int, len(d.Rank))
	for i, k := range buckets {
		of[k] = append(of[k], i)
	}
	for k, all := range of {
		for len(all) > 0 {
			some := all[:min(1+(len(all)*7)%BlockArcs, len(all))]
			all = all[len(some):]
			var low []uint32
			var high []uint8
			var these []uint64
			for _, i := range some {
				these = append(these, arcs[i])
				if low = append(low, uint32(codes[i])); d.High() > 0 {
					high = append(high, uint8(codes[i]>>32))
				}
			}
			if err := s.Block(len(all)%len(s.stages), uint64(k), low, high,
				weights(s.a.o.Weights, these, weight)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return d.High()
}

// TestDeal: lists are the same whether arcs are added in blocks or one by one, with codes of 32
// bits and of 40.
func TestDeal(t *testing.T) {
	wide := map[int]bool{}
	for seed := range uint64(12) {
		if testing.Short() && seed%5 != 0 {
			continue
		}
		parts, kind, n := 1+int(seed%3), edges.Weights(seed/2%3), []int{3, 500, 15_000}[seed%3]
		if seed%2 == 0 {
			reset := SetLimits(64, 100, 3, 20, 300, 20)
			defer reset()
		}
		want, _ := dealt(t, seed, parts, n, kind, false)
		got, high := dealt(t, seed, parts, n, kind, true)
		wide[high] = true
		for p := range want {
			if !reflect.DeepEqual(got[p].In, want[p].In) {
				t.Errorf("seed %d: partition %d has %+v, want %+v", seed, p, got[p].In, want[p].In)
			}
		}
	}
	if len(wide) != 2 {
		t.Errorf("only codes of %v bytes more", wide)
	}
}

// FuzzNewDeal: a plan is rejected, or every row has an existing bucket.
func FuzzNewDeal(f *testing.F) {
	f.Add([]byte(`{"First":{"0":[0,9]}}`), uint16(20))
	f.Add([]byte(`{"Wide":true,"First":{"0":[]}}`), uint16(0))
	f.Fuzz(func(t *testing.T, data []byte, n uint16) {
		var plan Plan
		if json.Unmarshal(data, &plan) != nil {
			return
		}
		d, err := NewBucketMap(int(n), kernel.NewDeal(1), plan)
		if err != nil {
			if !errors.Is(err, errMessage) {
				t.Error(err)
			}
			return
		}
		for row := range uint32(n) {
			if k := d.find[0][place(row)]; len(d.Rank) > 0 && (int(k>>32) >= len(d.Rank) ||
				uint32(k) > row && row >= singleRows && row&63 == 0) {
				t.Errorf("row %d is in bucket %d", row, k>>32)
			}
		}
	})
}

// TestBlockRefused: arcs with an invalid bucket, row or vertex are rejected.
func TestBlockRefused(t *testing.T) {
	g := &Graph{N: 3, Connected: 3}
	a, err := NewBuilder(g, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.End()
	a.Own([]int{0}, false)
	s, err := a.Scatter(true, func(*Partition, uint32) int { return 1 })
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		bucket uint64
		code   uint32
	}{{1, 0}, {1 << 40, 0}, {0, 3}, {0, 3 << 2}} {
		if err := s.Block(0, test.bucket, []uint32{test.code}, nil, WeightColumn{}); !errors.Is(err,
			errMessage) {
			t.Errorf("%+v: error %v", test, err)
		}
	}
}
